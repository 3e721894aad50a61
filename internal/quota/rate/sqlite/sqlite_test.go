package sqlite_test

import (
	"testing"

	"sluice/internal/quota/rate"
	"sluice/internal/quota/rate/sqlite"
	"sluice/internal/sqlitedb"
)

func TestTheLargerCountStays(t *testing.T) {
	db, err := sqlitedb.Open(t.Context(), sqlitedb.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	s := sqlite.New(db)
	save := func(day string, calls, low int64) {
		t.Helper()
		if err := s.Save(t.Context(), "maplestory", day, rate.Spent{Calls: calls, Low: low}); err != nil {
			t.Fatal(err)
		}
	}
	want := func(day string, calls, low int64) {
		t.Helper()
		got, err := s.Load(t.Context(), "maplestory", day)
		if expected := (rate.Spent{Calls: calls, Low: low}); err != nil || got != expected {
			t.Fatalf("%s: got %+v, %v, want %+v", day, got, err, expected)
		}
	}
	want("2026-03-01", 0, 0)
	save("2026-03-01", 100, 70)
	save("2026-03-01", 90, 90)
	want("2026-03-01", 100, 70)
	save("2026-03-01", 101, 60)
	want("2026-03-01", 101, 70)
	save("2026-03-02", 5, 5)
	want("2026-03-01", 101, 70)
	want("2026-03-02", 5, 5)
}
