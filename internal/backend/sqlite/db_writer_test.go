package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	driver "zombiezen.com/go/sqlite"

	"sluice/internal/backend/sqlite"
	"sluice/internal/domain"
)

// holdWriter blocks the writer until the returned function is called, so that what
// comes meanwhile gathers behind it.
func holdWriter(t *testing.T, db *sqlite.DB) (release func()) {
	t.Helper()
	begun, free, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- db.Write(context.WithoutCancel(t.Context()), func(*driver.Conn) error {
			close(begun)
			<-free
			return nil
		})
	}()
	<-begun
	return func() {
		close(free)
		if err := <-done; err != nil {
			t.Errorf("the write that held the writer: %v", err)
		}
	}
}

// crowd starts n writes at once and returns their errors when all are done.
func crowd(n int, write func(i int) error) []error {
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { errs[i] = write(i) })
	}
	all.Wait()
	return errs
}

func TestConcurrentWritesShareTransactions(t *testing.T) {
	db := open(t, sqlite.Options{Dir: t.TempDir()})
	const n = 500
	before := db.Transactions()
	for i, err := range crowd(n, func(i int) error { return db.Write(t.Context(), insertNumber(i+1)) }) {
		if err != nil {
			t.Fatalf("write %d: %v", i, err)
		}
	}
	if got := db.Transactions() - before; got > n/4 {
		t.Errorf("%d writes took %d transactions", n, got)
	}
	if got := len(numbers(t, db)); got != n {
		t.Errorf("%d numbers, want %d", got, n)
	}
}

func TestFailingWriteIsUndoneAlone(t *testing.T) {
	db := open(t, sqlite.Options{Dir: t.TempDir()})
	culprit := errors.New("no")
	errs := crowd(100, func(i int) error {
		return db.Write(t.Context(), func(c *driver.Conn) error {
			if err := insertNumber(i + 1)(c); err != nil || i%10 > 0 {
				return err
			}
			return culprit
		})
	})
	stored := numbers(t, db)
	for i, err := range errs {
		if bad := i%10 == 0; bad != errors.Is(err, culprit) || bad == stored[i+1] || (!bad && err != nil) {
			t.Errorf("write %d: %v, stored %v", i, err, stored[i+1])
		}
	}
	// A statement that SQLite refuses is no different.
	if err := db.Write(t.Context(), insertNumber(2)); err == nil {
		t.Errorf("a number was written twice")
	}
}

type mergeItem struct {
	n    int
	with int // how many were applied together
}

func numberMerger(db *sqlite.DB, sizes *[]int, bad func(int) bool) *sqlite.Merger[mergeItem] {
	return sqlite.NewMerger(db, func(c *driver.Conn, items []*mergeItem) error {
		*sizes = append(*sizes, len(items))
		for _, it := range items {
			it.with = len(items)
			if err := insertNumber(it.n)(c); err != nil {
				return err
			}
			if bad(it.n) {
				return fmt.Errorf("number %d is bad", it.n)
			}
		}
		return nil
	})
}

func TestMergerMerges(t *testing.T) {
	db := open(t, sqlite.Options{Dir: t.TempDir()})
	var sizes []int
	m := numberMerger(db, &sizes, func(int) bool { return false })
	const n = 300
	for _, err := range crowd(n, func(i int) error { return m.Do(t.Context(), &mergeItem{n: i + 1}) }) {
		if err != nil {
			t.Fatalf("do: %v", err)
		}
	}
	if len(sizes) > n/2 || len(numbers(t, db)) != n {
		t.Errorf("%d items were applied in %d steps, %d are stored", n, len(sizes), len(numbers(t, db)))
	}
}

func TestMergerFallsBackToOneByOne(t *testing.T) {
	db := open(t, sqlite.Options{Dir: t.TempDir()})
	var sizes []int
	m := numberMerger(db, &sizes, func(n int) bool { return n%10 == 0 })
	errs := crowd(100, func(i int) error { return m.Do(t.Context(), &mergeItem{n: i + 1}) })
	stored := numbers(t, db)
	for i, err := range errs {
		n := i + 1
		if bad := n%10 == 0; bad != (err != nil) || bad == stored[n] {
			t.Errorf("number %d: %v, stored %v", n, err, stored[n])
		}
		if n%10 == 0 && !strings.Contains(err.Error(), fmt.Sprintf("number %d is bad", n)) {
			t.Errorf("number %d was told of another's fault: %v", n, err)
		}
	}
	if !slices.Contains(sizes, 1) {
		t.Errorf("steps of %v: none was applied alone", sizes)
	}
}

