package mysqldb

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/go-sql-driver/mysql"
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
// its first statement, and the counts of all statements of a batch are told.
type connection struct {
	driverConn
	// unbegun is set while the server does not know of the transaction yet.
	unbegun bool
	// broken is set when nobody knows whether a transaction has ended: the
	// pool must not hand the connection out again.
	broken bool
}

const begin = "START TRANSACTION"

// BeginTx implements driver.ConnBeginTx.
func (c *connection) BeginTx(ctx context.Context, options driver.TxOptions) (driver.Tx, error) {
	if options != (driver.TxOptions{}) {
		return c.driverConn.BeginTx(ctx, options)
	}
	if !c.IsValid() {
		return nil, driver.ErrBadConn
	}
	c.unbegun = true
	return transaction{c}, nil
}

// first returns what has to precede the next statement.
func (c *connection) first() string {
	if c.unbegun {
		return begin + "; "
	}
	return ""
}

// sent learns from the answer to a statement whether the transaction has
// begun. The server ran what preceded a statement that it refuses; anything
// else was not sent, or has cost the connection.
func (c *connection) sent(err error) {
	var answer *mysql.MySQLError
	if err == nil || errors.As(err, &answer) {
		c.unbegun = false
	}
}

// ExecContext implements driver.ExecerContext.
func (c *connection) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	var into *counts
	if len(args) == 1 {
		if all, ok := args[0].Value.(*counts); ok {
			into, args = all, nil
		}
	}
	before := 0
	if c.unbegun {
		before = 1
	}
	result, err := c.driverConn.ExecContext(ctx, c.first()+query, args)
	c.sent(err)
	if err != nil || into == nil {
		return result, err
	}
	all, ok := result.(mysql.Result)
	if !ok {
		return nil, fmt.Errorf("the driver does not tell the counts of several statements")
	}
	into.rows, into.ids = all.AllRowsAffected()[before:], all.AllLastInsertIds()[before:]
	return result, nil
}

// QueryContext implements driver.QueryerContext.
func (c *connection) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	rows, err := c.driverConn.QueryContext(ctx, c.first()+query, args)
	c.sent(err)
	return rows, err
}

// PrepareContext implements driver.ConnPrepareContext: what is too long for one
// packet is sent this way.
func (c *connection) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	if c.unbegun {
		_, err := c.driverConn.ExecContext(ctx, begin, nil)
		if err != nil {
			return nil, err
		}
		c.unbegun = false
	}
	return c.driverConn.PrepareContext(ctx, query)
}

// CheckNamedValue implements driver.NamedValueChecker.
func (c *connection) CheckNamedValue(value *driver.NamedValue) error {
	if _, ok := value.Value.(*counts); ok {
		return nil
	}
	return c.driverConn.CheckNamedValue(value)
}

// IsValid implements driver.Validator.
func (c *connection) IsValid() bool { return !c.broken && c.driverConn.IsValid() }

// end ends the transaction, if the server knows of it.
func (c *connection) end(how string) error {
	if c.unbegun {
		c.unbegun = false
		return nil
	}
	_, err := c.driverConn.ExecContext(context.Background(), how, nil)
	c.broken = c.broken || err != nil
	return err
}

// transaction is one that may not have begun yet.
type transaction struct{ conn *connection }

// Commit implements driver.Tx.
func (t transaction) Commit() error { return t.conn.end("COMMIT") }

// Rollback implements driver.Tx.
func (t transaction) Rollback() error { return t.conn.end("ROLLBACK") }
