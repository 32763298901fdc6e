//go:build !linux

package main

import "context"

func (t *torture) smallDisk(context.Context, string) error {
	t.count("small disk: not tried on this system", 1)
	return nil
}

func readOnly(string, string) (undo func()) { return nil }
