package relational_test

import (
	"bytes"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"testing"

	"sluice/internal/backend/relational"
	"sluice/internal/domain"
)

// alone opens a database with one connection, so that what a transaction
// leaves there is met by the next.
func alone(t *testing.T, on server) *relational.DB {
	t.Helper()
	db, err := on.open(t.Context(), on.fresh(t), 1)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func statement(sql string) *relational.Statement { return (&relational.Statement{}).Write(sql) }

func TestBatchTellsWhatEachStatementDid(t *testing.T) {
	t.Parallel()
	eachServer(t, testBatchTellsWhatEachStatementDid)
}

func testBatchTellsWhatEachStatementDid(t *testing.T, on server) {
	db := alone(t, on)
	var rows int64
	err := db.Tx(t.Context(), func(tx *relational.Tx) error {
		return tx.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM id_sequence").Scan(&rows)
	})
	if err != nil || rows == 0 {
		t.Fatalf("%d sequences, %v", rows, err)
	}
	for range 2 {
		var got []int64
		err := db.Tx(t.Context(), func(tx *relational.Tx) (err error) {
			got, err = relational.Batch(t.Context(), tx,
				statement("UPDATE id_sequence SET last_id = last_id + 1"),
				statement("UPDATE id_sequence SET last_id = last_id + 1 WHERE name = ''"),
				statement("UPDATE id_sequence SET last_id = last_id + 1 WHERE last_id > 0"))
			if err != nil {
				return err
			}
			// The transaction has begun: its first statement is another now.
			second, err := relational.Batch(t.Context(), tx, statement("UPDATE id_sequence SET last_id = last_id + 1"))
			got = append(got, second...)
			return err
		})
		want := []int64{rows, 0, rows, rows}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("got %v, want %v (%v)", got, want, err)
		}
	}
	err = db.Tx(t.Context(), func(tx *relational.Tx) error {
		_, err := relational.Batch(t.Context(), tx, statement("DO ").Text(strings.Repeat("a", 1<<20)))
		return err
	})
	if domain.CodeOf(err) != domain.CodeInternal {
		t.Errorf("a batch with a text that is too long: %v", err)
	}
}

// TestFinalStatementCommits in its own trip, with texts too, unless one of the
// batch is refused: then everything before it is still part of the transaction,
// if that goes on at all.
func TestFinalStatementCommits(t *testing.T) {
	t.Parallel()
	eachServer(t, testFinalStatementCommits)
}

func testFinalStatementCommits(t *testing.T, on server) {
	db := alone(t, on)
	refuse := func(n int64) *relational.Statement { return db.Dialect().Refuse((&relational.Statement{}).Int(n)) }
	set := func(n int64) *relational.Statement {
		return statement("UPDATE id_sequence SET last_id = ").Int(n).Write(" WHERE name = ").Text("job")
	}
	stop := errors.New("stop")
	err := db.Tx(t.Context(), func(tx *relational.Tx) error {
		got, err := relational.Batch(relational.Final(t.Context()), tx, set(5), refuse(0), set(6))
		if err != nil {
			return err
		}
		if !slices.Equal(got, []int64{1, 0, 1}) {
			t.Errorf("the batch told %v", got)
		}
		if _, err := tx.ExecContext(t.Context(), "UPDATE id_sequence SET last_id = 7"); err == nil {
			t.Error("a statement after the last one was taken")
		}
		return stop
	})
	if !errors.Is(err, stop) || number(t, db, "job") != 6 {
		t.Errorf("the final batch left %d (%v), want 6", number(t, db, "job"), err)
	}
	err = db.Tx(t.Context(), func(tx *relational.Tx) error {
		_, err := relational.Batch(relational.Final(t.Context()), tx, set(8), refuse(1), set(9))
		if !db.IsRefused(err) {
			t.Errorf("the batch that was to be refused: %v", err)
		}
		n := 0
		if db.Dialect().ErrorEndsTransaction {
			return stop
		}
		if err := tx.QueryRowContext(t.Context(), "SELECT last_id FROM id_sequence WHERE name = 'job'").Scan(&n); err != nil || n != 8 {
			t.Errorf("inside the transaction it is %d (%v), want 8", n, err)
		}
		return stop
	})
	if !errors.Is(err, stop) || number(t, db, "job") != 6 {
		t.Errorf("the refused batch left %d (%v), want 6", number(t, db, "job"), err)
	}
}

