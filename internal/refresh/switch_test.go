package refresh_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"sluice/internal/backend/sqlite"
	"sluice/internal/domain"
	"sluice/internal/refresh"
)

// otherLog is a log that is kept somewhere else than the snapshots, under a name.
type otherLog struct {
	refresh.EventLog
	name string
}

func (l *otherLog) Lasting() bool { return false }

func (l *otherLog) Epoch(context.Context, refresh.Topic) (string, error) { return l.name, nil }

// elsewhere opens logs of names, each with a database of its own.
func elsewhere(t *testing.T) func(name string) func(refresh.EventLog) refresh.EventLog {
	t.Helper()
	return func(name string) func(refresh.EventLog) refresh.EventLog {
		return func(refresh.EventLog) refresh.EventLog {
			t.Helper()
			db, err := sqlite.Open(t.Context(), sqlite.Options{Dir: t.TempDir(), Holder: "a log"})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = db.Close() })
			return &otherLog{sqlite.NewEventLog(db, sqlite.EventLogOptions{Log: slog.New(slog.DiscardHandler)}), name}
		}
	}
}

// TestAnotherLogHasEverything: what was accepted into one log, and never taken from
// it, is stored by those who start on another log: whether anybody worked with the
// first, or it was only answered for.
func TestAnotherLogHasEverything(t *testing.T) {
	for _, worked := range []bool{false, true} {
		t.Run(fmt.Sprintf("worked=%t", worked), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				up := always(`"v"`)
				logs := elsewhere(t)
				s := newStand(t, up, func(s *stand) { s.wrapLog, s.settings.Works = logs("redis"), false })
				if worked {
					s.close()
					s.settings.Works = true
					s.open()
					s.start()
					s.want(refresh.Published, high, "before")
					s.until("it is stored", s.stored("before"))
					s.pass(time.Minute)
					s.close()
					s.settings.Works = false
					s.open()
				}
				s.start()
				keys := names(1000)
				for i, p := range []domain.Priority{high, low} {
					_, err := s.ask(p, keys[500*i:500*(i+1)]...)
					s.check(err)
				}
				s.pass(time.Minute)
				called := up.all()
				s.close()
				s.wrapLog, s.settings.Works = logs("kafka"), true
				s.open()
				s.start()
				s.pass(time.Minute)
				if !s.stored(keys...)() {
					t.Error("what was accepted into the other log is not stored")
				}
				if n := up.all() - called; n != len(keys) {
					t.Errorf("%d calls for %d keys", n, len(keys))
				}
			})
		})
	}
}
