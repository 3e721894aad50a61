package export

import (
	"bufio"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// csvWriter writes RFC 4180. The standard library's writer cannot be used: it
// ends lines as the RFC demands only at the price of changing line ends inside
// of values.
type csvWriter[T any] struct {
	out     *bufio.Writer
	columns []csvColumn
	// line is one row, kept for its memory.
	line []byte
}

// csvColumn appends a field of a row, unquoted if it needs no quotes.
type csvColumn func(line []byte, field reflect.Value) []byte

func newCSVWriter[T any](w io.Writer) (*csvWriter[T], error) {
	c := &csvWriter[T]{out: bufio.NewWriterSize(w, pieceSize)}
	row := reflect.TypeFor[T]()
	for i := range row.NumField() {
		field := row.Field(i)
		column, err := csvColumnOf(field.Type)
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", field.Name, err)
		}
		c.columns = append(c.columns, column)
		if i > 0 {
			c.line = append(c.line, ',')
		}
		c.line = append(c.line, field.Tag.Get("json")...)
	}
	return c, c.endLine()
}

// Write implements Writer.
func (c *csvWriter[T]) Write(row *T) error {
	fields := reflect.ValueOf(row).Elem()
	for i, column := range c.columns {
		if i > 0 {
			c.line = append(c.line, ',')
		}
		c.line = column(c.line, fields.Field(i))
	}
	return c.endLine()
}

func (c *csvWriter[T]) endLine() error {
	c.line = append(c.line, "\r\n"...)
	_, err := c.out.Write(c.line)
	c.line = c.line[:0]
	return err
}

// Close implements Writer.
func (c *csvWriter[T]) Close() error { return c.out.Flush() }

func csvColumnOf(t reflect.Type) (csvColumn, error) {
	if t.Kind() == reflect.Pointer {
		column, err := csvColumnOf(t.Elem())
		return func(line []byte, v reflect.Value) []byte {
			if v.IsNil() {
				return line
			}
			return column(line, v.Elem())
		}, err
	}
	if t == reflect.TypeFor[time.Time]() {
		return appendTime, nil
	}
	switch t.Kind() {
	case reflect.String:
		return func(line []byte, v reflect.Value) []byte { return appendQuoted(line, v.String()) }, nil
	case reflect.Int64:
		return func(line []byte, v reflect.Value) []byte { return strconv.AppendInt(line, v.Int(), 10) }, nil
	case reflect.Float64:
		return func(line []byte, v reflect.Value) []byte { return strconv.AppendFloat(line, v.Float(), 'f', -1, 64) }, nil
	case reflect.Bool:
		return func(line []byte, v reflect.Value) []byte { return strconv.AppendBool(line, v.Bool()) }, nil
	}
	return nil, fmt.Errorf("a %s cannot be written as CSV", t)
}

func appendTime(line []byte, v reflect.Value) []byte {
	t, ok := reflect.TypeAssert[time.Time](v)
	if !ok {
		return line
	}
	return appendInstant(line, t)
}

func appendInstant(line []byte, t time.Time) []byte {
	return t.UTC().AppendFormat(line, time.RFC3339Nano)
}

// appendQuoted quotes a text if it has to be. One that begins or ends with a
// space is quoted as well, since some readers trim what is not.
func appendQuoted(line []byte, s string) []byte {
	if !strings.ContainsAny(s, "\",\r\n") && strings.TrimSpace(s) == s {
		return append(line, s...)
	}
	line = append(line, '"')
	for {
		before, after, found := strings.Cut(s, `"`)
		line = append(line, before...)
		if !found {
			return append(line, '"')
		}
		line = append(line, `""`...)
		s = after
	}
}
