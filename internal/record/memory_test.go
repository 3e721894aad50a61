package record_test

import (
	"testing"

	"sluice/internal/record"
	"sluice/internal/record/recordtest"
)

func TestMemory(t *testing.T) {
	recordtest.Run(t, func(*testing.T) (record.Store, record.Store) {
		store := record.NewMemory()
		return store, store
	})
}
