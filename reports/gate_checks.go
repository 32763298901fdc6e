package reports

import (
	"encoding/json"
	"strconv"
	"strings"
)

// checkHeld reads the verdict of a named deterministic check as logs write it:
// true, a score of 1, "pass"; or an object with such a value under a usual key.
// What cannot be read did not hold.
func checkHeld(text string) bool {
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return false
	}
	return held(v, 0)
}

func held(v any, depth int) bool {
	switch v := v.(type) {
	case bool:
		return v
	case float64:
		return v >= 1-1e-6
	case string:
		switch strings.ToLower(strings.TrimSpace(v)) {
		case "pass", "passed", "true", "yes", "ok", "success", "c", "correct":
			return true
		}
		f, err := strconv.ParseFloat(v, 64)
		return err == nil && f >= 1-1e-6
	case map[string]any:
		for _, key := range []string{"passed", "pass", "success", "value", "score"} {
			if inner, ok := v[key]; ok && depth < 4 {
				return held(inner, depth+1)
			}
		}
	}
	return false
}
