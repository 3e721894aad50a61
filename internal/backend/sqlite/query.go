package sqlite

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	driver "zombiezen.com/go/sqlite"

	"sluice/internal/document/views"
	"sluice/internal/domain"
	"sluice/internal/query"
)

// Queries answers what people ask in SQL, each on a connection of its own that can
// only read. It needs no lock of the folder and makes no file in it.
//
// Who may read what is decided when SQLite compiles a statement, by its authorizer:
// columns of the documented views, and functions of a list. A view may read tables
// that a statement may not. SQLite says which view a table is read for, but it also
// says so of a common table expression with the same name: so what is allowed to
// read tables has a name of its own on every connection, which nobody can know.
type Queries struct{ dir string }

var _ query.Store = (*Queries)(nil)

// NewQueries answers what is asked of the database in a folder.
func NewQueries(dir string) *Queries { return &Queries{dir} }

// operational are views that are not made from declarations.
var operational = []string{"v_run", "v_job", "v_harvest", "v_dead_letter"}

// Query implements query.Store.
func (s *Queries) Query(ctx context.Context, q query.Query) (answer query.Answer, err error) {
	db, err := OpenToRead(ctx, s.dir)
	if err != nil {
		return answer, err
	}
	err = db.Read(ctx, func(conn *driver.Conn) error {
		allowed, err := confine(conn)
		if err != nil {
			return err
		}
		answer, err = allowed.answer(conn, q)
		// Who ends the snapshot needs more than a statement may do.
		return errors.Join(err, conn.SetAuthorizer(nil))
	})
	return answer, errors.Join(err, db.Close())
}

// confined is what a statement of a connection may read.
type confined struct {
	tables []query.Table
	// inner are views of names that nobody knows, which may read tables.
	inner map[string]bool
	// closed are all names of which not even the number of rows may be read: tables
	// that no view shows, and what SQLite itself makes up.
	closed map[string]bool
	// refused is what was refused last.
	refused string
}

// confine leaves a connection nothing but the documented views and functions.
func confine(conn *driver.Conn) (*confined, error) {
	secret := make([]byte, 16)
	if _, err := rand.Read(secret); err != nil {
		return nil, err
	}
	c := &confined{inner: map[string]bool{}, closed: map[string]bool{}}
	texts := map[string]string{}
	err := Exec(conn, "SELECT name, sql FROM sqlite_schema WHERE type = 'view' ORDER BY name", func(r *driver.Stmt) {
		name, text := r.ColumnText(0), r.ColumnText(1)
		if strings.Contains(text, views.Mark) || slices.Contains(operational, name) {
			_, texts[name], _ = strings.Cut(text, " AS")
			c.tables = append(c.tables, query.Table{Name: name})
		}
	})
	if err != nil {
		return nil, err
	}
	quote := views.SQLite().Quote
	for i := range c.tables {
		t := &c.tables[i]
		inner := t.Name + "_" + hex.EncodeToString(secret)
		c.inner[inner] = true
		for _, statement := range []string{
			"CREATE TEMP VIEW " + quote(inner) + " AS" + texts[t.Name],
			"CREATE TEMP VIEW " + quote(t.Name) + " AS SELECT * FROM " + quote(inner),
		} {
			if err := Exec(conn, statement, nil); err != nil {
				return nil, err
			}
		}
		err := Exec(conn, "SELECT name FROM pragma_table_info(?, 'temp')", func(r *driver.Stmt) { t.Columns = append(t.Columns, r.ColumnText(0)) }, t.Name)
		if err != nil {
			return nil, err
		}
	}
	if err := c.close(conn); err != nil {
		return nil, err
	}
	conn.Limit(driver.LimitLength, query.MaxValue)
	conn.Limit(driver.LimitSQLLength, 4*query.MaxText)
	conn.Limit(driver.LimitExprDepth, 200)
	conn.Limit(driver.LimitCompoundSelect, 100)
	conn.Limit(driver.LimitLikePatternLength, 200)
	conn.Limit(driver.LimitAttached, 0)
	conn.Limit(driver.LimitWorkerThreads, 0)
	return c, conn.SetAuthorizer(driver.AuthorizeFunc(c.authorize))
}

// close learns which names are closed: all but those of tables that the views read.
func (c *confined) close(conn *driver.Conn) error {
	err := Exec(conn, "SELECT name FROM sqlite_schema UNION SELECT name FROM pragma_module_list", func(r *driver.Stmt) {
		c.closed[strings.ToLower(r.ColumnText(0))] = true
	})
	if err != nil {
		return err
	}
	for _, name := range []string{"sqlite_schema", "sqlite_master", "sqlite_temp_schema", "sqlite_temp_master"} {
		c.closed[name] = true
	}
	err = conn.SetAuthorizer(driver.AuthorizeFunc(func(action driver.Action) driver.AuthResult {
		if action.Type() == driver.OpRead && c.inner[action.Accessor()] {
			delete(c.closed, strings.ToLower(action.Table()))
		}
		return driver.AuthResultOK
	}))
	if err != nil {
		return err
	}
	for name := range c.inner {
		stmt, _, err := conn.PrepareTransient("SELECT * FROM " + views.SQLite().Quote(name))
		if err != nil {
			return err
		}
		if err := stmt.Finalize(); err != nil {
			return err
		}
	}
	return nil
}

