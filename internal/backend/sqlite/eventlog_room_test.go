package sqlite_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	driver "zombiezen.com/go/sqlite"

	"sluice/internal/backend/sqlite"
	"sluice/internal/domain"
	"sluice/internal/refresh"
)

func join(tb testing.TB, l refresh.EventLog) refresh.LogConsumer {
	tb.Helper()
	c, err := l.Join(tb.Context(), refresh.HighWorkers, refresh.TopicHigh)
	if err != nil {
		tb.Fatalf("join: %v", err)
	}
	return c
}

// workRecords takes and does so many records.
func workRecords(tb testing.TB, c refresh.LogConsumer, n int) {
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

func countRecords(tb testing.TB, db *sqlite.DB) (n int) {
	tb.Helper()
	err := db.Read(tb.Context(), func(c *driver.Conn) error {
		return sqlite.Exec(c, "SELECT count(*) FROM eventlog_record", func(r *driver.Stmt) { n = r.ColumnInt(0) })
	})
	if err != nil {
		tb.Fatalf("count: %v", err)
	}
	return n
}

// TestEventLogFileDoesNotGrow: what is dealt with makes room for what comes.
func TestEventLogFileDoesNotGrow(t *testing.T) {
	db := openIn(t, t.TempDir())
	l := newEventLog(t, db, sqlite.EventLogOptions{})
	pages := func() (n int64) {
		c := join(t, l)
		for range 5 {
			publish(t, l, refresh.TopicHigh, logEvents(0, 500)...)
			workRecords(t, c, 500)
		}
		if err := c.Close(t.Context()); err != nil {
			t.Fatalf("close: %v", err)
		}
		if n := countRecords(t, db); n != 0 {
			t.Errorf("%d records are left", n)
		}
		err := db.Read(t.Context(), func(c *driver.Conn) error {
			return sqlite.Exec(c, "PRAGMA page_count", func(r *driver.Stmt) { n = r.ColumnInt64(0) })
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
	// One batch more or less may lie there when the next comes; all 25,000 would take
	// thousands of pages.
	if last := pages(); last > first*3 {
		t.Errorf("the file has grown from %d to %d pages", first, last)
	}
}

// TestEventLogSlowestGroupKeepsRecords: only what every group has dealt with goes.
func TestEventLogSlowestGroupKeepsRecords(t *testing.T) {
	db := openIn(t, t.TempDir())
	l := newEventLog(t, db, sqlite.EventLogOptions{})
	fast := join(t, l)
	slow, err := l.Join(t.Context(), "slow", refresh.TopicHigh)
	if err != nil {
		t.Fatal(err)
	}
	publish(t, l, refresh.TopicHigh, logEvents(0, 300)...)
	workRecords(t, fast, 300)
	if err := fast.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := countRecords(t, db); n != 300 {
		t.Errorf("%d records, want 300: one group is behind", n)
	}
	workRecords(t, slow, 300)
	if err := slow.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := countRecords(t, db); n != 0 {
		t.Errorf("%d records, want none", n)
	}
}

// TestEventLogTopicWithoutGroupKeepsTheYoung: nobody deals with its records, so they go
// by age; a group that comes finds the others.
func TestEventLogTopicWithoutGroupKeepsTheYoung(t *testing.T) {
	db := openIn(t, t.TempDir())
	l := newEventLog(t, db, sqlite.EventLogOptions{Retention: time.Hour})
	publish(t, l, refresh.TopicDead, logEvents(0, 100)...)
	err := db.Write(t.Context(), func(c *driver.Conn) error {
		return sqlite.Exec(c, "UPDATE eventlog_record SET at = at - ?", nil, (2 * time.Hour).Microseconds())
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	l = newEventLog(t, db, sqlite.EventLogOptions{Retention: time.Hour})
	publish(t, l, refresh.TopicDead, logEvents(100, 50)...)
	if n := countRecords(t, db); n != 50 {
		t.Errorf("%d records, want the 50 young ones", n)
	}
	lag, err := l.Lag(t.Context(), "late", refresh.TopicDead)
	if err != nil || lag.Records != 50 {
		t.Errorf("lag is %+v, %v", lag, err)
	}
	c, err := l.Join(t.Context(), "late", refresh.TopicDead)
	if err != nil {
		t.Fatal(err)
	}
	workRecords(t, c, 50)
	if lag, err = l.Lag(t.Context(), "late", refresh.TopicDead); err != nil || lag.Records != 0 {
		t.Errorf("lag is %+v, %v", lag, err)
	}
}

// TestEventLogIdleAsksNothing: who waits costs no query.
func TestEventLogIdleAsksNothing(t *testing.T) {
	db := openIn(t, t.TempDir())
	l := newEventLog(t, db, sqlite.EventLogOptions{MaxWait: 50 * time.Millisecond})
	c := join(t, l)
	publish(t, l, refresh.TopicHigh, logEvents(0, 10)...)
	workRecords(t, c, 10)
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

// TestEventLogFullDisk: who publishes is told, what was there is taken, and when there
// is room again everything goes on, without gaps.
func TestEventLogFullDisk(t *testing.T) {
	db := open(t, sqlite.Options{Dir: t.TempDir(), MaxPages: 200})
	l := newEventLog(t, db, sqlite.EventLogOptions{})
	c := join(t, l)
	published := 0
	for {
		err := l.Publish(t.Context(), refresh.TopicHigh, logEvents(published, 100)...)
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
	workRecords(t, c, published)
	// Closing saves the positions, and so makes room.
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	c = join(t, l)
	publish(t, l, refresh.TopicHigh, logEvents(published, 100)...)
	workRecords(t, c, 100)
	lag, err := l.Lag(t.Context(), refresh.HighWorkers, refresh.TopicHigh)
	if err != nil || lag.Records != 0 {
		t.Errorf("lag is %+v, %v", lag, err)
	}
}

// TestEventLogFailedReadGivesBack: what could not be read is handed out later, in
// order, and nothing is lost.
func TestEventLogFailedReadGivesBack(t *testing.T) {
	dir := t.TempDir()
	db := openIn(t, dir)
	l := newEventLog(t, db, sqlite.EventLogOptions{MaxWait: time.Second})
	c := join(t, l)
	publish(t, l, refresh.TopicHigh, slices.Repeat(logEvents(0, 1), 10)...)
	if _, err := c.Take(t.Context(), 4); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Take(t.Context(), 4); domain.CodeOf(err) != domain.CodeUnavailable {
		t.Fatalf("on a closed database: %v", err)
	}
	if err := l.Publish(t.Context(), refresh.TopicHigh, logEvents(0, 1)...); domain.CodeOf(err) != domain.CodeUnavailable {
		t.Fatalf("on a closed database: %v", err)
	}
	if err := l.Check(t.Context()); domain.CodeOf(err) != domain.CodeUnavailable {
		t.Fatalf("on a closed database: %v", err)
	}
	again := join(t, newEventLog(t, openIn(t, dir), sqlite.EventLogOptions{MaxWait: time.Second}))
	records, err := again.Take(t.Context(), 100)
	if err != nil || len(records) != 10 {
		t.Errorf("%d records, %v", len(records), err)
	}
}

// TestEventLogClosedRefuses: nothing is begun after the end.
func TestEventLogClosedRefuses(t *testing.T) {
	l := newEventLog(t, openIn(t, t.TempDir()), sqlite.EventLogOptions{})
	c := join(t, l)
	if err := l.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, taken := c.Take(t.Context(), 1)
	_, joined := l.Join(t.Context(), refresh.HighWorkers, refresh.TopicHigh)
	for _, err := range []error{taken, joined, l.Publish(t.Context(), refresh.TopicHigh, logEvents(0, 1)...)} {
		if domain.CodeOf(err) != domain.CodeUnavailable {
			t.Errorf("after the end: %v", err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.Publish(ctx, refresh.TopicHigh, logEvents(0, 1)...); !errors.Is(err, context.Canceled) {
		t.Errorf("with an ended context: %v", err)
	}
}
