package main

import (
	"bytes"
	"testing"
)

// TestHarmless: whatever pieces it comes in, nothing of a log moves a terminal's cursor.
func TestHarmless(t *testing.T) {
	const text, want = "a,\x1b[31mé\tb\r\n\u202e世\u009b2J\x07,\x7f\xff\n", "a,␛[31mé\tb␍\n\\u202e世\\u009b2J␇,␡\uFFFD\n"
	for size := 1; size <= len(text); size++ {
		var out bytes.Buffer
		h := &harmless{w: &out}
		for at := 0; at < len(text); at += size {
			piece := text[at:min(at+size, len(text))]
			if n, err := h.Write([]byte(piece)); n != len(piece) || err != nil {
				t.Fatal(n, err)
			}
		}
		if out.String() != want {
			t.Errorf("in pieces of %d: %q, want %q", size, out.String(), want)
		}
	}
}
