package reports

import "strings"

// Tones of a verdict, which colour it where a form has colours. The word says
// it all; the colour only helps to find it.
const (
	toneGood = "good"
	toneBad  = "bad"
	toneMid  = "mid"
)

// toned are the columns whose words are verdicts.
var toned = map[string]bool{"verdict": true, "class": true, "change": true, "status": true, "result": true, "pile": true, "state": true}

// tones are the beginnings of verdicts, the first that fits deciding.
var tones = []struct{ text, tone string }{
	{"~", ""}, {"it depends", toneMid},
	{"mean up, pass^k down", toneBad}, {"mean down, pass^k up", toneMid},
	{"no longer failing", toneGood}, {"no longer passing", toneBad},
	{"newly failing", toneBad}, {"never pass", toneBad}, {"newly flaky", toneMid}, {"newly passing", toneGood},
	{"too little", toneMid}, {"not enough", toneMid}, {"inconclusive", toneMid}, {"cannot", toneMid}, {"suspect", toneMid}, {"flaky", toneMid},
	{"stable pass", toneGood}, {"stable fail", toneBad},
	{"worse", toneBad}, {"mean worse", toneBad}, {"regress", toneBad}, {"fail", toneBad}, {"less often", toneBad}, {"out of control", toneBad}, {"below", toneBad}, {"above", toneMid},
	{"better", toneGood}, {"mean better", toneGood}, {"improved", toneGood}, {"fixed", toneGood}, {"pass", toneGood}, {"more often", toneGood}, {"ok", toneGood},
}

// tone is the tone of a text in a column, "" for none.
func (c *Column) tone(s string) string {
	if !toned[strings.ToLower(c.Name)] {
		return ""
	}
	s = strings.ToLower(s)
	for _, t := range tones {
		if strings.HasPrefix(s, t.text) {
			return t.tone
		}
	}
	return ""
}
