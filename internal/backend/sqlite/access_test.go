package sqlite_test

import (
	"errors"
	"testing"
	"time"

	driver "zombiezen.com/go/sqlite"

	"sluice/internal/access"
	"sluice/internal/access/accesstest"
	"sluice/internal/backend/sqlite"
)

func TestAccess(t *testing.T) {
	accesstest.Run(t, func(t *testing.T) (accesstest.Store, accesstest.Store) {
		// A folder has one process.
		store := sqlite.NewAccess(openIn(t, t.TempDir()))
		return store, store
	})
}

// TestTrailIsPartOfTheChange writes for a request: its entry is there if and only
// if the change is.
func TestTrailIsPartOfTheChange(t *testing.T) {
	db := openIn(t, t.TempDir())
	store := sqlite.NewAccess(db)
	trail := access.NewTrail(time.Now(), access.Identity{Actor: "token:x", Role: access.Operate}, "::1", "set-timer", "/api/v1/timers")
	ctx := access.WithTrail(t.Context(), trail)
	logged := func(want int) {
		t.Helper()
		entries, err := store.Entries(t.Context(), access.Query{Limit: 10})
		if err != nil || len(entries) != want || want > 0 && entries[0].Outcome != access.Unfinished {
			t.Fatalf("the log has %+v, %v, want %d", entries, err, want)
		}
	}
	refused := errors.New("refused")
	if err := db.Write(ctx, func(*driver.Conn) error { return refused }); !errors.Is(err, refused) {
		t.Fatal(err)
	}
	logged(0)
	for range 2 {
		if err := db.Write(ctx, func(*driver.Conn) error { return nil }); err != nil {
			t.Fatal(err)
		}
		logged(1)
	}
}

// TestTrailsOfACrowd sets timers for many requests at once, which share
// transactions.
func TestTrailsOfACrowd(t *testing.T) {
	db := openIn(t, t.TempDir())
	store, timers := sqlite.NewAccess(db), sqlite.NewTimers(db)
	accesstest.Crowd(t, store, timers.Put)
}
