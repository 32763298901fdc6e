package ingest

// nearWord is " (did you mean a?)" of the word that a misspelt one is nearest
// to, "" where none is near.
func nearWord(word string, words ...string) string {
	best, dist := "", max(2, len(word)/2+1)
	for _, w := range words {
		if d := editDistance(word, w, dist); d < dist {
			best, dist = w, d
		}
	}
	if best == "" {
		return ""
	}
	return " (did you mean " + best + "?)"
}
