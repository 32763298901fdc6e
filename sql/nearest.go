package sql

import (
	"slices"
	"strings"
)

// nearestMost bounds how many names one message suggests.
const nearestMost = 3

// Nearest returns the candidates that word may be a misspelling of, the
// nearest ones only, at most three, by name; none when nothing is near. Case does not
// count. Near is a distance (insertions, deletions, exchanges, swaps of
// neighbours) of at most 1 for words of up to 3 letters, 2 for up to 8, else 3;
// a word of 4 letters or more is also near to what begins with it, one of 3 to
// what has one or two letters more.
func Nearest(word string, candidates []string) []string {
	type near struct {
		name string
		dist int
	}
	w := []rune(strings.ToLower(word))
	if len(w) == 0 || len(w) > 64 {
		return nil
	}
	limit := 1
	if len(w) > 8 {
		limit = 3
	} else if len(w) > 3 {
		limit = 2
	}
	var found []near
	seen := map[string]bool{}
	for _, c := range candidates {
		r := []rune(strings.ToLower(c))
		if seen[c] || len(r) > 64 {
			continue
		}
		seen[c] = true
		d := editDistance(w, r)
		if len(w) >= 4 && len(r) > len(w) && slices.Equal(r[:len(w)], w) {
			d = min(d, limit) // typed halfway: behind every near misspelling
		}
		if len(w) == 3 && len(r) > 3 && len(r) <= 5 && r[0] == w[0] && d == len(r)-len(w) {
			d = min(d, limit) // letters are left out: cnt
		}
		// A word of which every letter is wrong is no misspelling.
		if d <= limit && d < len(w) {
			found = append(found, near{c, d})
		}
	}
	slices.SortStableFunc(found, func(a, b near) int {
		if a.dist != b.dist {
			return a.dist - b.dist
		}
		return strings.Compare(a.name, b.name)
	})
	var out []string
	for _, f := range found {
		if len(out) == nearestMost || f.dist > found[0].dist {
			break
		}
		out = append(out, f.name)
	}
	return out
}

// DidYouMean is " (did you mean a or b?)" of names, "" without any.
func DidYouMean(names []string) string {
	switch n := len(names); n {
	case 0:
		return ""
	case 1:
		return " (did you mean " + names[0] + "?)"
	default:
		return " (did you mean " + strings.Join(names[:n-1], ", ") + " or " + names[n-1] + "?)"
	}
}

// editDistance is the number of insertions, deletions, exchanges and swaps of
// neighbours that make b of a (optimal string alignment).
func editDistance(a, b []rune) int {
	before, prev, cur := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], before[j-2]+1)
			}
		}
		before, prev, cur = prev, cur, before
	}
	return prev[len(b)]
}