// inTransaction is an expression that is not 0 inside of a transaction, unless
// that began with the same statement.
var inTransaction = map[string]string{
	"mysql":    "@@in_transaction",
	"postgres": "CASE WHEN now() = statement_timestamp() THEN 0 ELSE 1 END",
}

// TestFirstStatementIsPartOfItsTransaction, whatever it is and whether or not
// it fails.
func TestFirstStatementIsPartOfItsTransaction(t *testing.T) {
	t.Parallel()
	eachServer(t, testFirstStatementIsPartOfItsTransaction)
}

func testFirstStatementIsPartOfItsTransaction(t *testing.T, on server) {
	db := alone(t, on)
	stop := errors.New("stop")
	// Twice as long when it is escaped: too long for a packet then.
	long := bytes.Repeat([]byte{0}, db.MaxPacket()*3/4)
	for name, first := range map[string]func(tx *relational.Tx) error{
		"none": func(*relational.Tx) error { return nil },
		"a statement": func(tx *relational.Tx) error {
			_, err := tx.ExecContext(t.Context(), "UPDATE id_sequence SET last_id = 5 WHERE name = ?", "job")
			return err
		},
		"a batch": func(tx *relational.Tx) error {
			_, err := relational.Batch(t.Context(), tx, statement("UPDATE id_sequence SET last_id = 5"), statement("UPDATE id_sequence SET last_id = 6"))
			return err
		},
		"a query": func(tx *relational.Tx) error {
			return tx.QueryRowContext(t.Context(), "SELECT ? FROM id_sequence FOR UPDATE", 1).Scan(new(int))
		},
		"a long statement": func(tx *relational.Tx) error {
			_, err := tx.ExecContext(t.Context(), "INSERT INTO chunk (id, account_id, data) VALUES (1, 1, ?)", long)
			return err
		},
		"a statement that is refused": func(tx *relational.Tx) error {
			if _, err := tx.ExecContext(t.Context(), "UPDATE nothing SET a = ?", 1); err == nil {
				t.Error("the statement was not refused")
			}
			return nil
		},
		"a batch that is refused": func(tx *relational.Tx) error {
			if _, err := relational.Batch(t.Context(), tx, statement("UPDATE id_sequence SET last_id = 5"), statement("UPDATE nothing SET a = 1")); err == nil {
				t.Error("the batch was not refused")
			}
			return nil
		},
	} {
		err := db.Tx(t.Context(), func(tx *relational.Tx) error {
			if err := first(tx); err != nil {
				return err
			}
			over := db.Dialect().ErrorEndsTransaction && strings.HasSuffix(name, "refused")
			if err := add(t.Context(), tx, "job", 1); err != nil && !over {
				return err
			}
			return stop
		})
		if !errors.Is(err, stop) {
			t.Errorf("%s: %v", name, err)
		}
		open, chunks := 0, 0
		err = db.Query(t.Context(), func(r *sql.Rows) error { return r.Scan(&open, &chunks) }, "SELECT "+inTransaction[on.name]+", (SELECT COUNT(*) FROM chunk)")
		if err != nil || open != 0 || chunks != 0 || number(t, db, "job") != 0 || number(t, db, "check") != 0 {
			t.Errorf("%s first: the transaction has left something (open %d, %d chunks, %d, %v)", name, open, chunks, number(t, db, "job"), err)
		}
	}
}
