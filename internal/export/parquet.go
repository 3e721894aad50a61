package export

import (
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"

	"sluice/internal/document"
)

// Layout is how rows of declared columns stand in Parquet.
type Layout struct {
	Schema  *parquet.Schema
	columns []document.Column
}

// FieldID numbers a column, and the texts of a column of lists, for readers who go by
// numbers and not by names; zero is no number.
type FieldID struct{ Column, Element int }

// NewLayout lays columns out, numbered if ids are given, one for each.
func NewLayout(name string, columns []document.Column, ids []FieldID) *Layout {
	return &Layout{Schema: parquetSchema(name, columns, ids), columns: columns}
}

// NewWriter returns a writer of such rows.
func (l *Layout) NewWriter(w io.Writer) *parquet.GenericWriter[any] {
	return parquet.NewGenericWriter[any](w, append(parquetOptions(), l.Schema)...)
}

// parquetTable hands rows over in batches.
type parquetTable struct {
	*Layout
	out   *parquet.GenericWriter[any]
	batch []parquet.Row
	rows  int
}

func newParquetTable(w io.Writer, kind *document.Declaration) *parquetTable {
	l := NewLayout(string(kind.Kind), kind.Columns, nil)
	return &parquetTable{Layout: l, out: l.NewWriter(w), batch: make([]parquet.Row, parquetBatch)}
}

// parquetSchema is that of a Go struct with a field for each column: a schema
// that is built from nodes has its columns in alphabetical order.
func parquetSchema(name string, columns []document.Column, ids []FieldID) *parquet.Schema {
	fields := make([]reflect.StructField, len(columns))
	for i, c := range columns {
		of, tag, element := reflect.TypeFor[string](), c.Name, ""
		switch c.Type {
		case document.TypeList:
			of, tag = reflect.TypeFor[[]string](), tag+",list"
		case document.TypeInteger:
			of = reflect.TypeFor[int64]()
		case document.TypeBoolean:
			of = reflect.TypeFor[bool]()
		case document.TypeInstant:
			of = reflect.TypeFor[time.Time]()
		case document.TypeText:
		}
		switch {
		case c.Type == document.TypeList: // a slice can be null itself
			tag += ",optional"
		case c.Nullable:
			of, tag = reflect.PointerTo(of), tag+",optional"
		}
		if c.Type == document.TypeInstant {
			tag += ",timestamp(microsecond)"
		}
		if c.Repeats {
			tag += ",dict"
		}
		if ids != nil {
			tag += fmt.Sprintf(",id(%d)", ids[i].Column)
			if c.Type == document.TypeList {
				element = " parquet-element:" + strconv.Quote(fmt.Sprintf(",id(%d)", ids[i].Element))
			}
		}
		fields[i] = reflect.StructField{Name: "C" + strconv.Itoa(i), Type: of, Tag: reflect.StructTag(`parquet:` + strconv.Quote(tag) + element)}
	}
	row := reflect.New(reflect.StructOf(fields)).Interface()
	return parquet.NewSchema(strings.ToUpper(name[:1])+name[1:], parquet.SchemaOf(row))
}

func (t *parquetTable) write(row []document.Value) error {
	values, err := t.Append(t.batch[t.rows][:0], row)
	if err != nil {
		return err
	}
	t.batch[t.rows] = values
	if t.rows++; t.rows < len(t.batch) {
		return nil
	}
	return t.flush()
}

// Append adds the values of a row, with the levels that columns have: 1 for a value
// that may be null and is not, and see list.
func (l *Layout) Append(values parquet.Row, row []document.Value) (_ parquet.Row, err error) {
	for i := range row {
		if l.columns[i].Type != document.TypeList {
			values = append(values, l.value(i, &row[i]))
			continue
		}
		if values, err = list(values, i, &row[i]); err != nil {
			return values, err
		}
	}
	return values, nil
}

func (l *Layout) value(column int, v *document.Value) parquet.Value {
	c := &l.columns[column]
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
	case document.TypeList:
	}
	return value.Level(0, level, column)
}

// list adds the texts of a list, each a value of the one column that lists have
// below theirs. Its level is 0 if the list is null, 1 if it has no texts, and 2 for
// a text; it repeats at level 1.
func list(values []parquet.Value, column int, v *document.Value) ([]parquet.Value, error) {
	if v.Null {
		return append(values, parquet.NullValue().Level(0, 0, column)), nil
	}
	texts, err := v.Members()
	if err != nil {
		return values, err
	}
	if len(texts) == 0 {
		return append(values, parquet.NullValue().Level(0, 1, column)), nil
	}
	for i, text := range texts {
		values = append(values, parquet.ValueOf(text).Level(min(i, 1), 2, column))
	}
	return values, nil
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
