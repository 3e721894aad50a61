package testkit

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Undo returns the statements that take a database back to before a migration:
// those of it and of all later ones, and of the record that they were made.
func Undo(tb testing.TB, folder string, version int) (statements []string) {
	tb.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.sql"))
	if err != nil || len(files) == 0 {
		tb.Fatalf("testkit: no migrations in %s: %v", folder, err)
	}
	slices.Sort(files)
	for _, file := range slices.Backward(files) {
		number, _, _ := strings.Cut(filepath.Base(file), "_")
		if v, err := strconv.Atoi(number); err != nil || v < version {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			tb.Fatalf("testkit: %v", err)
		}
		_, down, ok := strings.Cut(string(text), "-- +goose Down")
		if !ok {
			tb.Fatalf("testkit: %s does not say how to go back", file)
		}
		for statement := range strings.SplitSeq(down, ";\n") {
			if statement = strings.TrimSpace(statement); statement != "" {
				statements = append(statements, statement)
			}
		}
	}
	return append(statements, "DELETE FROM goose_db_version WHERE version_id >= "+strconv.Itoa(version))
}
