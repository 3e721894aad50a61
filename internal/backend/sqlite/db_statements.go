package sqlite

import (
	"sync"

	driver "zombiezen.com/go/sqlite"
)

// statements are those that Exec has prepared on each connection that lasts.
//
// A connection keeps them itself, but takes away what was bound before it hands one
// out again. To SQLite that is a change of every parameter that its plan may depend
// on, which are nearly all of them: it plans such a statement anew whenever it is
// run, and that takes ten times as long as running it.
var statements sync.Map // of *driver.Conn: map[string]keptStatement

type keptStatement struct {
	*driver.Stmt
	parameters int
}

// keepStatements lets Exec keep what it prepares on a connection, which is used by
// one goroutine at a time, until forgetStatements, when it is closed.
func keepStatements(conn *driver.Conn) { statements.Store(conn, map[string]keptStatement{}) }

func forgetStatements(conn *driver.Conn) { statements.Delete(conn) }

// prepare returns a statement for somebody who binds so many parameters. Others of
// it are null.
func prepare(conn *driver.Conn, query string, bound int) (*driver.Stmt, error) {
	found, lasts := statements.Load(conn)
	if !lasts {
		return conn.Prepare(query)
	}
	kept := found.(map[string]keptStatement)
	if s, ok := kept[query]; ok && s.parameters == bound {
		return s.Stmt, s.Reset()
	}
	stmt, err := conn.Prepare(query)
	if err == nil {
		kept[query] = keptStatement{stmt, stmt.BindParamCount()}
	}
	return stmt, err
}
