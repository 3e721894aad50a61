package mysqldb_test

import (
	"bytes"
	"database/sql"
	"errors"
	"slices"
	"testing"

	"sluice/internal/domain"
	"sluice/internal/mysqldb"
	"sluice/internal/testkit"
)

// alone opens a database with one connection, so that what a transaction
// leaves there is met by the next.
func alone(t *testing.T) *mysqldb.DB {
	t.Helper()
	db, err := mysqldb.Open(t.Context(), mysqldb.Options{URL: testkit.MariaDB(t), MaxConnections: 1})
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func statement(sql string) *mysqldb.Statement { return (&mysqldb.Statement{}).Write(sql) }

func TestBatchTellsWhatEachStatementDid(t *testing.T) {
	t.Parallel()
	db := alone(t)
	for range 2 {
		var got []mysqldb.Changed
		err := db.Tx(t.Context(), func(tx *sql.Tx) (err error) {
			got, err = mysqldb.Batch(t.Context(), tx,
				statement("UPDATE id_sequence SET last_id = last_id + 1"),
				statement("UPDATE id_sequence SET last_id = last_id + 1 WHERE name = ''"),
				statement("UPDATE id_sequence SET last_id = last_id + 1 + 0 * LAST_INSERT_ID(7) WHERE last_id > 0"))
			if err != nil {
				return err
			}
			// The transaction has begun: its first statement is another now.
			second, err := mysqldb.Batch(t.Context(), tx, statement("UPDATE id_sequence SET last_id = last_id + 1"))
			got = append(got, second...)
			return err
		})
		want := []mysqldb.Changed{{Rows: 3}, {}, {Rows: 3, InsertID: 7}, {Rows: 3}}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("got %v, want %v (%v)", got, want, err)
		}
	}
	err := db.Tx(t.Context(), func(tx *sql.Tx) error {
		_, err := mysqldb.Batch(t.Context(), tx, statement("DO ").Text("a"))
		return err
	})
	if domain.CodeOf(err) != domain.CodeInternal {
		t.Errorf("a batch with a text: %v", err)
	}
}

// TestFirstStatementIsPartOfItsTransaction, whatever it is and whether or not
// it fails.
func TestFirstStatementIsPartOfItsTransaction(t *testing.T) {
	t.Parallel()
	db := alone(t)
	stop := errors.New("stop")
	// Twice as long when it is escaped: too long for a packet then.
	long := bytes.Repeat([]byte{0}, db.MaxPacket()*3/4)
	for name, first := range map[string]func(tx *sql.Tx) error{
		"none": func(*sql.Tx) error { return nil },
		"a statement": func(tx *sql.Tx) error {
			_, err := tx.ExecContext(t.Context(), "UPDATE id_sequence SET last_id = 5 WHERE name = ?", "job")
			return err
		},
		"a batch": func(tx *sql.Tx) error {
			_, err := mysqldb.Batch(t.Context(), tx, statement("UPDATE id_sequence SET last_id = 5"), statement("UPDATE id_sequence SET last_id = 6"))
			return err
		},
		"a query": func(tx *sql.Tx) error {
			return tx.QueryRowContext(t.Context(), "SELECT ? FROM id_sequence FOR UPDATE", 1).Scan(new(int))
		},
		"a long statement": func(tx *sql.Tx) error {
			_, err := tx.ExecContext(t.Context(), "INSERT INTO chunk (id, account_id, data) VALUES (1, 1, ?)", long)
			return err
		},
		"a statement that is refused": func(tx *sql.Tx) error {
			if _, err := tx.ExecContext(t.Context(), "UPDATE nothing SET a = ?", 1); err == nil {
				t.Error("the statement was not refused")
			}
			return nil
		},
		"a batch that is refused": func(tx *sql.Tx) error {
			if _, err := mysqldb.Batch(t.Context(), tx, statement("UPDATE id_sequence SET last_id = 5"), statement("UPDATE nothing SET a = 1")); err == nil {
				t.Error("the batch was not refused")
			}
			return nil
		},
	} {
		err := db.Tx(t.Context(), func(tx *sql.Tx) error {
			if err := first(tx); err != nil {
				return err
			}
			if err := add(t.Context(), tx, "job", 1); err != nil {
				return err
			}
			return stop
		})
		if !errors.Is(err, stop) {
			t.Errorf("%s: %v", name, err)
		}
		open, chunks := 0, 0
		err = db.Query(t.Context(), func(r *sql.Rows) error { return r.Scan(&open, &chunks) }, "SELECT @@in_transaction, (SELECT COUNT(*) FROM chunk)")
		if err != nil || open != 0 || chunks != 0 || number(t, db, "job") != 0 || number(t, db, "check") != 0 {
			t.Errorf("%s first: the transaction has left something (open %d, %d chunks, %d, %v)", name, open, chunks, number(t, db, "job"), err)
		}
	}
}
