package mysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/go-sql-driver/mysql"

	"sluice/internal/backend/relational"
)

// driverConn is what the driver's connections can do.
type driverConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
	driver.NamedValueChecker
}

// connection spares trips to the server: a transaction begins together with
// its first statement and is committed together with its last, if that is
// known to be the last; and the counts of all statements of a batch are told.
type connection struct {
	driverConn
	idle idle
	// before precedes the first statement of a transaction that the server does
	// not know of yet, as so many statements.
	before     string
	statements int
	// committed is set when the last statement has ended the transaction.
	committed bool
	// broken is set when nobody knows whether a transaction has ended: the
	// pool must not hand the connection out again.
	broken bool
}

// BeginTx implements driver.ConnBeginTx.
func (c *connection) BeginTx(_ context.Context, options driver.TxOptions) (driver.Tx, error) {
	if !c.IsValid() {
		return nil, driver.ErrBadConn
	}
	c.before, c.statements, c.committed = "", 0, false
	add := func(statement string) {
		if statement != "" {
			c.before += statement + "; "
			c.statements++
		}
	}
	switch options {
	case driver.TxOptions{}:
		add(c.idle.write)
	case relational.SnapshotOptions:
		add(c.idle.snapshot)
		add("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
	default:
		return nil, fmt.Errorf("a transaction with options %+v is not offered", options)
	}
	after := ""
	if c.before != "" && c.idle.after != "" {
		after = "; " + c.idle.after
	}
	add("START TRANSACTION")
	return transaction{c, after}, nil
}

// sent learns from the answer to a statement whether the transaction has
// begun. The server ran what preceded a statement that it refuses; anything
// else was not sent, or has cost the connection.
func (c *connection) sent(err error) {
	var answer *mysql.MySQLError
	if err == nil || errors.As(err, &answer) {
		c.before, c.statements = "", 0
	}
}

// errAfterFinal is the answer to a statement that follows the last one.
var errAfterFinal = errors.New("the transaction was committed with the statement that was called its last")

// ExecContext implements driver.ExecerContext.
func (c *connection) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if c.committed {
		return nil, errAfterFinal
	}
	var into *relational.Counts
	if len(args) > 0 {
		if all, ok := args[len(args)-1].Value.(*relational.Counts); ok {
			into, args = all, args[:len(args)-1]
		}
	}
	lead, tail := c.statements, 0
	query = c.before + query
	if relational.IsFinal(ctx) {
		query, tail = query+"; COMMIT", 1
		if c.idle.write != "" {
			query, tail = query+"; "+c.idle.after, 2
		}
	}
	result, err := c.driverConn.ExecContext(ctx, query, args)
	c.sent(err)
	if err != nil {
		return nil, err
	}
	c.committed = tail > 0
	all, ok := result.(mysql.Result)
	if !ok {
		return nil, fmt.Errorf("the driver does not tell the counts of several statements")
	}
	rows := all.AllRowsAffected()
	told := relational.Counts{Rows: rows[lead : len(rows)-tail]}
	if into != nil {
		*into = told
	}
	return told, nil
}

// QueryContext implements driver.QueryerContext.
func (c *connection) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if c.committed {
		return nil, errAfterFinal
	}
	rows, err := c.driverConn.QueryContext(ctx, c.before+query, args)
	c.sent(err)
	return rows, err
}

// PrepareContext implements driver.ConnPrepareContext: what is too long for one
// packet is sent this way.
func (c *connection) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	if c.committed {
		return nil, errAfterFinal
	}
	if c.before != "" {
		// An empty statement is refused, and DO 0 is as good as none.
		_, err := c.driverConn.ExecContext(ctx, c.before+"DO 0", nil)
		if err != nil {
			return nil, err
		}
		c.sent(nil)
	}
	return c.driverConn.PrepareContext(ctx, query)
}

// CheckNamedValue implements driver.NamedValueChecker.
func (c *connection) CheckNamedValue(value *driver.NamedValue) error {
	if _, ok := value.Value.(*relational.Counts); ok {
		return nil
	}
	return c.driverConn.CheckNamedValue(value)
}

// IsValid implements driver.Validator.
func (c *connection) IsValid() bool { return !c.broken && c.driverConn.IsValid() }

// end ends the transaction, if the server knows of it and it has not ended.
func (c *connection) end(how string) error {
	over := c.before != "" || c.committed
	c.before, c.statements, c.committed = "", 0, false
	if over {
		return nil
	}
	_, err := c.driverConn.ExecContext(context.Background(), how, nil)
	c.broken = c.broken || err != nil
	return err
}

// transaction is one that may not have begun yet.
type transaction struct {
	conn *connection
	// after follows its end, and begins with a semicolon.
	after string
}

// Commit implements driver.Tx.
func (t transaction) Commit() error { return t.conn.end("COMMIT" + t.after) }

// Rollback implements driver.Tx.
func (t transaction) Rollback() error { return t.conn.end("ROLLBACK" + t.after) }
