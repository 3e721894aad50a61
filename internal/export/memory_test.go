package export_test

import (
	"bytes"
	"runtime"
	"testing"

	"github.com/parquet-go/parquet-go"

	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/export"
	"sluice/internal/source/github"
	"sluice/internal/testkit"
)

// counter counts what is written.
type counter struct{ bytes int64 }

func (c *counter) Write(p []byte) (int, error) {
	c.bytes += int64(len(p))
	return len(p), nil
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func TestMemoryIsBounded(t *testing.T) {
	for format, limit := range map[export.Format]uint64{
		export.FormatJSONL: 1 << 20, export.FormatCSV: 1 << 20, export.FormatParquet: 40 << 20,
	} {
		rows := 200_000
		if format != export.FormatParquet {
			// They have nothing that grows up to a size, as groups of rows do.
			rows = testkit.Effort(50_000, rows)
		}
		before, most := heap(), uint64(0)
		src := export.Sources{Kinds: github.Kinds(), Documents: flood{rows: rows, each: func() { most = max(most, heap()) }}}
		o := export.Options{Kind: kindCommits, Format: format, Accounts: []domain.Account{ann}}
		var out counter
		n, err := export.Export(t.Context(), src, o, &out)
		if err != nil || n != int64(rows) {
			t.Fatalf("%s: %d rows, %v", format, n, err)
		}
		grown := most - min(before, most)
		t.Logf("%s: %d rows, %d bytes, the heap grew by %d KiB", format, n, out.bytes, grown>>10)
		if grown > limit {
			t.Errorf("%s: the heap grew by %d KiB, want at most %d", format, grown>>10, limit>>10)
		}
		if out.bytes < 1<<20 {
			t.Errorf("%s: only %d bytes were written", format, out.bytes)
		}
	}
}

// TestRowGroups reads a file of many row groups back, row by row.
func TestRowGroups(t *testing.T) {
	const rows = 100_001
	var out bytes.Buffer
	src := export.Sources{Kinds: github.Kinds(), Documents: flood{rows: rows}}
	o := export.Options{Kind: kindCommits, Format: export.FormatParquet, Accounts: []domain.Account{ann}}
	if _, err := export.Export(t.Context(), src, o, &out); err != nil {
		t.Fatal(err)
	}
	f, err := parquet.OpenFile(bytes.NewReader(out.Bytes()), int64(out.Len()))
	if err != nil {
		t.Fatal(err)
	}
	if groups := len(f.RowGroups()); groups != 3 {
		t.Errorf("%d row groups, want 3", groups)
	}
	got := decodeParquet[Commit](t, out.Bytes())
	i := 0
	err = flood{rows: rows}.Scan(t.Context(), document.Query{Account: 1, Kind: github.KindCommit}, func(d *document.Document) error {
		row := got[i]
		if row.ID != d.Name || *row.Author != d.Author || !row.CommittedAt.Equal(d.CreatedAt) || (row.Additions != nil) != d.Measured ||
			d.Measured && (*row.Additions != d.Additions || *row.Deletions != d.Deletions) {
			t.Fatalf("row %d: got %+v, want %+v", i, row, d)
		}
		i++
		return nil
	})
	if err != nil || i != len(got) {
		t.Errorf("read %d of %d rows: %v", i, len(got), err)
	}
}
