package sqlite_test

import (
	"testing"
	"time"

	"sluice/internal/backend/sqlite"
	"sluice/internal/notify/notifytest"
	"sluice/internal/refresh"
	"sluice/internal/state/statetest"
)

func TestNotificationsConformance(t *testing.T) {
	notifytest.Run(t, func(t *testing.T) notifytest.Instance {
		db := openIn(t, t.TempDir())
		store, err := sqlite.NewState(t.Context(), db, nil, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		letters, err := sqlite.NewSnapshots(db, refresh.TierOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return notifytest.Instance{Store: sqlite.NewNotifications(db), State: store, Letters: letters, Timers: sqlite.NewTimers(db)}
	})
}

func TestOrigins(t *testing.T) {
	statetest.RunOrigins(t, sqlite.NewOrigins(openIn(t, t.TempDir())))
}
