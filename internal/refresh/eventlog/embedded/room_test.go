package embedded_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"

	"sluice/internal/domain"
	"sluice/internal/refresh/eventlog"
	"sluice/internal/refresh/eventlog/embedded"
	"sluice/internal/sqlitedb"
)

func join(tb testing.TB, l eventlog.Log) eventlog.Consumer {
	tb.Helper()
	c, err := l.Join(tb.Context(), eventlog.HighWorkers, eventlog.High)
	if err != nil {
		tb.Fatalf("join: %v", err)
	}
	return c
}

// work takes and does so many records.
func work(tb testing.TB, c eventlog.Consumer, n int) {
	tb.Helper()
	for n > 0 {
		records, err := c.Take(tb.Context(), 500)
		if err == nil {
			err = c.Done(tb.Context(), records...)
		}
		if err != nil {
			tb.Fatalf("work: %v", err)
		}
		n -= len(records)
	}
}

func count(tb testing.TB, db *sqlitedb.DB) (n int) {
	tb.Helper()
	err := db.Read(tb.Context(), func(c *sqlite.Conn) error {
		return sqlitedb.Exec(c, "SELECT count(*) FROM eventlog_record", func(r *sqlite.Stmt) { n = r.ColumnInt(0) })
	})
	if err != nil {
		tb.Fatalf("count: %v", err)
	}
	return n
}

