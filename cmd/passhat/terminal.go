package main

import (
	"io"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
	"passhat/ingest"
)

// barAfter is how long work runs before a progress bar shows.
const barAfter = time.Second

// terminal gives the file behind a stream if it is a terminal, else nil.
func terminal(w any) *os.File {
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return f
	}
	return nil
}

// look is how a table is to be dressed for stdout: its width, 0 where nothing
// limits it, and whether colours may be used. COLUMNS, where it is exported,
// sets the width of what does not go to a terminal.
func (a *app) look() (width int, color bool) {
	f := terminal(a.stdout)
	if f == nil {
		width, _ = strconv.Atoi(os.Getenv("COLUMNS"))
		return max(width, 0), false
	}
	if w, _, err := term.GetSize(int(f.Fd())); err == nil {
		width = w
	}
	_, noColor := os.LookupEnv("NO_COLOR")
	return width, !noColor && !a.noColor && os.Getenv("TERM") != "dumb"
}

// progress is a bar on stderr; every method is safe on nil.
type progress struct {
	mu    sync.Mutex
	out   io.Writer
	start time.Time
	bar   *progressbar.ProgressBar
	stop  chan struct{}
}

// newProgress makes a bar if stderr is a terminal and words are wanted; nil
// otherwise.
func (a *app) newProgress() *progress {
	if a.quiet || terminal(a.stderr) == nil {
		return nil
	}
	return &progress{out: a.stderr, start: time.Now()}
}

func (p *progress) update(u ingest.Progress) {
	if p == nil || time.Since(p.start) < barAfter {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar == nil {
		total := u.Total
		if total <= 0 {
			total = -1
		}
		p.bar = progressbar.NewOptions64(total,
			progressbar.OptionSetWriter(p.out),
			progressbar.OptionShowBytes(true),
			progressbar.OptionSetPredictTime(true),
			progressbar.OptionFullWidth(),
			progressbar.OptionClearOnFinish(),
			// The library's own ticker would draw on after done, over all that follows.
			progressbar.OptionSetSpinnerChangeInterval(0),
		)
	}
	if u.Total > 0 {
		p.bar.ChangeMax64(u.Total)
	}
	p.bar.Describe(cutWords(oneLine(u.Source), 30))
	p.bar.Set64(u.Done)
}

// spin shows that work without a known end goes on, from its second second on.
func (p *progress) spin(what string) {
	if p == nil {
		return
	}
	p.stop = make(chan struct{})
	go func(stop chan struct{}) {
		tick := time.NewTicker(barAfter / 5)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				p.update(ingest.Progress{Source: what})
			}
		}
	}(p.stop)
}

// done takes the bar away.
func (p *progress) done() {
	if p == nil {
		return
	}
	if p.stop != nil {
		close(p.stop)
		p.stop = nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		p.bar.Clear()
		p.bar = nil
	}
	p.start = time.Now().Add(time.Hour) // a late update shows nothing
}

// cutWords shortens a text from its front, where a path says least.
func cutWords(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return "…" + string(r[len(r)-n+1:])
}
