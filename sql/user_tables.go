package sql

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// makeUserTables makes a view for each file of Config.Tables.
func (s *Session) makeUserTables(ctx context.Context) error {
	for _, name := range sortedNames(s.cfg.Tables) {
		file := s.cfg.Tables[name]
		if err := s.makeUserTable(ctx, name, file); err != nil {
			return fmt.Errorf("table %s=%s: %w", name, file, err)
		}
	}
	return nil
}

func (s *Session) makeUserTable(ctx context.Context, name, file string) error {
	switch {
	case strings.TrimSpace(name) == "":
		return fmt.Errorf("the table has no name; wanted NAME=FILE")
	case slices.ContainsFunc(Views, func(v string) bool { return strings.EqualFold(v, name) }):
		return fmt.Errorf("there is a table %s already; choose another name", name)
	}
	path, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("read the file: %w", plainPath(err))
	}
	if info.IsDir() {
		return fmt.Errorf("it is a folder; wanted a CSV, Parquet or JSON file")
	}
	reader, err := tableReader(path)
	if err != nil {
		return err
	}
	s.files = append(s.files, path)
	text := "CREATE VIEW " + Ident(name) + " AS SELECT * FROM " + reader + "(" + Literal(literalGlob(path)) + ")"
	if err := s.Exec(ctx, text); err != nil {
		return fmt.Errorf("read the file: %w", err)
	}
	return nil
}

// tableReader chooses the table function by the file's suffix.
func tableReader(path string) (string, error) {
	base := strings.ToLower(filepath.Base(path))
	for _, packed := range []string{".gz", ".zst"} {
		base = strings.TrimSuffix(base, packed)
	}
	switch filepath.Ext(base) {
	case ".csv", ".tsv", ".txt":
		return "read_csv", nil
	case ".parquet":
		return "read_parquet", nil
	case ".json", ".jsonl", ".ndjson":
		return "read_json", nil
	}
	return "", fmt.Errorf("the suffix %q is none of .csv, .tsv, .parquet, .json, .jsonl, .ndjson", filepath.Ext(base))
}
