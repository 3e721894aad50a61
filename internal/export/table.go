package export

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"

	"sluice/internal/document"
)

// table writes rows of declared columns in one format.
type table interface {
	// write adds a row, which the caller may use again.
	write(row []document.Value) error
	// Close completes the output, which is not whole without it. It leaves the
	// underlying writer open.
	Close() error
}

func newTable(w io.Writer, kind *document.Declaration, f Format) (table, error) {
	switch f {
	case FormatJSONL:
		return newJSONTable(w, kind.Columns), nil
	case FormatCSV:
		return newCSVTable(w, kind.Columns)
	case FormatParquet:
		return newParquetTable(w, kind), nil
	}
	_, err := ParseFormat(string(f))
	return nil, err
}

// lines is a table of text: a line for each row.
type lines struct {
	out     *bufio.Writer
	columns []document.Column
	// line is one row, kept for its memory.
	line []byte
}

func newLines(w io.Writer, columns []document.Column) lines {
	return lines{out: bufio.NewWriterSize(w, pieceSize), columns: columns}
}

func (l *lines) end(with string) error {
	l.line = append(l.line, with...)
	_, err := l.out.Write(l.line)
	l.line = l.line[:0]
	return err
}

// Close implements table.
func (l *lines) Close() error { return l.out.Flush() }

type jsonTable struct {
	lines
	// names are how columns begin: {"id": or ,"account":
	names []string
	// text is where a text is written that needs care.
	text bytes.Buffer
	enc  *json.Encoder
}

func newJSONTable(w io.Writer, columns []document.Column) *jsonTable {
	t := &jsonTable{lines: newLines(w, columns)}
	t.enc = json.NewEncoder(&t.text)
	t.enc.SetEscapeHTML(false)
	for i, c := range columns {
		before := ","
		if i == 0 {
			before = "{"
		}
		t.names = append(t.names, before+strconv.Quote(c.Name)+":")
	}
	return t
}

func (t *jsonTable) write(row []document.Value) (err error) {
	for i := range row {
		t.line = append(t.line, t.names[i]...)
		if t.line, err = t.appendValue(t.line, t.columns[i].Type, &row[i]); err != nil {
			return err
		}
	}
	return t.end("}\n")
}

func (t *jsonTable) appendValue(line []byte, of document.Type, v *document.Value) ([]byte, error) {
	if v.Null {
		return append(line, "null"...), nil
	}
	switch of {
	case document.TypeInteger:
		return strconv.AppendInt(line, v.Integer, 10), nil
	case document.TypeBoolean:
		return strconv.AppendBool(line, v.Boolean), nil
	case document.TypeInstant:
		text, err := v.Instant.MarshalJSON()
		return append(line, text...), err
	case document.TypeText:
	}
	if !strings.ContainsFunc(v.Text, needsCare) {
		return append(append(append(line, '"'), v.Text...), '"'), nil
	}
	t.text.Reset()
	err := t.enc.Encode(v.Text)
	return append(line, bytes.TrimSuffix(t.text.Bytes(), []byte("\n"))...), err
}

// needsCare is true of what may not stand in JSON as it is.
func needsCare(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' }

type csvTable struct{ lines }

func newCSVTable(w io.Writer, columns []document.Column) (*csvTable, error) {
	t := &csvTable{newLines(w, columns)}
	for i, c := range columns {
		if i > 0 {
			t.line = append(t.line, ',')
		}
		t.line = append(t.line, c.Name...)
	}
	return t, t.end("\r\n")
}

func (t *csvTable) write(row []document.Value) error {
	for i := range row {
		if i > 0 {
			t.line = append(t.line, ',')
		}
		v := &row[i]
		if v.Null {
			continue
		}
		switch t.columns[i].Type {
		case document.TypeText:
			t.line = appendQuoted(t.line, v.Text)
		case document.TypeInteger:
			t.line = strconv.AppendInt(t.line, v.Integer, 10)
		case document.TypeBoolean:
			t.line = strconv.AppendBool(t.line, v.Boolean)
		case document.TypeInstant:
			t.line = appendInstant(t.line, v.Instant)
		}
	}
	return t.end("\r\n")
}

// parquetTable hands rows over in batches, with the levels that flat columns
// have: 1 for a value that may be null and is not.
type parquetTable struct {
	out     *parquet.GenericWriter[any]
	columns []document.Column
	batch   []parquet.Row
	rows    int
}

func newParquetTable(w io.Writer, kind *document.Declaration) *parquetTable {
	return &parquetTable{
		out:     parquet.NewGenericWriter[any](w, append(parquetOptions(), parquetSchema(kind))...),
		columns: kind.Columns, batch: make([]parquet.Row, parquetBatch),
	}
}

// parquetSchema is that of a Go struct with a field for each column: a schema
// that is built from nodes has its columns in alphabetical order.
func parquetSchema(kind *document.Declaration) *parquet.Schema {
	fields := make([]reflect.StructField, len(kind.Columns))
	for i, c := range kind.Columns {
		of, tag := reflect.TypeFor[string](), c.Name
		switch c.Type {
		case document.TypeInteger:
			of = reflect.TypeFor[int64]()
		case document.TypeBoolean:
			of = reflect.TypeFor[bool]()
		case document.TypeInstant:
			of = reflect.TypeFor[time.Time]()
		case document.TypeText:
		}
		if c.Nullable {
			of, tag = reflect.PointerTo(of), tag+",optional"
		}
		if c.Type == document.TypeInstant {
			tag += ",timestamp(microsecond)"
		}
		if c.Repeats {
			tag += ",dict"
		}
		fields[i] = reflect.StructField{Name: "C" + strconv.Itoa(i), Type: of, Tag: reflect.StructTag(`parquet:` + strconv.Quote(tag))}
	}
	name := string(kind.Kind)
	row := reflect.New(reflect.StructOf(fields)).Interface()
	return parquet.NewSchema(strings.ToUpper(name[:1])+name[1:], parquet.SchemaOf(row))
}

func (t *parquetTable) write(row []document.Value) error {
	values := t.batch[t.rows][:0]
	for i := range row {
		values = append(values, t.value(i, &row[i]))
	}
	t.batch[t.rows] = values
	if t.rows++; t.rows < len(t.batch) {
		return nil
	}
	return t.flush()
}

func (t *parquetTable) value(column int, v *document.Value) parquet.Value {
	c := &t.columns[column]
	if v.Null {
		return parquet.NullValue().Level(0, 0, column)
	}
	level := 0
	if c.Nullable {
		level = 1
	}
	var value parquet.Value
	switch c.Type {
	case document.TypeText:
		value = parquet.ValueOf(v.Text)
	case document.TypeInteger:
		value = parquet.Int64Value(v.Integer)
	case document.TypeBoolean:
		value = parquet.BooleanValue(v.Boolean)
	case document.TypeInstant:
		value = parquet.Int64Value(v.Instant.UnixMicro())
	}
	return value.Level(0, level, column)
}

func (t *parquetTable) flush() error {
	_, err := t.out.WriteRows(t.batch[:t.rows])
	for _, row := range t.batch[:t.rows] {
		clear(row)
	}
	t.rows = 0
	if err != nil {
		return fmt.Errorf("write parquet: %w", err)
	}
	return nil
}

// Close implements table.
func (t *parquetTable) Close() error {
	if err := t.flush(); err != nil {
		return err
	}
	if err := t.out.Close(); err != nil {
		return fmt.Errorf("complete parquet: %w", err)
	}
	return nil
}
