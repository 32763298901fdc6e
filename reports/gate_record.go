package reports

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// gatesDir is the folder of recorded verdicts in a store. The store itself
// neither reads nor sweeps it.
const gatesDir = "gates"

// gateRecord is what is kept of a verdict.
type gateRecord struct {
	Schema   string    `json:"schema"`
	Made     time.Time `json:"made"`
	Recorded time.Time `json:"recorded"` // orders records, whatever Made says
	Verdict  string    `json:"verdict"`
	Exit     int       `json:"exit"`
	Summary  string    `json:"summary"`
	Profile  string    `json:"profile"`
	New      []GateRun `json:"new"`
	Baseline []GateRun `json:"baseline"`
}

// RecordGate keeps a verdict in the store at dir and returns the record's path.
func RecordGate(dir string, rep *GateReport) (string, error) {
	if _, err := os.Stat(dir); err != nil {
		return "", fmt.Errorf("recording the verdict: there is no store %s; ingest a log first", dir)
	}
	rec := gateRecord{Schema: rep.Schema, Made: rep.Made, Recorded: time.Now().UTC(), Verdict: rep.Verdict, Exit: rep.Exit, Summary: rep.Summary,
		Profile: rep.Profile, New: rep.New.Runs, Baseline: []GateRun{}}
	if rep.Baseline != nil {
		rec.Baseline = rep.Baseline.Runs
	}
	data, err := json.MarshalIndent(rec, "", "  ")
	if err != nil {
		return "", fmt.Errorf("recording the verdict: %w", err)
	}
	sum := sha256.Sum256(data)
	folder := filepath.Join(dir, gatesDir)
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return "", fmt.Errorf("recording the verdict: %w", reason(err))
	}
	path := filepath.Join(folder, rec.Recorded.Format("20060102T150405.000000000Z")+"-"+hex.EncodeToString(sum[:4])+".json")
	f, err := createFile(path)
	if err != nil {
		return "", err
	}
	defer f.discard()
	if _, err := f.Write(append(data, '\n')); err != nil {
		return "", fmt.Errorf("recording the verdict: %w", reason(err))
	}
	return path, f.commit()
}

// PassedGates lists the runs whose newest recorded verdict is pass, the newest
// first. A store without records has none.
func PassedGates(dir string) ([]RunRef, error) {
	names, err := filepath.Glob(filepath.Join(globSafe(dir), gatesDir, "*.json"))
	if err != nil {
		return nil, fmt.Errorf("reading recorded verdicts: %w", err)
	}
	slices.Sort(names)
	slices.Reverse(names)
	seen := map[RunRef]bool{}
	var out []RunRef
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("reading recorded verdict %s: %w", name, reason(err))
		}
		var rec gateRecord
		if err := json.Unmarshal(data, &rec); err != nil {
			return nil, fmt.Errorf("%s: no recorded verdict of a gate: delete it, or restore it", name)
		}
		for _, r := range rec.New {
			ref := RunRef{Suite: r.Suite, RunID: r.RunID}
			if !seen[ref] && rec.Verdict == GatePass {
				out = append(out, ref)
			}
			seen[ref] = true
		}
	}
	return out, nil
}

// globSafe escapes what a folder's own name must not mean in a pattern.
func globSafe(dir string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
}
