package main

import (
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"
)

// folderWatch counts changes in the folders of a store, so that a process can
// be killed exactly at one: a commit is a handful of them within a millisecond.
type folderWatch struct {
	f    *os.File
	left int
}

// watchFolders waits for the n-th change; nil where watching is not possible.
func watchFolders(dir string, n int) *folderWatch {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil
	}
	w := &folderWatch{os.NewFile(uintptr(fd), "inotify"), n}
	_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_, _ = unix.InotifyAddWatch(fd, path, unix.IN_CREATE|unix.IN_MOVED_TO|unix.IN_DELETE|unix.IN_MOVED_FROM|unix.IN_CLOSE_WRITE)
		}
		return nil
	})
	return w
}

// then calls do at the n-th change; the function it returns ends the watch.
func (w *folderWatch) then(do func()) (stop func()) {
	var wg sync.WaitGroup
	wg.Go(func() {
		buf := make([]byte, 64<<10)
		for {
			n, err := w.f.Read(buf)
			if err != nil {
				return
			}
			for at := 0; at+unix.SizeofInotifyEvent <= n; {
				name := int(buf[at+12]) | int(buf[at+13])<<8
				at += unix.SizeofInotifyEvent + name
				if w.left--; w.left == 0 {
					do()
				}
			}
		}
	})
	return func() {
		w.f.Close()
		wg.Wait()
	}
}
