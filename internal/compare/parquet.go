package compare

import (
	"context"
	"errors"
	"io"
	"iter"
	"os"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"sluice/internal/domain"
)

// Parquet is a side that is a Parquet file of flat columns and lists of texts.
type Parquet struct{ Path string }

func (p *Parquet) open() (*os.File, *parquet.File, error) {
	file, err := os.Open(p.Path)
	if err != nil {
		return nil, nil, domain.Errorf(domain.CodeInvalid, "%w", err)
	}
	info, err := file.Stat()
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	read, err := parquet.OpenFile(file, info.Size())
	if err != nil {
		return nil, nil, errors.Join(domain.Errorf(domain.CodeInvalid, "%s is not a Parquet file: %w", p.Path, err), file.Close())
	}
	return file, read, nil
}

// Columns implements Side.
func (p *Parquet) Columns(context.Context) (names []string, err error) {
	file, read, err := p.open()
	if err != nil {
		return nil, err
	}
	for _, field := range read.Schema().Fields() {
		names = append(names, field.Name())
	}
	return names, file.Close()
}

// Rows implements Side.
func (p *Parquet) Rows(ctx context.Context) iter.Seq2[Fields, error] {
	return func(yield func(Fields, error) bool) {
		file, read, err := p.open()
		if err != nil {
			yield(nil, err)
			return
		}
		defer func() { _ = file.Close() }() // it was only read
		columns := read.Schema().Fields()
		for _, group := range read.RowGroups() {
			if !groupRows(ctx, group, columns, yield) {
				return
			}
		}
	}
}

// groupRows yields the rows of a group; it returns false when nobody wants more.
func groupRows(ctx context.Context, group parquet.RowGroup, columns []parquet.Field, yield func(Fields, error) bool) bool {
	rows := group.Rows()
	defer func() { _ = rows.Close() }() // it was only read
	some := make([]parquet.Row, 256)
	for ctx.Err() == nil {
		n, err := rows.ReadRows(some)
		for _, one := range some[:n] {
			fields := make(Fields, len(columns))
			for _, value := range one {
				if c := value.Column(); c < len(columns) {
					fields.addParquet(value, columns[c])
				}
			}
			if !yield(fields, nil) {
				return false
			}
		}
		if errors.Is(err, io.EOF) {
			return true
		}
		if err != nil {
			yield(nil, err)
			return false
		}
	}
	yield(nil, ctx.Err())
	return false
}

// addParquet adds a value, or a member of a list: of a list without any there is one
// value that is null, which says whether the list itself is.
func (f Fields) addParquet(v parquet.Value, column parquet.Field) {
	name := column.Name()
	if column.Leaf() {
		f[name] = parquetValue(v, column)
		return
	}
	if v.IsNull() && v.DefinitionLevel() == 0 && column.Optional() {
		f[name] = nil
		return
	}
	members, _ := f[name].([]any)
	if members == nil {
		members = []any{}
	}
	if !v.IsNull() {
		members = append(members, string(v.ByteArray()))
	}
	f[name] = members
}

func parquetValue(v parquet.Value, column parquet.Field) any {
	if v.IsNull() {
		return nil
	}
	switch v.Kind() {
	case parquet.Boolean:
		return v.Boolean()
	case parquet.Int32:
		return int64(v.Int32())
	case parquet.Int64:
		return instantOr(v.Int64(), column)
	case parquet.Float:
		return float64(v.Float())
	case parquet.Double:
		return v.Double()
	case parquet.Int96, parquet.ByteArray, parquet.FixedLenByteArray:
	}
	return string(v.ByteArray())
}

// instantOr is the instant that a column of them holds, or the number.
func instantOr(n int64, column parquet.Field) any {
	logical := column.Type().LogicalType()
	if logical == nil {
		return n
	}
	timestamp, ok := logical.Value.(*format.TimestampType)
	if !ok || timestamp.Unit.Value == nil {
		return n
	}
	switch timestamp.Unit.Value.Duration() {
	case time.Millisecond:
		return time.UnixMilli(n).UTC()
	case time.Microsecond:
		return time.UnixMicro(n).UTC()
	}
	return time.Unix(0, n).UTC()
}
