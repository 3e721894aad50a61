package relational

import (
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"sluice/internal/domain"
	"sluice/internal/query"
)

// Queries answers what people ask in SQL, as a user of the server who may read the
// views and nothing else: the server itself knows what that is, also inside of
// functions and views, which no look at a statement does. A user who may do more
// is refused. Every statement has a connection of its own, which ends with it, and
// a transaction that only reads.
type Queries struct {
	pool    *sql.DB
	dialect *QueryDialect
}

var _ query.Store = (*Queries)(nil)

// QueryDialect is what servers do differently for them.
type QueryDialect struct {
	// Limit are ways to have statements end after a time, one of which the server
	// must know; Begin begins a transaction that only reads, in UTC.
	Limit func(limit time.Duration) []string
	Begin []string
	// Powers counts what the user may do beyond reading views.
	Powers string
	// Tables lists the views that the user may read, with their columns in order.
	Tables string
	// Ask turns a statement into those whose last one answers, with so many rows at
	// least. Only what reads can be put there.
	Ask func(statement string, rows int) (before []string, answers string)
	// Explain says what a server's error means, where in the statement it is (in
	// bytes, or -1), and whether the statement is to blame.
	Explain func(err error, statement string) (text string, offset int, invalid bool)
}

// NewQueries answers by a pool of connections of such a user.
func NewQueries(pool *sql.DB, dialect *QueryDialect) *Queries {
	pool.SetMaxIdleConns(-1)
	pool.SetMaxOpenConns(query.Together)
	return &Queries{pool, dialect}
}

// Close ends its connections.
func (s *Queries) Close() error { return s.pool.Close() }

// Query implements query.Store.
func (s *Queries) Query(ctx context.Context, q query.Query) (answer query.Answer, err error) {
	// Whoever has enough rows wants no others to be sent.
	ctx, enough := context.WithCancel(ctx)
	defer enough()
	conn, err := s.pool.Conn(ctx)
	if err != nil {
		return answer, domain.Errorf(domain.CodeUnavailable, "the server does not let the user in who answers SQL (--sql-reader): %w", err)
	}
	defer func() { _ = conn.Close() }() // it is not used again
	tables, err := s.begin(ctx, conn)
	if err != nil {
		return answer, err
	}
	before, ask := s.dialect.Ask(q.SQL, q.Limit+1)
	for _, statement := range before {
		if err := alone(ctx, conn, statement); err != nil {
			return answer, s.explain(err, q.SQL, tables)
		}
	}
	rows, err := conn.QueryContext(ctx, ask)
	if err != nil {
		return answer, s.explain(err, q.SQL, tables)
	}
	defer func() { enough(); _ = rows.Close() }()
	if answer, err = read(rows, q.Limit); err != nil {
		return answer, s.explain(err, q.SQL, tables)
	}
	return answer, nil
}

// alone runs one statement without an answer. As a query it is one for the server
// too: what is executed without arguments some drivers send as a script, which may
// have several.
func alone(ctx context.Context, conn *sql.Conn, statement string) error {
	rows, err := conn.QueryContext(ctx, statement)
	if err != nil {
		return err
	}
	for rows.Next() {
		continue // there are none, and the end tells what went wrong
	}
	return errors.Join(rows.Err(), rows.Close())
}

// begin makes a connection one that can only read views, or says why it is not.
func (s *Queries) begin(ctx context.Context, conn *sql.Conn) (tables []query.Table, err error) {
	known := false
	for _, statement := range s.dialect.Limit(query.Patience) {
		_, failed := conn.ExecContext(ctx, statement)
		known, err = known || failed == nil, failed
	}
	if !known {
		return nil, domain.Errorf(domain.CodeUnavailable, "the server limits no statement's time: %w", err)
	}
	for _, statement := range s.dialect.Begin {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			return nil, domain.Errorf(domain.CodeUnavailable, "a transaction that only reads cannot begin: %w", err)
		}
	}
	powers := 0
	if err := conn.QueryRowContext(ctx, s.dialect.Powers).Scan(&powers); err != nil {
		return nil, domain.Errorf(domain.CodeUnavailable, "it cannot be seen what the user who answers SQL may do: %w", err)
	}
	if powers > 0 {
		return nil, domain.Errorf(domain.CodeUnavailable,
			"the user who answers SQL (--sql-reader) may do more than read the views, such as reading tables or files: give one who may not (docs/sql.md)")
	}
	rows, err := conn.QueryContext(ctx, s.dialect.Tables)
	if err != nil {
		return nil, domain.Errorf(domain.CodeUnavailable, "the views cannot be listed: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var table, column string
		if err := rows.Scan(&table, &column); err != nil {
			return nil, err
		}
		if n := len(tables); n == 0 || tables[n-1].Name != table {
			tables = append(tables, query.Table{Name: table})
		}
		last := &tables[len(tables)-1]
		last.Columns = append(last.Columns, column)
	}
	return tables, rows.Err()
}

func (s *Queries) explain(err error, statement string, tables []query.Table) error {
	text, offset, invalid := s.dialect.Explain(err, statement)
	if !invalid {
		return domain.Errorf(domain.CodeUnavailable, "the statement was not answered: %w", err)
	}
	hint := ""
	lower := strings.ToLower(text)
	switch {
	case strings.Contains(lower, "column"):
		if columns := query.ColumnNames(tables, statement); columns != "" {
			hint = "; " + columns
		}
	case strings.Contains(lower, "table"), strings.Contains(lower, "relation"), strings.Contains(lower, "denied"), strings.Contains(lower, "view"):
		hint = "; the tables are " + query.TableNames(tables)
	}
	return query.At(statement, offset, "%s%s", text, hint)
}

// read takes rows until there are enough.
func read(rows *sql.Rows, limit int) (a query.Answer, err error) {
	types, err := rows.ColumnTypes()
	if err != nil {
		return a, err
	}
	values, into := make([]any, len(types)), make([]any, len(types))
	for i, t := range types {
		a.Columns = append(a.Columns, t.Name())
		into[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return a, err
		}
		row := make([]json.RawMessage, len(values))
		for i := range values {
			row[i] = jsonValue(values[i], types[i].DatabaseTypeName())
		}
		if !a.Add(limit, row) {
			return a, nil
		}
	}
	return a, rows.Err()
}

// numberTypes are those whose values a driver may hand over as texts.
var numberTypes = []string{"TINYINT", "SMALLINT", "MEDIUMINT", "INT", "BIGINT", "UNSIGNED BIGINT", "UNSIGNED INT", "DECIMAL", "NUMERIC", "FLOAT", "DOUBLE"}

func jsonValue(v any, typ string) json.RawMessage {
	switch value := v.(type) {
	case []byte:
		switch {
		case slices.Contains(numberTypes, typ) && json.Valid(value):
			return json.RawMessage(slices.Clone(value))
		case utf8.Valid(value):
			v = string(value)
		default:
			v = hex.EncodeToString(value)
		}
	case string:
		if slices.Contains(numberTypes, typ) && json.Valid([]byte(value)) {
			return json.RawMessage(value)
		}
	case time.Time:
		v = value.UTC().Format(time.RFC3339Nano)
	}
	text, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("null")
	}
	return text
}