func TestCloseDrainsAndThenRefuses(t *testing.T) {
	db := open(t, sqlite.Options{Dir: t.TempDir()})
	dir := strings.TrimSuffix(db.Path(), "/"+sqlite.FileName)
	var sizes []int
	m := numberMerger(db, &sizes, func(int) bool { return false })
	closed := make(chan error, 1)
	errs := crowd(200, func(i int) error {
		if i == 100 {
			go func() { closed <- db.Close() }()
		}
		if i%2 == 0 {
			return m.Do(t.Context(), &mergeItem{n: i + 1})
		}
		return db.Write(t.Context(), insertNumber(i+1))
	})
	if err := <-closed; err != nil {
		t.Fatalf("close: %v", err)
	}
	for name, call := range map[string]func() error{
		"Write": func() error { return db.Write(t.Context(), insertNumber(1000)) },
		"Read":  func() error { return db.Read(t.Context(), func(*driver.Conn) error { return nil }) },
		"Do":    func() error { return m.Do(t.Context(), &mergeItem{n: 1001}) },
	} {
		for range 20 {
			if err := call(); domain.CodeOf(err) != domain.CodeUnavailable || !strings.Contains(err.Error(), "closed") {
				t.Fatalf("%s after Close: %v", name, err)
			}
		}
	}
	if err := db.Close(); err != nil {
		t.Errorf("second close: %v", err)
	}
	stored := numbers(t, open(t, sqlite.Options{Dir: dir}))
	for i, err := range errs {
		if (err == nil) != stored[i+1] {
			t.Errorf("number %d: told %v, stored %v", i+1, err, stored[i+1])
		}
	}
}

// TestWithdrawnWriteNeverRuns: a caller that gives up before its turn leaves
// nothing behind; one that gives up later learns the outcome.
func TestWithdrawnWriteNeverRuns(t *testing.T) {
	db := open(t, sqlite.Options{Dir: t.TempDir()})
	release := holdWriter(t, db)
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error, 1)
	go func() { result <- db.Write(ctx, insertNumber(1)) }()
	cancel()
	if err := <-result; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	release()
	ctx, cancel = context.WithCancel(t.Context())
	err := db.Write(ctx, func(c *driver.Conn) error {
		cancel()
		return insertNumber(2)(c)
	})
	if err != nil {
		t.Errorf("a write that had begun: %v", err)
	}
	if got := numbers(t, db); got[1] || !got[2] {
		t.Errorf("stored %v", got)
	}
}

func TestInterruptedReadLeavesNoSnapshotBehind(t *testing.T) {
	db := open(t, sqlite.Options{Dir: t.TempDir()})
	for i := range 10 {
		ctx, cancel := context.WithCancel(t.Context())
		err := db.Read(ctx, func(c *driver.Conn) error {
			cancel()
			return sqlite.Exec(c, "SELECT count(*) FROM cursor", nil)
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("an interrupted read: %v", err)
		}
		if err := db.Write(t.Context(), insertNumber(i)); err != nil {
			t.Fatalf("write: %v", err)
		}
		if got := len(numbers(t, db)); got != i+1 {
			t.Fatalf("a reader sees %d numbers, want %d", got, i+1)
		}
	}
}

// TestFullDiskKeepsWholeWrites fills the file up to a bound. What was there stays, others are
// told what to do, and work goes on when there is space.
func TestFullDiskKeepsWholeWrites(t *testing.T) {
	db := open(t, sqlite.Options{Dir: t.TempDir(), MaxPages: 220})
	big := func(n int) func(*driver.Conn) error {
		return func(c *driver.Conn) error {
			if err := insertNumber(n)(c); err != nil {
				return err
			}
			return sqlite.Exec(c, "INSERT INTO chunk (account_id, data) VALUES (1, randomblob(20000))", nil)
		}
	}
	// The first one has the disk for itself. The others may be one transaction, which has
	// room as a whole or not at all.
	errs := []error{db.Write(t.Context(), big(1))}
	errs = append(errs, crowd(59, func(i int) error { return db.Write(t.Context(), big(i+2)) })...)
	full := 0
	stored := numbers(t, db)
	for i, err := range errs {
		if (err == nil) != stored[i+1] {
			t.Errorf("number %d: told %v, stored %v", i+1, err, stored[i+1])
		}
		if err == nil {
			continue
		}
		full++
		if domain.CodeOf(err) != domain.CodeUnavailable || !strings.Contains(err.Error(), "full") {
			t.Errorf("number %d: %v, want code unavailable and that it is full", i+1, err)
		}
	}
	if full == 0 || errs[0] != nil {
		t.Fatalf("%d of %d writes found the disk full, the first one says %v", full, len(errs), errs[0])
	}
	if err := sqlite.Verify(t.Context(), db.Path()); err != nil {
		t.Errorf("verify: %v", err)
	}
	err := db.Write(t.Context(), func(c *driver.Conn) error {
		return sqlite.Exec(c, "PRAGMA max_page_count = 100000", func(*driver.Stmt) {})
	})
	if err != nil {
		t.Fatalf("make space: %v", err)
	}
	for i, err := range errs {
		if err == nil {
			continue
		}
		if err := db.Write(t.Context(), big(i+1)); err != nil {
			t.Errorf("with space again: %v", err)
		}
	}
	if got := len(numbers(t, db)); got != len(errs) {
		t.Errorf("%d numbers, want %d", got, len(errs))
	}
}

func TestIdleDoesNothing(t *testing.T) {
	db := open(t, sqlite.Options{Dir: t.TempDir()})
	if db.Transactions() != 0 || db.Reads() != 0 {
		t.Errorf("after opening: %d transactions, %d reads", db.Transactions(), db.Reads())
	}
	if err := db.Write(t.Context(), insertNumber(1)); err != nil {
		t.Fatalf("write: %v", err)
	}
	numbers(t, db)
	if db.Transactions() != 1 || db.Reads() != 1 {
		t.Errorf("after one of each: %d transactions, %d reads", db.Transactions(), db.Reads())
	}
}
