package relational_test

import (
	"database/sql"
	"testing"

	"sluice/internal/backend/relational"
	"sluice/internal/refresh/refreshtest"
	"sluice/internal/state/statetest"
	"sluice/internal/timer/timertest"
)

func BenchmarkState(b *testing.B) {
	statetest.Bench(b, func(b *testing.B) statetest.Benched {
		o := mustOpenState(b, benchServer().fresh(b))
		return statetest.Benched{Store: o.State, Transactions: o.db.Transactions}
	})
}

func BenchmarkTimers(b *testing.B) {
	timertest.BenchStore(b, func(b *testing.B) timertest.BenchedStore {
		db := open(b, benchServer().fresh(b))
		return timertest.BenchedStore{Store: relational.NewTimers(db), Transactions: db.Transactions}
	})
}

func BenchmarkSnapshots(b *testing.B) {
	refreshtest.BenchSnapshots(b, func(b *testing.B) refreshtest.BenchedSnapshots {
		db := open(b, benchServer().fresh(b))
		return refreshtest.BenchedSnapshots{Snapshots: newSnapshots(b, db), Bytes: func() int64 { return tableBytes(b, db) }}
	})
}

// tableBytes is what the tables take on disk.
func tableBytes(b *testing.B, db *relational.DB) (sum int64) {
	b.Helper()
	query := "SELECT SUM(data_length + index_length) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name LIKE 'snapshot%'"
	if db.Dialect().Name == "PostgreSQL" {
		query = "SELECT SUM(pg_total_relation_size(oid)) FROM pg_class WHERE relkind = 'r' AND relname LIKE 'snapshot%'"
	}
	err := db.Query(b.Context(), func(r *sql.Rows) error { return r.Scan(&sum) }, query)
	if err != nil {
		b.Fatal(err)
	}
	return sum
}
