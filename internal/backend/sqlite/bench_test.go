package sqlite_test

import (
	"os"
	"path/filepath"
	"testing"

	"sluice/internal/backend/sqlite"
	"sluice/internal/refresh/refreshtest"
	"sluice/internal/state/statetest"
	"sluice/internal/timer/timertest"
)

func transactions(db *sqlite.DB) func() uint64 {
	return func() uint64 { return uint64(db.Transactions()) }
}

func BenchmarkState(b *testing.B) {
	statetest.Bench(b, func(b *testing.B) statetest.Benched {
		o := openState(b, b.TempDir())
		return statetest.Benched{Store: o.State, Transactions: transactions(o.db)}
	})
}

func BenchmarkTimers(b *testing.B) {
	timertest.BenchStore(b, func(b *testing.B) timertest.BenchedStore {
		db := openIn(b, b.TempDir())
		return timertest.BenchedStore{Store: sqlite.NewTimers(db), Transactions: transactions(db)}
	})
}

func BenchmarkSnapshots(b *testing.B) {
	refreshtest.BenchSnapshots(b, func(b *testing.B) refreshtest.BenchedSnapshots {
		db := openIn(b, b.TempDir())
		return refreshtest.BenchedSnapshots{Snapshots: newSnapshots(b, db), Bytes: func() int64 { return fileBytes(b, db) }}
	})
}

func fileBytes(b *testing.B, db *sqlite.DB) (sum int64) {
	b.Helper()
	files, err := filepath.Glob(db.Path() + "*")
	if err != nil {
		b.Fatal(err)
	}
	for _, name := range files {
		if info, err := os.Stat(name); err == nil && filepath.Ext(name) == ".db" {
			sum += info.Size()
		}
	}
	return sum
}
