package embedded_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"sluice/internal/refresh/eventlog"
	"sluice/internal/refresh/eventlog/embedded"
	"sluice/internal/refresh/eventlog/eventlogtest"
	"sluice/internal/sqlitedb"
)

func open(tb testing.TB, dir string) *sqlitedb.DB {
	tb.Helper()
	db, err := sqlitedb.Open(tb.Context(), sqlitedb.Options{Dir: dir, Holder: "a test"})
	if err != nil {
		tb.Fatalf("open: %v", err)
	}
	tb.Cleanup(func() {
		if err := db.Close(); err != nil {
			tb.Errorf("close: %v", err)
		}
	})
	return db
}

func newLog(tb testing.TB, db *sqlitedb.DB, o embedded.Options) *embedded.Log {
	tb.Helper()
	o.Log = slog.New(slog.DiscardHandler)
	l := embedded.New(db, o)
	// It may be closed, or its database, long before.
	tb.Cleanup(func() { _ = l.Close(context.WithoutCancel(tb.Context())) })
	return l
}

const maxWait = time.Second

func instance(t *testing.T, dir string) *eventlogtest.Instance {
	db := open(t, dir)
	return &eventlogtest.Instance{
		Log: newLog(t, db, embedded.Options{MaxWait: maxWait}),
		Reopen: func(t *testing.T) *eventlogtest.Instance {
			if err := db.Close(); err != nil {
				t.Fatalf("close: %v", err)
			}
			return instance(t, dir)
		},
	}
}

func TestConformance(t *testing.T) {
	eventlogtest.Run(t, eventlogtest.Factory{
		New:     func(t *testing.T) *eventlogtest.Instance { return instance(t, t.TempDir()) },
		MaxWait: maxWait,
	})
}

func publish(tb testing.TB, l eventlog.Log, topic eventlog.Topic, messages ...eventlog.Message) {
	tb.Helper()
	if err := l.Publish(tb.Context(), topic, messages...); err != nil {
		tb.Fatalf("publish: %v", err)
	}
}
