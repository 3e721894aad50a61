package relational_test

import (
	"testing"

	"sluice/internal/backend/relational"
	kept "sluice/internal/record"
	"sluice/internal/record/recordtest"
)

func TestRecords(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, on server) {
		recordtest.Run(t, func(t *testing.T) (kept.Store, kept.Store) {
			url := on.fresh(t)
			return relational.NewRecords(open(t, url)), relational.NewRecords(open(t, url))
		})
	})
}
