package relational_test

import (
	"testing"
	"time"

	"sluice/internal/backend/relational"
	"sluice/internal/notify/notifytest"
	"sluice/internal/refresh"
	"sluice/internal/state/statetest"
)

func TestNotificationsConformance(t *testing.T) {
	t.Parallel()
	eachServer(t, testNotificationsConformance)
}

func testNotificationsConformance(t *testing.T, on server) {
	notifytest.Run(t, func(t *testing.T) notifytest.Instance {
		db := open(t, on.fresh(t))
		letters, err := relational.NewSnapshots(db, refresh.TierOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return notifytest.Instance{Store: relational.NewNotifications(db), State: relational.NewState(db, nil, time.Now), Letters: letters, Timers: relational.NewTimers(db)}
	})
}

func TestOrigins(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, on server) {
		statetest.RunOrigins(t, relational.NewOrigins(open(t, on.fresh(t))))
	})
}
