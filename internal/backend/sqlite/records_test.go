package sqlite_test

import (
	"testing"

	"sluice/internal/backend/sqlite"
	"sluice/internal/record"
	"sluice/internal/record/recordtest"
)

func TestRecords(t *testing.T) {
	recordtest.Run(t, func(t *testing.T) (record.Store, record.Store) {
		// A folder has one process.
		store := sqlite.NewRecords(openIn(t, t.TempDir()))
		return store, store
	})
}
