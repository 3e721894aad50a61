package mysqldb_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"sluice/internal/domain"
	"sluice/internal/mysqldb"
	"sluice/internal/testkit"
)

func TestMain(m *testing.M) { os.Exit(testkit.Main(m)) }

func open(tb testing.TB, url string) *mysqldb.DB {
	tb.Helper()
	db, err := mysqldb.Open(tb.Context(), mysqldb.Options{URL: url})
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

// number reads a row of id_sequence, which serves these tests as a table.
func number(tb testing.TB, db *mysqldb.DB, name string) (n int64) {
	tb.Helper()
	err := db.Query(tb.Context(), func(r *sql.Rows) error { return r.Scan(&n) }, "SELECT last_id FROM id_sequence WHERE name = ?", name)
	if err != nil {
		tb.Fatalf("read: %v", err)
	}
	return n
}

func add(ctx context.Context, tx *sql.Tx, name string, n int) error {
	_, err := tx.ExecContext(ctx, "UPDATE id_sequence SET last_id = last_id + ? WHERE name = ?", n, name)
	return err
}

// TestManyProcessesMigrateAtOnce lets the first ones meet on an empty database.
func TestManyProcessesMigrateAtOnce(t *testing.T) {
	t.Parallel()
	url := testkit.MariaDB(t)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			db, err := mysqldb.Open(t.Context(), mysqldb.Options{URL: url})
			if err != nil {
				t.Errorf("open: %v", err)
				return
			}
			have, want, err := db.SchemaVersion(t.Context())
			if err != nil || have != want || want == 0 {
				t.Errorf("version %d of %d: %v", have, want, err)
			}
			if err := db.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		})
	}
	all.Wait()
}

// TestInterruptedMigrationIsRepeated leaves what a process leaves that died
// between two tables.
func TestInterruptedMigrationIsRepeated(t *testing.T) {
	t.Parallel()
	url := testkit.MariaDB(t)
	db := open(t, url)
	for _, statement := range []string{"DROP TABLE goose_db_version", "DROP TABLE document", "DROP TABLE chunk"} {
		if _, err := db.Exec(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	if have, _, err := db.SchemaVersion(t.Context()); have != 0 || err != nil {
		t.Fatalf("version %d, %v", have, err)
	}
	again := open(t, url)
	if _, err := again.Exec(t.Context(), "INSERT INTO chunk (id, account_id, data) VALUES (1, 1, 'x')"); err != nil {
		t.Errorf("after the repeated migration: %v", err)
	}
}

func TestVersionOfTheServer(t *testing.T) {
	t.Parallel()
	version, err := open(t, testkit.MariaDB(t)).Version(t.Context())
	if err != nil || !strings.Contains(version, "MariaDB") {
		t.Errorf("version %q, %v", version, err)
	}
}

// TestDeadlockRepeatsTheWholeTransaction makes two transactions take two rows
// in opposite order, each its first before either takes its second.
func TestDeadlockRepeatsTheWholeTransaction(t *testing.T) {
	t.Parallel()
	db := open(t, testkit.MariaDB(t))
	var bothHold sync.WaitGroup
	bothHold.Add(2)
	attempts := [2]int{}
	var all sync.WaitGroup
	for i, order := range [2][2]string{{"job", "chunk"}, {"chunk", "job"}} {
		all.Go(func() {
			err := db.Tx(t.Context(), func(tx *sql.Tx) error {
				attempts[i]++
				if err := add(t.Context(), tx, order[0], 1); err != nil {
					return err
				}
				if attempts[i] == 1 {
					bothHold.Done()
					bothHold.Wait()
				}
				return add(t.Context(), tx, order[1], 10)
			})
			if err != nil {
				t.Errorf("transaction %d: %v", i, err)
			}
		})
	}
	all.Wait()
	if attempts[0]+attempts[1] < 3 {
		t.Errorf("%v attempts: there was no deadlock", attempts)
	}
	if got := [2]int64{number(t, db, "job"), number(t, db, "chunk")}; got != [2]int64{11, 11} {
		t.Errorf("the rows hold %v, want 11 each: part of a transaction was repeated or lost", got)
	}
}

func TestRefusedTransactionLeavesNothing(t *testing.T) {
	t.Parallel()
	db := open(t, testkit.MariaDB(t))
	calls := 0
	err := db.Tx(t.Context(), func(tx *sql.Tx) error {
		calls++
		if err := add(t.Context(), tx, "job", 1); err != nil {
			return err
		}
		return domain.Errorf(domain.CodeConflict, "no")
	})
	if domain.CodeOf(err) != domain.CodeConflict || calls != 1 || number(t, db, "job") != 0 {
		t.Errorf("%d calls, %v, the row holds %d", calls, err, number(t, db, "job"))
	}
}

func TestCanceledContextStaysWhatItIs(t *testing.T) {
	t.Parallel()
	db := open(t, testkit.MariaDB(t))
	ctx, cancel := context.WithCancel(t.Context())
	err := db.Tx(ctx, func(tx *sql.Tx) error {
		cancel()
		return add(ctx, tx, "job", 1)
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("canceled inside: %v", err)
	}
	if err := db.Query(ctx, nil, "SELECT 1"); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled before: %v", err)
	}
	if n := number(t, db, "job"); n != 0 {
		t.Errorf("the row holds %d", n)
	}
}

// TestSequencesOfTwoProcesses: ids come in order, and to one process alone.
func TestSequencesOfTwoProcesses(t *testing.T) {
	t.Parallel()
	url := testkit.MariaDB(t)
	sequences := []*mysqldb.Sequence{mysqldb.NewSequence(open(t, url), "job", 7), mysqldb.NewSequence(open(t, url), "job", 7)}
	taken := make([][]int64, 8)
	var all sync.WaitGroup
	for i := range taken {
		all.Go(func() {
			for k := range 50 {
				n := k%10 + 1
				first, err := sequences[i%2].Take(t.Context(), n)
				if err != nil {
					t.Errorf("take: %v", err)
					return
				}
				if before := taken[i]; len(before) > 0 && first <= before[len(before)-1] {
					t.Errorf("%d came after %d", first, before[len(before)-1])
				}
				for id := first; id < first+int64(n); id++ {
					taken[i] = append(taken[i], id)
				}
			}
		})
	}
	all.Wait()
	ids := slices.Concat(taken...)
	slices.Sort(ids)
	if n := len(slices.Compact(slices.Clone(ids))); n != len(ids) || n != 8*275 || ids[0] < 1 {
		t.Errorf("%d ids, %d different ones, the first is %d", len(ids), n, ids[0])
	}
}

func TestTextThatIsNoUTF8(t *testing.T) {
	t.Parallel()
	db := open(t, testkit.MariaDB(t))
	var put mysqldb.Statement
	put.Write("INSERT INTO id_sequence (name, last_id) VALUES (").Text("half \xf0\x9f a rune").Write(",").Int(-5).Write(")")
	err := db.Tx(t.Context(), func(tx *sql.Tx) error {
		_, err := put.Exec(t.Context(), tx)
		return err
	})
	if err != nil {
		t.Fatalf("insert: %v", err)
	}
	if n := number(t, db, "half \uFFFD a rune"); n != -5 {
		t.Errorf("the row holds %d", n)
	}
}