// TestFileDoesNotGrow: what is dealt with makes room for what comes.
func TestFileDoesNotGrow(t *testing.T) {
	db := open(t, t.TempDir())
	l := newLog(t, db, embedded.Options{})
	pages := func() (n int64) {
		c := join(t, l)
		for range 5 {
			publish(t, l, eventlog.High, events(0, 500)...)
			work(t, c, 500)
		}
		if err := c.Close(t.Context()); err != nil {
			t.Fatalf("close: %v", err)
		}
		if n := count(t, db); n != 0 {
			t.Errorf("%d records are left", n)
		}
		err := db.Read(t.Context(), func(c *sqlite.Conn) error {
			return sqlitedb.Exec(c, "PRAGMA page_count", func(r *sqlite.Stmt) { n = r.ColumnInt64(0) })
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	pages()
	first := pages()
	for range 5 {
		pages()
	}
	if last := pages(); last > first*3/2 {
		t.Errorf("the file has grown from %d to %d pages", first, last)
	}
}

// TestSlowestGroupKeepsRecords: only what every group has dealt with goes.
func TestSlowestGroupKeepsRecords(t *testing.T) {
	db := open(t, t.TempDir())
	l := newLog(t, db, embedded.Options{})
	fast := join(t, l)
	slow, err := l.Join(t.Context(), "slow", eventlog.High)
	if err != nil {
		t.Fatal(err)
	}
	publish(t, l, eventlog.High, events(0, 300)...)
	work(t, fast, 300)
	if err := fast.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := count(t, db); n != 300 {
		t.Errorf("%d records, want 300: one group is behind", n)
	}
	work(t, slow, 300)
	if err := slow.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := count(t, db); n != 0 {
		t.Errorf("%d records, want none", n)
	}
}

// TestTopicWithoutGroupKeepsTheYoung: nobody deals with its records, so they go
// by age; a group that comes finds the others.
func TestTopicWithoutGroupKeepsTheYoung(t *testing.T) {
	db := open(t, t.TempDir())
	l := newLog(t, db, embedded.Options{Retention: time.Hour})
	publish(t, l, eventlog.Dead, events(0, 100)...)
	err := db.Write(t.Context(), func(c *sqlite.Conn) error {
		return sqlitedb.Exec(c, "UPDATE eventlog_record SET at = at - ?", nil, (2 * time.Hour).Microseconds())
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	l = newLog(t, db, embedded.Options{Retention: time.Hour})
	publish(t, l, eventlog.Dead, events(100, 50)...)
	if n := count(t, db); n != 50 {
		t.Errorf("%d records, want the 50 young ones", n)
	}
	lag, err := l.Lag(t.Context(), "late", eventlog.Dead)
	if err != nil || lag.Records != 50 {
		t.Errorf("lag is %+v, %v", lag, err)
	}
	c, err := l.Join(t.Context(), "late", eventlog.Dead)
	if err != nil {
		t.Fatal(err)
	}
	work(t, c, 50)
	if lag, err = l.Lag(t.Context(), "late", eventlog.Dead); err != nil || lag.Records != 0 {
		t.Errorf("lag is %+v, %v", lag, err)
	}
}

// TestIdleAsksNothing: who waits costs no query.
func TestIdleAsksNothing(t *testing.T) {
	db := open(t, t.TempDir())
	l := newLog(t, db, embedded.Options{MaxWait: 50 * time.Millisecond})
	c := join(t, l)
	publish(t, l, eventlog.High, events(0, 10)...)
	work(t, c, 10)
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	c = join(t, l)
	reads, writes := db.Reads(), db.Transactions()
	for range 5 {
		if records, err := c.Take(t.Context(), 10); err != nil || len(records) > 0 {
			t.Fatalf("took %d, %v", len(records), err)
		}
	}
	if reads != db.Reads() || writes != db.Transactions() {
		t.Errorf("%d reads and %d transactions while there was nothing to do", db.Reads()-reads, db.Transactions()-writes)
	}
}

// TestFullDisk: who publishes is told, what was there is taken, and when there
// is room again everything goes on, without gaps.
func TestFullDisk(t *testing.T) {
	db, err := sqlitedb.Open(t.Context(), sqlitedb.Options{Dir: t.TempDir(), MaxPages: 200})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	l := newLog(t, db, embedded.Options{})
	c := join(t, l)
	published := 0
	for {
		err := l.Publish(t.Context(), eventlog.High, events(published, 100)...)
		if err != nil {
			if domain.CodeOf(err) != domain.CodeUnavailable {
				t.Fatalf("on a full disk: %v", err)
			}
			break
		}
		published += 100
	}
	if published == 0 {
		t.Fatal("nothing was published at all")
	}
	work(t, c, published)
	// Closing saves the positions, and so makes room.
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	c = join(t, l)
	publish(t, l, eventlog.High, events(published, 100)...)
	work(t, c, 100)
	lag, err := l.Lag(t.Context(), eventlog.HighWorkers, eventlog.High)
	if err != nil || lag.Records != 0 {
		t.Errorf("lag is %+v, %v", lag, err)
	}
}

// TestFailedReadGivesBack: what could not be read is handed out later, in
// order, and nothing is lost.
func TestFailedReadGivesBack(t *testing.T) {
	dir := t.TempDir()
	db := open(t, dir)
	l := newLog(t, db, embedded.Options{MaxWait: time.Second})
	c := join(t, l)
	publish(t, l, eventlog.High, slices.Repeat(events(0, 1), 10)...)
	if _, err := c.Take(t.Context(), 4); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Take(t.Context(), 4); domain.CodeOf(err) != domain.CodeUnavailable {
		t.Fatalf("on a closed database: %v", err)
	}
	if err := l.Publish(t.Context(), eventlog.High, events(0, 1)...); domain.CodeOf(err) != domain.CodeUnavailable {
		t.Fatalf("on a closed database: %v", err)
	}
	if err := l.Check(t.Context()); domain.CodeOf(err) != domain.CodeUnavailable {
		t.Fatalf("on a closed database: %v", err)
	}
	again := join(t, newLog(t, open(t, dir), embedded.Options{MaxWait: time.Second}))
	records, err := again.Take(t.Context(), 100)
	if err != nil || len(records) != 10 {
		t.Errorf("%d records, %v", len(records), err)
	}
}

// TestClosedLogRefuses: nothing is begun after the end.
func TestClosedLogRefuses(t *testing.T) {
	l := newLog(t, open(t, t.TempDir()), embedded.Options{})
	c := join(t, l)
	if err := l.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, taken := c.Take(t.Context(), 1)
	_, joined := l.Join(t.Context(), eventlog.HighWorkers, eventlog.High)
	for _, err := range []error{taken, joined, l.Publish(t.Context(), eventlog.High, events(0, 1)...)} {
		if domain.CodeOf(err) != domain.CodeUnavailable {
			t.Errorf("after the end: %v", err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.Publish(ctx, eventlog.High, events(0, 1)...); !errors.Is(err, context.Canceled) {
		t.Errorf("with an ended context: %v", err)
	}
}
