//go:build !linux

package main

// folderWatch is for Linux only.
type folderWatch struct{}

func watchFolders(string, int) *folderWatch { return nil }

func (*folderWatch) then(func()) (stop func()) { return func() {} }
