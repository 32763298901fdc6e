package udf

import (
	"database/sql/driver"
	"math"
	"sync"
)

// memoArgs and memoSize bound the memory of a memo.
const (
	memoArgs = 6
	memoSize = 1 << 16
)

// A memo keeps the results of an overload whose arguments are all DOUBLE. The
// results are shared, so the driver must only read them, as it does. A nil memo
// keeps nothing.
type memo struct {
	mu    sync.RWMutex
	known map[memoKey]any
}

type memoKey [memoArgs]uint64

func newMemo(wanted bool) *memo {
	if !wanted {
		return nil
	}
	return &memo{known: map[memoKey]any{}}
}

// key is the arguments' bits, so that a NaN is found too.
func key(values []driver.Value) (k memoKey, ok bool) {
	for i, v := range values {
		x, ok := v.(float64)
		if !ok {
			return k, false
		}
		k[i] = math.Float64bits(x)
	}
	return k, true
}

func (m *memo) get(values []driver.Value) (any, bool) {
	if m == nil {
		return nil, false
	}
	k, ok := key(values)
	if !ok {
		return nil, false
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	v, ok := m.known[k]
	return v, ok
}

// put stores a result, forgetting all others when there are too many.
func (m *memo) put(values []driver.Value, result any) {
	if m == nil {
		return
	}
	k, ok := key(values)
	if !ok {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.known) >= memoSize {
		clear(m.known)
	}
	m.known[k] = result
}
