package ingest

import (
	"bytes"
	"math"

	"passhat/ingest/store"
)

// tbInfo is what a run's metadata says.
type tbInfo struct {
	run      tbRun
	base     store.Trial // columns that all its trials share
	key      string      // what must agree for runs to be trials of one run
	attempts store.Opt[int32]
	tasks    int64 // listed in task_ids; 0 if unknown
	accuracy store.Opt[float64]
	extra    jsonObject
}

// metadata reads what lies beside the trials.
func (r *tbReader) metadata(run tbRun) (*tbInfo, error) {
	info := &tbInfo{run: run}
	info.base = store.Trial{Suite: "terminal-bench", Harness: "terminal-bench"}
	meta, err := r.side(run.meta)
	if err != nil {
		return nil, err
	}
	lock, err := r.side(run.lock)
	if err != nil {
		return nil, err
	}
	info.read(r, meta, lock)
	return info, nil
}

// side reads a file of metadata; the zero Value where there is none.
func (r *tbReader) side(name string) (v Value, err error) {
	var b []byte
	switch {
	case name == "":
		return v, nil
	case r.in.Folder == nil:
		b, err = r.in.Sibling(name, maxBeside)
	default:
		b, err = r.in.ReadFile(name, maxBeside)
	}
	if err != nil {
		return v, err
	}
	v, ok := JSONValue(bytes.TrimPrefix(b, []byte(utf8BOM)))
	if !ok || v.Kind != Object {
		r.in.Note("%s beside the results is no JSON object: nothing was taken from it", name)
		return Value{}, nil
	}
	return v, nil
}

// firstOf is the first value that is not null.
func firstOf(values ...Value) Value {
	for _, v := range values {
		if v.Kind != Null {
			return v
		}
	}
	return Value{}
}

// fillSampling takes the sampling settings out of an agent's arguments, which
// may hold secrets.
func fillSampling(t *store.Trial, config *jsonObject, kwargs Value) {
	kwargs.eachMember(func(key string, v Value) bool {
		norm := normalName(key)
		if !samplingFields[norm] {
			return true
		}
		config.keep(key, v)
		switch norm {
		case "temperature":
			t.Temperature = looseNumber(v)
		case "topp":
			t.TopP = looseNumber(v)
		case "seed":
			if n, ok := v.integer(); ok {
				t.Seed = store.Some(n)
			}
		case "reasoningeffort", "effort":
			t.Effort = v.words()
		}
		return true
	})
}

// looseNumber is a finite number, also one written as text.
func looseNumber(v Value) (o store.Opt[float64]) {
	if f, ok := v.float(); ok && !math.IsNaN(f) && !math.IsInf(f, 0) {
		o = store.Some(f)
	}
	return o
}

// sampling is the sampling settings of an agent's arguments as text.
func sampling(kwargs Value) string {
	var o jsonObject
	var t store.Trial
	fillSampling(&t, &o, kwargs)
	return o.sorted()
}
