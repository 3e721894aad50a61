package sqlite_test

import (
	"testing"

	"sluice/internal/backend/sqlite"
	"sluice/internal/ration/keeper"
	"sluice/internal/ration/rationtest"
)

func TestRations(t *testing.T) {
	rationtest.RunStore(t, func(t *testing.T) keeper.Store {
		return sqlite.NewRations(openIn(t, t.TempDir()))
	})
}
