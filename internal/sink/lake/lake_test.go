package lake_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	driver "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"sluice/internal/archive"
	"sluice/internal/backend/bucket"
	"sluice/internal/sink"
	"sluice/internal/sink/lake"
	"sluice/internal/sink/sinktest"
	"sluice/internal/testkit/fakebucket"
)

// ticking is a clock that never stands still.
func ticking() func() time.Time {
	at := time.Unix(1_800_000_000, 0)
	return func() time.Time { at = at.Add(time.Second); return at }
}

func open(t testing.TB, place string) archive.Files {
	t.Helper()
	files, err := bucket.Open(t.Context(), place)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// tableRows reads Parquet files as a reader that knows nothing of sinks does.
func tableRows(t testing.TB, files archive.Files, keys []string, table sink.Table) (rows []sink.Row) {
	t.Helper()
	for _, key := range keys {
		data, err := files.Read(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, sinktest.ReadParquet(t, data, table)...)
	}
	return rows
}

// glob lists the files in a table's folder.
func glob(t testing.TB, files archive.Files, table string) (keys []string) {
	t.Helper()
	for o, err := range files.List(t.Context(), table+"/") {
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(o.Key, ".parquet") {
			keys = append(keys, o.Key)
		}
	}
	return keys
}

func plain(files archive.Files, lock string) sinktest.Place {
	now := ticking()
	return sinktest.Place{
		Open: func(testing.TB) sink.Target {
			return lake.New(lake.Options{Files: files, Lock: lock, Every: -1, Now: now})
		},
		Rows: func(t testing.TB, table sink.Table) []sink.Row {
			return tableRows(t, files, glob(t, files, table.Name), table)
		},
		Shared: lock == "",
	}
}

// TestPlainFolder: the files in a table's folder are the table.
func TestPlainFolder(t *testing.T) {
	sinktest.Run(t, func(t testing.TB) sinktest.Place {
		dir := t.TempDir()
		return plain(open(t, dir), filepath.Join(dir, "_sluice.lock"))
	})
}

// TestPlainBucket: and so they are in a bucket.
func TestPlainBucket(t *testing.T) {
	server := fakebucket.StartS3(t)
	n := 0
	sinktest.Run(t, func(t testing.TB) sinktest.Place {
		n++
		return plain(open(t, server.Place("&prefix="+strings.Repeat("x", n))), "")
	})
}

// duckKeys asks a catalogue for the files of a table, by the query of DuckLake's
// specification.
func duckKeys(t testing.TB, catalog, table string) (keys []string) {
	t.Helper()
	conn, err := driver.OpenConn(catalog, driver.OpenReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	err = sqlitex.Execute(conn, `WITH newest AS (SELECT max(snapshot_id) AS id FROM ducklake_snapshot)
SELECT t.path || data.path FROM newest, ducklake_table t JOIN ducklake_data_file data USING (table_id)
LEFT JOIN (SELECT * FROM ducklake_delete_file, newest WHERE id >= begin_snapshot AND (id < end_snapshot OR end_snapshot IS NULL)) del USING (data_file_id)
WHERE t.table_name = ? AND t.end_snapshot IS NULL AND del.path IS NULL AND newest.id >= data.begin_snapshot AND (newest.id < data.end_snapshot OR data.end_snapshot IS NULL)`,
		&sqlitex.ExecOptions{Args: []any{table}, ResultFunc: func(s *driver.Stmt) error {
			keys = append(keys, s.ColumnText(0))
			return nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func duck(files archive.Files, place, catalog string) sinktest.Place {
	now := ticking()
	return sinktest.Place{
		Open: func(testing.TB) sink.Target {
			return lake.New(lake.Options{Files: files, Place: place, Catalog: catalog, Lock: catalog + ".lock", Every: -1, Keep: 20 * time.Second, Now: now})
		},
		Rows: func(t testing.TB, table sink.Table) []sink.Row {
			return tableRows(t, files, duckKeys(t, catalog, table.Name), table)
		},
		ByHand: func(t testing.TB, table sink.Table) []string {
			conn, err := driver.OpenConn(catalog, driver.OpenReadWrite)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			if err := sqlitex.ExecuteScript(conn, "UPDATE ducklake_column SET column_type = 'varchar' WHERE column_name = 'number'", nil); err != nil {
				t.Fatal(err)
			}
			return []string{table.Name, "number"}
		},
	}
}

// TestDuckLakeFolder: the files that the catalogue names are the table.
func TestDuckLakeFolder(t *testing.T) {
	sinktest.Run(t, func(t testing.TB) sinktest.Place {
		dir := t.TempDir()
		return duck(open(t, dir), dir+"/", filepath.Join(dir, "catalog.sqlite"))
	})
}

// TestDuckLakeBucket: and so they are in a bucket, with a catalogue on this machine.
func TestDuckLakeBucket(t *testing.T) {
	server := fakebucket.StartS3(t)
	n := 0
	sinktest.Run(t, func(t testing.TB) sinktest.Place {
		n++
		prefix := strings.Repeat("y", n)
		return duck(open(t, server.Place("&prefix="+prefix)), "s3://bucket/"+prefix+"/", filepath.Join(t.TempDir(), "catalog.sqlite"))
	})
}

// TestOrphansGo: what a process leaves that died is removed, and nothing else.
func TestOrphansGo(t *testing.T) {
	dir := t.TempDir()
	p := duck(open(t, dir), dir+"/", filepath.Join(dir, "catalog.sqlite"))
	tables := sink.Tables(sinktest.Kinds(), true)
	prepare := func() {
		target := p.Open(t)
		if err := target.Prepare(t.Context(), tables); err != nil {
			t.Fatal(err)
		}
		if err := target.Close(); err != nil {
			t.Fatal(err)
		}
	}
	prepare()
	kept, orphan := filepath.Join(dir, "issues", "mine.parquet"), filepath.Join(dir, "issues", "part-X.parquet")
	if err := os.MkdirAll(filepath.Join(dir, "issues"), 0o750); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{kept, orphan} {
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	prepare()
	if _, err := os.Stat(kept); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(orphan); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the orphan is there: %v", err)
	}
}
