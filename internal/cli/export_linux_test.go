package cli

import (
	"path/filepath"
	"testing"
)

func TestParquetIsNotForTerminals(t *testing.T) {
	p := newProgram(t, 1)
	p.app.Out = pseudoTerminal(t, 80, 24)
	p.run(exitUsage, "export", "--kind", "commits", "--format", "parquet")
	p.says("--out FILE")
	p.run(exitOK, "export", "--kind", "commits", "--format", "parquet", "--out", filepath.Join(t.TempDir(), "x"))
}
