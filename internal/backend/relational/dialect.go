package relational

import (
	"context"
	"database/sql"
	"database/sql/driver"

	"sluice/internal/document/views"
)

// Dialect is what a server speaks differently from others. All else is written
// in SQL that every server understands:
//
//   - A value that stands for a key, or an instant, or a state is written into
//     the text as a number or as X'…' (bytes in hexadecimal digits, in a place
//     where a column of bytes is meant); texts and bytes travel as arguments,
//     for question marks. No question mark and no X' is ever part of a text in
//     quotation marks, and no semicolon is, except between statements.
//   - Hints for MySQL and MariaDB stand in comments that only they look into:
//     /*! FORCE INDEX (PRIMARY) */.
//   - Assignments go from left to right in MySQL, and all see the old row
//     elsewhere: a column is assigned after those that go by its old value.
//   - In the assignments of an Upsert, table.column is what is there, and
//     excluded.column is what was to be inserted.
//   - What a row is compared with has its type: CASE for conditions that count.
//
// The driver of a server (a wrapper, if need be) keeps this contract:
//
//   - BeginTx is called with driver.TxOptions{} (READ COMMITTED) or
//     SnapshotOptions. It may be put off until the first statement.
//   - ExecContext is called with one statement, or with several that are joined
//     by "; " (see Batch), each of which may have question marks, numbered
//     through. None of them returns rows that anybody reads, but a SELECT may be
//     among them. They take one trip. If the last argument is a *Counts it is
//     not for the server but takes how many rows each statement changed.
//   - If IsFinal(ctx), the transaction is committed with these statements, in the
//     same trip; Commit and Rollback then do nothing, and any other statement
//     fails. If one of them fails, nothing of it is committed.
//   - RowsAffected counts rows that were inserted, changed or removed.
//   - What is no text for the server, such as one with a zero byte, is replaced
//     or refused as a BadValue.
//   - Its sessions are strict, wait for a lock for about a second, and end by
//     themselves when their machine is gone.
type Dialect struct {
	// Name is the server's, for people: "MySQL".
	Name string
	// ForShare is how a SELECT ends that locks its rows together with others that
	// do the same: "FOR SHARE".
	ForShare string
	// Overtake is a statement that waits for those who hold the row 1 of a table
	// ForShare, and for none who come later.
	Overtake func(table string) string
	// CurrentSchema is an expression for where information_schema has the tables of
	// a connection, and LongText the type of columns for texts of any length, which
	// are compared as they are.
	CurrentSchema, LongText string
	// Size is a SELECT of how many bytes the database takes.
	Size string
	// Views is how views of documents are written. ReplaceView is a statement that
	// makes one, or replaces it, and notes its definition in the table document_view;
	// if the server refuses that because of what others have built on the old one,
	// that stays, and so does its note.
	Views       *views.Dialect
	ReplaceView func(v *views.View, definition string) []*Statement
	// AuthorIs is a condition that the index document_author answers: that a row of
	// document d is of the author ?, which is cut and folded as tables.Author says.
	AuthorIs string
	// RowsOnce says that an INSERT which changes rows that are there must not
	// have two rows of one key.
	RowsOnce bool
	// ErrorEndsTransaction says that nothing but a rollback is possible after a
	// statement has failed.
	ErrorEndsTransaction bool
	// Upsert is what follows the rows of an INSERT.
	Upsert func(Upsert) string
	// Refuse is a statement that fails, as Refused, if a number is not 0, and
	// does nothing otherwise. The number is an expression that is never negative
	// or NULL.
	Refuse func(number *Statement) *Statement
	// Exactly is an UPDATE followed by a Refuse, as one statement or two, which
	// fails unless the UPDATE has changed so many rows. Every row that the UPDATE
	// finds it also changes.
	Exactly func(update *Statement, rows int64) []*Statement
	// Classify says what an error of the driver means. It need not know errors of
	// the network and of database/sql.
	Classify func(error) Problem
	// TryLock takes a lock of the whole server by name, for a connection, until
	// that ends or Unlock is called. It does not wait.
	TryLock func(ctx context.Context, conn *sql.Conn, name string) (bool, error)
	Unlock  func(ctx context.Context, conn *sql.Conn, name string) error
}

// Upsert says what becomes of a row that is there already when one with the
// same key is inserted. Without Set and Replace it stays as it is, and need not
// be locked.
type Upsert struct {
	// Key are the columns of the key, "account_id, identity". "" means that
	// there is never such a row, or that it is an error.
	Key string
	// Set are assignments: "at = GREATEST(page.at, excluded.at)".
	Set string
	// Replace are columns that get the new row's values, if the condition When
	// holds for the old row and the new; all of them or none. Where a server
	// assigns one after the other, When is asked before each: those that it reads
	// come last, in an order in which it goes on saying the same.
	Replace []string
	When    string
}

// Problem is what an error of a server means.
type Problem int

// The problems.
const (
	// Other is anything else: a mistake in a statement.
	Other Problem = iota
	// Again means that the server wants the transaction to be repeated.
	Again
	// Locked is Again for a lock that was not to be had in time.
	Locked
	// Down means that it cannot serve for now, or does not take writes.
	Down
	// Denied means that it does not let this user in.
	Denied
	// BadValue means that a column does not take a value.
	BadValue
	// Refused is the failure of Dialect.Refuse.
	Refused
)

// SnapshotOptions are what the driver is told of a Snapshot.
var SnapshotOptions = driver.TxOptions{Isolation: driver.IsolationLevel(sql.LevelRepeatableRead), ReadOnly: true}

// Counts takes the answer to a batch: how many rows each statement changed. As
// a driver.Result it is that of the last one.
type Counts struct{ Rows []int64 }

// LastInsertId implements driver.Result: ids are never asked for.
func (c Counts) LastInsertId() (int64, error) { return 0, driver.ErrSkip }

// RowsAffected implements driver.Result.
func (c Counts) RowsAffected() (int64, error) {
	if len(c.Rows) == 0 {
		return 0, nil
	}
	return c.Rows[len(c.Rows)-1], nil
}

// finalKey marks the context of a transaction's last statement.
type finalKey struct{}

// Final says that what is executed with the returned context is the last
// statement, or batch, of its transaction: it is committed in the same trip, so
// that a machine which vanishes after it leaves no locks. If it fails, or is
// too long for that, the transaction is still open.
func Final(ctx context.Context) context.Context { return context.WithValue(ctx, finalKey{}, true) }

// IsFinal reports whether a context is one of Final.
func IsFinal(ctx context.Context) bool { return ctx.Value(finalKey{}) != nil }
