package sqlite_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"sluice/internal/backend/sqlite"
	"sluice/internal/refresh"
	"sluice/internal/refresh/refreshtest"
)

func newEventLog(tb testing.TB, db *sqlite.DB, o sqlite.EventLogOptions) *sqlite.EventLog {
	tb.Helper()
	o.Log = slog.New(slog.DiscardHandler)
	l := sqlite.NewEventLog(db, o)
	// It may be closed, or its database, long before.
	tb.Cleanup(func() { _ = l.Close(context.WithoutCancel(tb.Context())) })
	return l
}

const eventLogMaxWait = time.Second

func eventLogInstance(t *testing.T, dir string) *refreshtest.EventLogInstance {
	db := openIn(t, dir)
	return &refreshtest.EventLogInstance{
		EventLog: newEventLog(t, db, sqlite.EventLogOptions{MaxWait: eventLogMaxWait}),
		Reopen: func(t *testing.T) *refreshtest.EventLogInstance {
			if err := db.Close(); err != nil {
				t.Fatalf("close: %v", err)
			}
			return eventLogInstance(t, dir)
		},
	}
}

func TestEventLogConformance(t *testing.T) {
	suites.after(t)
	refreshtest.RunEventLog(t, refreshtest.EventLogFactory{
		New:     func(t *testing.T) *refreshtest.EventLogInstance { return eventLogInstance(t, t.TempDir()) },
		MaxWait: eventLogMaxWait,
	})
}

func publish(tb testing.TB, l refresh.EventLog, topic refresh.Topic, messages ...refresh.Message) {
	tb.Helper()
	if err := l.Publish(tb.Context(), topic, messages...); err != nil {
		tb.Fatalf("publish: %v", err)
	}
}
