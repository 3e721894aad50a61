package postgres

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"sluice/internal/backend/relational"
)

// connection spares trips to the server: a transaction begins together with
// its first statement and is committed together with its last, if that is
// known to be the last; and the counts of all statements of a batch are told.
type connection struct {
	server  *pgconn.PgConn
	network *limited
	// open is set while database/sql has a transaction.
	open bool
	// before precedes the first statement of a transaction that the server does
	// not know of yet, as so many statements.
	before     string
	statements int
	// committed is set when the last statement has ended the transaction, and
	// failed when a statement has failed: PostgreSQL then takes nothing but its
	// end.
	committed, failed bool
	// broken is set when the pool must not hand the connection out again.
	broken bool
}

// What is wrong with a transaction, not with a statement.
var (
	errAfterFinal = errors.New("the transaction was committed with the statement that was called its last")
	errFailed     = errors.New("a statement of the transaction has failed before: it can only be rolled back")
	errUnprepared = errors.New("statements are not prepared on PostgreSQL")
	errSession    = errors.New("the session has changed how texts are written: its connection is given up")
)

// Prepare implements driver.Conn.
func (c *connection) Prepare(string) (driver.Stmt, error) { return nil, errUnprepared }

// Begin implements driver.Conn.
func (c *connection) Begin() (driver.Tx, error) {
	return c.BeginTx(context.Background(), driver.TxOptions{})
}

// Close implements driver.Conn. The server is told, and need not answer.
func (c *connection) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	return c.server.Close(ctx)
}

// BeginTx implements driver.ConnBeginTx.
func (c *connection) BeginTx(_ context.Context, options driver.TxOptions) (driver.Tx, error) {
	if !c.IsValid() {
		return nil, driver.ErrBadConn
	}
	switch options {
	case driver.TxOptions{}:
		c.before, c.statements = "BEGIN; ", 1
	case relational.SnapshotOptions:
		c.before, c.statements = beginSnapshot, 4
	default:
		return nil, fmt.Errorf("a transaction with options %+v is not offered", options)
	}
	c.open, c.committed, c.failed = true, false, false
	return transaction{c}, nil
}

// beginSnapshot begins a transaction that only reads. It may read whole tables.
var beginSnapshot = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY; " +
	"SET LOCAL idle_in_transaction_session_timeout = " + milliseconds(idleInSnapshot) + "; " +
	"SET LOCAL enable_seqscan = on; SET LOCAL enable_bitmapscan = on; "

// text is what is sent for a statement, or several.
func (c *connection) text(query string, args []driver.NamedValue, end string) (string, error) {
	switch {
	case c.committed:
		return "", errAfterFinal
	case c.failed:
		return "", errFailed
	case !isSafe(c.server):
		c.broken = true
		return "", errSession
	}
	var b strings.Builder
	b.WriteString(c.before)
	if err := interpolate(&b, query, args); err != nil {
		return "", err
	}
	b.WriteString(end)
	return b.String(), nil
}

// answered learns from the answer to a statement how the transaction stands,
// and returns the error that it is told as.
func (c *connection) answered(err error) error {
	c.network.rest()
	if c.open && (err == nil || c.server.TxStatus() != idleStatus) {
		c.before, c.statements = "", 0
	}
	if err == nil {
		return nil
	}
	c.failed = c.open
	// A server that does not write is no longer the primary: the connection is
	// given up, so that the next one goes to whoever is.
	c.broken = c.broken || isCode(err, codeReadOnly)
	return marked(err)
}

// ExecContext implements driver.ExecerContext.
func (c *connection) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	var into *relational.Counts
	if len(args) > 0 {
		if all, ok := args[len(args)-1].Value.(*relational.Counts); ok {
			into, args = all, args[:len(args)-1]
		}
	}
	final, end := c.open && relational.IsFinal(ctx), ""
	if final {
		end = "; COMMIT"
	}
	text, err := c.text(query, args, end)
	if err != nil {
		return nil, err
	}
	lead := c.statements
	tags, err := c.run(ctx, text)
	if err = c.answered(err); err != nil {
		return nil, c.untouched(ctx, err)
	}
	if final {
		last := len(tags) - 1
		if last < lead || tags[last].String() != "COMMIT" {
			c.broken, c.failed = true, true
			return nil, errors.New("PostgreSQL does not say that it has committed")
		}
		c.committed, tags = true, tags[:last]
	}
	if len(tags) < lead {
		return nil, fmt.Errorf("PostgreSQL has answered %d statements of %d", len(tags), lead)
	}
	var told relational.Counts
	for _, tag := range tags[lead:] {
		rows := int64(0)
		if !tag.Select() {
			rows = tag.RowsAffected()
		}
		told.Rows = append(told.Rows, rows)
	}
	if into != nil {
		*into = told
	}
	return told, nil
}

