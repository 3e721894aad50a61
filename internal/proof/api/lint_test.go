package api_test

import (
	"path/filepath"
	"strings"
	"testing"

	maplesim "sluice/internal/simulator/maplestory"
)

const gameKey = maplesim.DefaultKey

// testdata is the path of a file beside the tests.
func testdata(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestDescriptionIsClean has two linters read the description; warnings count.
func TestDescriptionIsClean(t *testing.T) {
	t.Parallel()
	s, _ := start(t)
	path := document(t, s)
	t.Run("redocly", func(t *testing.T) {
		_, said := program{dir: filepath.Dir(path)}.both(t, tool(t, "node_modules/.bin/redocly"), "lint", "--max-problems=20", "--config", testdata(t, "redocly.yaml"), path)
		if !strings.Contains(said, "description is valid") || strings.Contains(said, "You have") {
			t.Errorf("it says: %s", said)
		}
	})
	t.Run("spectral", func(t *testing.T) {
		said := program{dir: filepath.Dir(path)}.run(t, tool(t, "node_modules/.bin/spectral"), "lint", "--fail-severity=warn", "--ruleset", testdata(t, "spectral.yaml"), path)
		if !strings.Contains(said, "No results with a severity") {
			t.Errorf("it says: %s", said)
		}
	})
}
