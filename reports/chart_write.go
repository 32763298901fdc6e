package reports

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
)

// charted is the section whose chart is to stand alone: the one asked for, or
// the first that has a chart.
func charted(res *Result, opts WriteOptions) (*Section, error) {
	var have []string
	for i := range res.Sections {
		s := &res.Sections[i]
		if s.Chart == nil {
			continue
		}
		if opts.Section == "" || opts.Section == s.Name {
			return s, nil
		}
		have = append(have, s.Name)
	}
	if opts.Section != "" && len(have) > 0 {
		return nil, usagef("section %s has no chart; --section takes one that has: %s", opts.Section, strings.Join(have, ", "))
	}
	if res.Stamp == nil {
		return nil, usagef("this result has no chart; a report of your own can ask for one with \"-- chart: bar x=… y=…\"")
	}
	return nil, usagef("report %s has no chart; write it as html, xlsx or another form", res.Name)
}

// alone reads the one chart that a picture form shows.
func alone(res *Result, opts WriteOptions) (*chartData, error) {
	sec, err := charted(res, opts)
	if err != nil {
		return nil, err
	}
	d, lacks := newChart(sec, res.Stamp)
	if d == nil {
		return nil, fmt.Errorf("drawing the chart: %s", lacks)
	}
	if err := readChart(sec, d); err != nil {
		return nil, err
	}
	if d.empty() {
		return nil, fmt.Errorf("drawing the chart of section %s: no row has a value of %s", sec.Name, d.spec.Y)
	}
	for _, s := range d.notes() {
		opts.warn("the chart shows " + s)
	}
	// A picture goes its own way: it takes along what it is of.
	if res.Stamp != nil {
		d.foot = append(d.foot, configLine(res.Stamp.Configuration)+" · policy "+res.Stamp.Policy)
	}
	for _, s := range res.Warnings {
		d.foot = append(d.foot, "warning: "+s)
	}
	return d, nil
}

// writeChartSVG writes one chart as a picture of lines, which scales and takes
// the reader's fonts.
func writeChartSVG(w *bufio.Writer, res *Result, opts WriteOptions) error {
	d, err := alone(res, opts)
	if err != nil {
		return err
	}
	_, err = w.Write(d.drawSVG())
	return err
}

// writeChartPNG writes one chart as a picture of dots, 192 an inch. Characters
// that the program has no font for stand as code points.
func writeChartPNG(w *bufio.Writer, res *Result, opts WriteOptions) error {
	d, err := alone(res, opts)
	if err != nil {
		return err
	}
	b, err := d.drawPNG()
	if err != nil {
		return fmt.Errorf("drawing the chart: %w", err)
	}
	if t := newChartText(); slices.ContainsFunc(d.names(), func(s string) bool { return t.spelled(shaped(visible(s))) != shaped(visible(s)) }) {
		opts.warn("the chart: " + spelledNote)
	}
	_, err = w.Write(b)
	return err
}

// pngText puts a text into a PNG, before its first data. Latin-1 does not hold
// every name, so it is an iTXt chunk.
func pngText(png []byte, key, text string) []byte {
	const head = 8 + 25 // signature and IHDR
	if len(png) < head {
		return png
	}
	data := append([]byte("iTXt"+key), 0, 0, 0, 0, 0)
	data = append(data, strings.ToValidUTF8(text, "\uFFFD")...)
	out := append([]byte(nil), png[:head]...)
	out = binary.BigEndian.AppendUint32(out, uint32(len(data)-4))
	out = append(out, data...)
	out = binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(data))
	return append(out, png[head:]...)
}
