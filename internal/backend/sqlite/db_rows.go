package sqlite

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	driver "zombiezen.com/go/sqlite"
)

// toMicros is how instants are stored: microseconds since 1970, 0 for none.
func toMicros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// fromMicros is the inverse of toMicros.
func fromMicros(micros int64) time.Time {
	if micros == 0 {
		return time.Time{}
	}
	return time.UnixMicro(micros).UTC()
}

// chunkSizes are the row counts for which an INSERT is prepared: few enough to
// stay in the statement cache, large enough to save most round trips.
var chunkSizes = [...]int{64, 16, 4, 1}

// Insert is an INSERT of any number of rows.
type Insert struct {
	columns int
	sql     [len(chunkSizes)]string
}

// NewInsert makes an INSERT: head is everything up to VALUES, tail what follows
// the rows.
func NewInsert(head, tail string, columns int) *Insert {
	in := &Insert{columns: columns}
	row := "(" + strings.TrimSuffix(strings.Repeat("?,", columns), ",") + ")"
	for i, size := range chunkSizes {
		in.sql[i] = head + " VALUES " + strings.TrimSuffix(strings.Repeat(row+",", size), ",") + " " + tail
	}
	return in
}

// Run inserts rows in as few statements as the prepared sizes allow. bind binds
// row i starting at the parameter base. done, if set, is told after each
// statement which rows it was about, from and up to but without to, and how
// many of them it changed.
func (in *Insert) Run(conn *driver.Conn, rows int, bind func(s *driver.Stmt, base, i int), done func(from, to, changed int) error) error {
	next := 0
	for i, size := range chunkSizes {
		for rows-next >= size {
			stmt, err := conn.Prepare(in.sql[i])
			if err != nil {
				return fmt.Errorf("prepare insert: %w", err)
			}
			for k := range size {
				bind(stmt, 1+k*in.columns, next+k)
			}
			if err := drain(stmt, nil); err != nil {
				return err
			}
			if done != nil {
				if err := done(next, next+size, conn.Changes()); err != nil {
					return err
				}
			}
			next += size
		}
	}
	return nil
}

func drain(stmt *driver.Stmt, each func(*driver.Stmt)) error {
	for {
		more, err := stmt.Step()
		if err != nil {
			_ = stmt.Reset() // repeats the error of Step
			return err
		}
		if !more {
			return stmt.Reset()
		}
		if each != nil {
			each(stmt)
		}
	}
}

// Exec runs a cached statement with the given parameters, calling each for
// every row it returns.
func Exec(conn *driver.Conn, query string, each func(*driver.Stmt), args ...any) error {
	stmt, err := prepare(conn, query, len(args))
	if err != nil {
		return fmt.Errorf("prepare %q: %w", query, err)
	}
	for i, arg := range args {
		switch v := arg.(type) {
		case int:
			stmt.BindInt64(i+1, int64(v))
		case int64:
			stmt.BindInt64(i+1, v)
		case string:
			stmt.BindText(i+1, v)
		case []byte:
			bindBlob(stmt, i+1, v)
		case bool:
			stmt.BindBool(i+1, v)
		case time.Time:
			stmt.BindInt64(i+1, toMicros(v))
		default:
			return fmt.Errorf("parameter %d of %q has the unsupported type %T", i+1, query, arg)
		}
	}
	return drain(stmt, each)
}

// bindBlob binds bytes; no bytes are an empty blob, not NULL.
func bindBlob(stmt *driver.Stmt, i int, b []byte) {
	if len(b) == 0 {
		stmt.BindZeroBlob(i, 0)
		return
	}
	stmt.BindBytes(i, b)
}

// readBlob copies a blob column.
func readBlob(stmt *driver.Stmt, column int) []byte {
	b := make([]byte, stmt.ColumnLen(column))
	stmt.ColumnBytes(column, b)
	return b
}

// idList renders ids as the JSON array that json_each takes, so that one
// prepared statement serves any number of them.
func idList(ids []int64) string {
	b := make([]byte, 0, 2+len(ids)*8)
	b = append(b, '[')
	for i, id := range ids {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, id, 10)
	}
	return string(append(b, ']'))
}
