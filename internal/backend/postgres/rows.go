package postgres

import (
	"database/sql/driver"
	"encoding/hex"
	"fmt"
	"io"
	"strconv"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// rows is the answer to a query. Values come as texts and leave as what their
// columns are: numbers, bytes, or the texts themselves. Texts and bytes hold
// until the next row is read.
type rows struct {
	conn  *connection
	all   *pgconn.MultiResultReader
	one   *pgconn.ResultReader
	names []string
	types []uint32
	// bytes is what the decoded bytes of a row lie in.
	bytes []byte
	ended bool
	err   error
}

func newRows(c *connection, all *pgconn.MultiResultReader) *rows {
	r := &rows{conn: c, all: all, one: all.ResultReader()}
	fields := r.one.FieldDescriptions()
	r.names, r.types = make([]string, len(fields)), make([]uint32, len(fields))
	for i := range fields {
		r.names[i], r.types[i] = fields[i].Name, fields[i].DataTypeOID
	}
	return r
}

// Columns implements driver.Rows.
func (r *rows) Columns() []string { return r.names }

// Close implements driver.Rows. What is left is read, so that the connection
// can be used again.
func (r *rows) Close() error {
	if !r.ended {
		r.ended = true
		_, err := r.one.Close()
		if ended := r.all.Close(); err == nil {
			err = ended
		}
		r.err = r.conn.answered(err)
	}
	return r.err
}

// Next implements driver.Rows.
func (r *rows) Next(into []driver.Value) error {
	if r.ended || !r.one.NextRow() {
		if err := r.Close(); err != nil {
			return err
		}
		return io.EOF
	}
	r.bytes = r.bytes[:0]
	values := r.one.Values()
	if len(values) != len(r.types) {
		return fmt.Errorf("PostgreSQL sent %d values for %d columns", len(values), len(r.types))
	}
	for i, value := range values {
		decoded, err := r.decode(r.types[i], value)
		if err != nil {
			return fmt.Errorf("column %s: %w", r.names[i], err)
		}
		into[i] = decoded
	}
	return nil
}

func (r *rows) decode(of uint32, value []byte) (driver.Value, error) {
	if value == nil {
		return nil, nil
	}
	switch of {
	case pgtype.Int8OID, pgtype.Int4OID, pgtype.Int2OID, pgtype.OIDOID:
		return strconv.ParseInt(string(value), 10, 64)
	case pgtype.BoolOID:
		return len(value) == 1 && value[0] == 't', nil
	case pgtype.Float8OID, pgtype.Float4OID:
		return strconv.ParseFloat(string(value), 64)
	case pgtype.ByteaOID:
		if len(value) < 2 || value[0] != '\\' || value[1] != 'x' {
			return nil, fmt.Errorf("bytes are not told in hexadecimal digits")
		}
		start := len(r.bytes)
		var err error
		if r.bytes, err = hex.AppendDecode(r.bytes, value[2:]); err != nil {
			return nil, err
		}
		return r.bytes[start:len(r.bytes):len(r.bytes)], nil
	}
	return value, nil
}
