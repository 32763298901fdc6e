package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"passhat/reports"
)

// newReport prints a file to start from, or writes it.
func (a *app) newReport(r *reportFlags, args []string) error {
	if len(args) != 1 {
		return usagef("report --new: want one name for the new report")
	}
	text, err := reports.NewReport(args[0])
	if err != nil {
		return err
	}
	home := filepath.Join(a.storeDir, "reports", args[0]+".sql")
	if len(r.out.files) == 0 || len(r.out.files) == 1 && r.out.files[0] == "-" {
		a.say("save this as %s (or let -o %s do it), then: passhat report %s", home, shellWord(home), args[0])
		_, err = fmt.Fprint(a.stdout, text)
		return err
	}
	if len(r.out.files) > 1 {
		return usagef("report --new: want one -o FILE.sql")
	}
	file := r.out.files[0]
	base, isSQL := strings.CutSuffix(filepath.Base(file), ".sql")
	if !isSQL {
		return usagef("report --new: -o %s: a report is a file that ends with .sql", file)
	}
	if err := writeNew(file, text, r.force); err != nil {
		return err
	}
	run := "passhat report " + shellWord(base)
	if diskPath(filepath.Dir(file)) != diskPath(filepath.Dir(home)) {
		run += " --reports " + shellWord(filepath.Dir(file))
	}
	a.say("%s is written; edit it, then: %s", file, run)
	return nil
}

// writeNew writes a file that is not there yet, unless force says otherwise.
func writeNew(file, text string, force bool) error {
	dir := filepath.Dir(file)
	if filepath.Base(dir) == "reports" { // the folder that a store or a project keeps them in
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return fmt.Errorf("make the folder %s: %w", dir, plainFS(err))
		}
	}
	flag := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if force {
		flag = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	f, err := os.OpenFile(file, flag, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return usagef("report --new: %s is there already; --force replaces it", file)
	}
	if err != nil {
		return usagef("report --new: write %s: %v", file, plainFS(err))
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", file, plainFS(err))
	}
	return nil
}

// plainFS takes the system call's name and the path out of an error.
func plainFS(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