// authorize is asked by SQLite while it compiles a statement.
func (c *confined) authorize(action driver.Action) driver.AuthResult {
	switch action.Type() {
	case driver.OpSelect, driver.OpRecursive:
		return driver.AuthResultOK
	case driver.OpFunction:
		name := functionOf(action)
		if query.MayCall(name) || c.inner[action.Accessor()] {
			return driver.AuthResultOK
		}
		c.refused = "the function " + name + " cannot be called"
	case driver.OpRead:
		table := action.Table()
		// Of what is joined and not looked at SQLite does not say for whom: that its rows
		// are there is told, if a view tells it anyway.
		if action.Column() == "" && !c.closed[strings.ToLower(table)] {
			return driver.AuthResultOK
		}
		if c.inner[action.Accessor()] || c.inner[table] || query.MayRead(table) || action.Database() == "temp" && c.has(table) {
			return driver.AuthResultOK
		}
		c.refused = table + " cannot be read; the tables are " + query.TableNames(c.tables)
	default:
		c.refused = "a statement can only read (SELECT …)"
	}
	return driver.AuthResultDeny
}

func (c *confined) has(table string) bool {
	return slices.ContainsFunc(c.tables, func(t query.Table) bool { return t.Name == table })
}

// functionOf is the function that an action calls, which the driver has and does
// not show. Without it nothing could be called.
func functionOf(action driver.Action) string {
	if field := reflect.ValueOf(action).FieldByName("arg2"); field.Kind() == reflect.String {
		return field.String()
	}
	return ""
}

// answer runs one statement.
func (c *confined) answer(conn *driver.Conn, q query.Query) (a query.Answer, err error) {
	stmt, rest, err := conn.PrepareTransient(q.SQL)
	if err != nil {
		return a, c.explain(err, q.SQL)
	}
	defer func() { err = errors.Join(err, stmt.Finalize()) }()
	if stmt.ColumnCount() == 0 {
		return a, domain.Errorf(domain.CodeInvalid, "there is no statement: nothing but comments")
	}
	if err := c.nothingElse(conn, q.SQL, len(q.SQL)-rest); err != nil {
		return a, err
	}
	if n := stmt.BindParamCount(); n > 0 {
		return a, domain.Errorf(domain.CodeInvalid, "the statement has %d parameters (such as ?); write the values themselves", n)
	}
	for i := range stmt.ColumnCount() {
		a.Columns = append(a.Columns, stmt.ColumnName(i))
	}
	for {
		more, err := stmt.Step()
		if err != nil {
			return a, c.explain(err, q.SQL)
		}
		if !more {
			return a, nil
		}
		row := make([]json.RawMessage, len(a.Columns))
		for i := range row {
			row[i] = jsonValue(stmt, i)
		}
		if !a.Add(q.Limit, row) {
			return a, nil
		}
	}
}

// nothingElse refuses a second statement: SQLite reads what follows the first, and
// finds nothing in comments.
func (c *confined) nothingElse(conn *driver.Conn, sql string, from int) error {
	for from < len(sql) {
		stmt, rest, err := conn.PrepareTransient(sql[from:])
		if err == nil && stmt.ColumnCount() == 0 {
			err = stmt.Finalize()
		} else if err == nil {
			err = errors.Join(errSecond, stmt.Finalize())
		}
		if err != nil {
			// Whether the second one would do makes no difference.
			return query.At(sql, from, "there is more than one statement; one at a time")
		}
		if rest == len(sql)-from {
			return nil
		}
		from = len(sql) - rest
	}
	return nil
}

var errSecond = errors.New("a second statement")

// jsonValue is a value of a row.
func jsonValue(stmt *driver.Stmt, i int) json.RawMessage {
	var v any
	switch stmt.ColumnType(i) {
	case driver.TypeInteger:
		v = stmt.ColumnInt64(i)
	case driver.TypeFloat:
		v = stmt.ColumnFloat(i)
		if f := stmt.ColumnFloat(i); math.IsInf(f, 0) || math.IsNaN(f) {
			v = fmt.Sprint(f)
		}
	case driver.TypeText:
		v = stmt.ColumnText(i)
	case driver.TypeBlob:
		v = hex.EncodeToString(readBlob(stmt, i))
	case driver.TypeNull:
	}
	text, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("null")
	}
	return text
}

// explain says what is wrong with a statement, and what there is instead.
func (c *confined) explain(err error, sql string) error {
	offset, known := driver.ErrorOffset(err)
	if !known {
		offset = -1
	}
	text := err.Error()
	switch code := driver.ErrCode(err).ToPrimary(); {
	case code == driver.ResultInterrupt:
		return domain.Errorf(domain.CodeUnavailable, "the statement was interrupted")
	case c.refused != "" && (code == driver.ResultAuth || strings.Contains(text, "prohibited") || strings.Contains(text, "not authorized")):
		return query.At(sql, offset, "%s", c.refused)
	case code == driver.ResultTooBig:
		return query.At(sql, offset, "a value has more than %d bytes", query.MaxValue)
	case code != driver.ResultError:
		return err
	}
	if _, after, found := strings.Cut(text, "SQL logic error: "); found {
		text = after
	}
	hint := ""
	switch {
	case strings.Contains(text, "no such table"):
		if _, name, found := strings.Cut(text, "no such table: "); found && offset < 0 {
			offset = strings.Index(sql, name)
		}
		hint = "; the tables are " + query.TableNames(c.tables)
	case strings.Contains(text, "no such column"):
		if columns := query.ColumnNames(c.tables, sql); columns != "" {
			hint = "; " + columns
		}
	}
	return query.At(sql, offset, "%s%s", text, hint)
}
