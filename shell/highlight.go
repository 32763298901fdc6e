package shell

import (
	"strings"

	"passhat/sql"
)

// The colours of the line that is typed.
const (
	colorKeyword  = "\x1b[1;34m"
	colorFunction = "\x1b[36m"
	colorString   = "\x1b[32m"
	colorNumber   = "\x1b[35m"
	colorComment  = "\x1b[2m"
	colorNone     = "\x1b[0m"
)

// highlight colours a line as it is typed. Apart from the colours it is the same
// text.
func (s *Shell) highlight(text string) string {
	if isCommand(text) {
		name, rest, _ := strings.Cut(text, " ")
		if len(name) < len(text) {
			rest = " " + rest
		}
		return colorKeyword + name + colorNone + rest
	}
	keyword := map[string]bool{}
	for _, k := range s.cat.wordsNow() {
		keyword[k] = true
	}
	var b strings.Builder
	at := 0
	toks := sql.Tokens(text)
	for i, t := range toks {
		color := ""
		switch t.Kind {
		case sql.TokenWord:
			called := i+1 < len(toks) && toks[i+1].Text == "(" && toks[i+1].Start == t.End
			member := i > 0 && toks[i-1].Text == "."
			if called {
				color = colorFunction
			} else if keyword[t.Text] && !member && !plainWords[t.Text] {
				color = colorKeyword
			}
		case sql.TokenString:
			color = colorString
		case sql.TokenNumber, sql.TokenParam:
			color = colorNumber
		case sql.TokenComment:
			color = colorComment
		}
		b.WriteString(text[at:t.Start])
		if piece := text[t.Start:t.End]; color != "" {
			// Each line is drawn on its own.
			b.WriteString(color + strings.ReplaceAll(piece, "\n", colorNone+"\n"+color) + colorNone)
		} else {
			b.WriteString(piece)
		}
		at = t.End
	}
	b.WriteString(text[at:])
	return b.String()
}

// plainWords are keywords that are mostly names of columns here.
var plainWords = map[string]bool{"source": true, "share": true, "name": true, "type": true, "value": true, "key": true, "class": true, "version": true,
	"data": true, "label": true, "start": true, "hour": true, "day": true, "month": true, "year": true, "week": true, "trim": true}