// run sends a text and reads all answers to it.
func (c *connection) run(ctx context.Context, text string) (tags []pgconn.CommandTag, err error) {
	answers := c.server.Exec(ctx, text)
	for answers.NextResult() {
		// An error of it is that of all.
		tag, _ := answers.ResultReader().Close()
		tags = append(tags, tag)
	}
	return tags, answers.Close()
}

// untouched lets the pool try another connection if nothing was sent on this
// one.
func (c *connection) untouched(ctx context.Context, err error) error {
	if !c.open && ctx.Err() == nil && pgconn.SafeToRetry(err) {
		return driver.ErrBadConn
	}
	return err
}

// QueryContext implements driver.QueryerContext.
func (c *connection) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	text, err := c.text(query, args, "")
	if err != nil {
		return nil, err
	}
	answers := c.server.Exec(ctx, text)
	for skipped := 0; answers.NextResult(); skipped++ {
		if skipped == c.statements {
			return newRows(c, answers), nil
		}
		_, _ = answers.ResultReader().Close()
	}
	err = c.answered(answers.Close())
	if err == nil {
		err = errors.New("a query has no answer")
	}
	return nil, c.untouched(ctx, err)
}

// CheckNamedValue implements driver.NamedValueChecker.
func (c *connection) CheckNamedValue(value *driver.NamedValue) error {
	if _, ok := value.Value.(*relational.Counts); ok {
		return nil
	}
	return driver.ErrSkip
}

// Ping implements driver.Pinger.
func (c *connection) Ping(ctx context.Context) error {
	return c.untouched(ctx, c.answered(c.server.Ping(ctx)))
}

// ResetSession implements driver.SessionResetter: it is called when a
// connection leaves the pool. One that the server has ended meanwhile is not
// used, so that nobody wonders what became of what was sent on it.
func (c *connection) ResetSession(context.Context) error {
	if !c.IsValid() || c.server.TxStatus() != idleStatus || !c.network.isAlive() {
		c.broken = true
		return driver.ErrBadConn
	}
	return nil
}

// IsValid implements driver.Validator.
func (c *connection) IsValid() bool { return !c.broken && !c.server.IsClosed() && !c.server.IsBusy() }

// idleStatus is that of a connection without a transaction.
const idleStatus = 'I'

// end ends the transaction, if the server knows of it and it has not ended.
func (c *connection) end(commit bool) error {
	unknown, committed, failed := c.before != "", c.committed, c.failed
	c.open, c.before, c.statements, c.committed, c.failed = false, "", 0, false, false
	switch {
	case committed:
		return nil
	case failed && commit:
		// PostgreSQL would roll back, and not call that an error.
		return errors.Join(errFailed, c.finish("ROLLBACK"))
	case commit && !unknown:
		return c.finish("COMMIT")
	case !unknown:
		return c.finish("ROLLBACK")
	}
	return nil
}

func (c *connection) finish(how string) error {
	if c.server.TxStatus() == idleStatus && !c.server.IsClosed() {
		return nil // what failed was refused as a whole: it never began
	}
	tags, err := c.run(context.Background(), how)
	c.network.rest()
	if err == nil && (len(tags) != 1 || tags[0].String() != how) {
		err = fmt.Errorf("PostgreSQL does not say that it has done a %s", how)
	}
	c.broken = c.broken || err != nil
	return marked(err)
}

// transaction is one that may not have begun yet.
type transaction struct{ conn *connection }

// Commit implements driver.Tx.
func (t transaction) Commit() error { return t.conn.end(true) }

// Rollback implements driver.Tx.
func (t transaction) Rollback() error { return t.conn.end(false) }
