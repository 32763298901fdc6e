//go:build !linux

package sql

// renameNew renames, and fails with fs.ErrExist where something has the name.
func renameNew(from, to string) error { return claim(from, to) }

// exchange swaps two names.
func exchange(from, to string) error { return swap(from, to) }
