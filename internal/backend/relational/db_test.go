package relational_test

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"sync"
	"testing"

	"sluice/internal/backend/relational"
	"sluice/internal/domain"
)

// number reads a row of id_sequence, which serves these tests as a table.
func number(tb testing.TB, db *relational.DB, name string) (n int64) {
	tb.Helper()
	err := db.Query(tb.Context(), func(r *sql.Rows) error { return r.Scan(&n) }, "SELECT last_id FROM id_sequence WHERE name = ?", name)
	if err != nil {
		tb.Fatalf("read: %v", err)
	}
	return n
}

func add(ctx context.Context, tx *relational.Tx, name string, n int) error {
	_, err := tx.ExecContext(ctx, "UPDATE id_sequence SET last_id = last_id + ? WHERE name = ?", n, name)
	return err
}

func TestReadsAreCounted(t *testing.T) {
	t.Parallel()
	eachServer(t, testReadsAreCounted)
}

func testReadsAreCounted(t *testing.T, on server) {
	db := open(t, on.fresh(t))
	before := db.Reads()
	number(t, db, "check")
	err := db.Read(t.Context(), func(q relational.Querier) error {
		return relational.Query(t.Context(), q, func(*sql.Rows) error { return nil }, "SELECT 1")
	})
	if err != nil {
		t.Fatal(err)
	}
	if read := db.Reads() - before; read != 2 {
		t.Errorf("two reads count as %d", read)
	}
}

// TestDeadlockRepeatsTheWholeTransaction makes two transactions take two rows
// in opposite order, each its first before either takes its second.
func TestDeadlockRepeatsTheWholeTransaction(t *testing.T) {
	t.Parallel()
	eachServer(t, testDeadlockRepeatsTheWholeTransaction)
}

func testDeadlockRepeatsTheWholeTransaction(t *testing.T, on server) {
	db := open(t, on.fresh(t))
	var bothHold sync.WaitGroup
	bothHold.Add(2)
	attempts := [2]int{}
	var all sync.WaitGroup
	for i, order := range [2][2]string{{"job", "chunk"}, {"chunk", "job"}} {
		all.Go(func() {
			err := db.Tx(t.Context(), func(tx *relational.Tx) error {
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
	eachServer(t, testRefusedTransactionLeavesNothing)
}

func testRefusedTransactionLeavesNothing(t *testing.T, on server) {
	db := open(t, on.fresh(t))
	calls := 0
	err := db.Tx(t.Context(), func(tx *relational.Tx) error {
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
	eachServer(t, testCanceledContextStaysWhatItIs)
}

func testCanceledContextStaysWhatItIs(t *testing.T, on server) {
	db := open(t, on.fresh(t))
	ctx, cancel := context.WithCancel(t.Context())
	err := db.Tx(ctx, func(tx *relational.Tx) error {
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
	eachServer(t, testSequencesOfTwoProcesses)
}

func testSequencesOfTwoProcesses(t *testing.T, on server) {
	url := on.fresh(t)
	sequences := []*relational.Sequence{relational.NewSequence(open(t, url), "job", 7), relational.NewSequence(open(t, url), "job", 7)}
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
	eachServer(t, testTextThatIsNoUTF8)
}

func testTextThatIsNoUTF8(t *testing.T, on server) {
	db := open(t, on.fresh(t))
	var put relational.Statement
	put.Write("INSERT INTO id_sequence (name, last_id) VALUES (").Text("half \xf0\x9f a rune").Write(",").Int(-5).Write(")")
	err := db.Tx(t.Context(), func(tx *relational.Tx) error {
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
