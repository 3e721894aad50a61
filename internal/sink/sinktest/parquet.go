package sinktest

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"sluice/internal/document"
	"sluice/internal/sink"
)

// ReadParquet reads the rows of a file as a reader does that knows nothing of sinks, but for
// their keys.
func ReadParquet(t testing.TB, data []byte, table sink.Table) (rows []sink.Row) {
	t.Helper()
	f, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, path := range f.Schema().Columns() {
		names = append(names, path[0])
	}
	r := parquet.NewReader(f)
	defer func() { _ = r.Close() }()
	buffer := make([]parquet.Row, 10)
	for {
		n, err := r.ReadRows(buffer)
		for _, row := range buffer[:n] {
			rows = append(rows, parquetRow(row, names, table))
		}
		if errors.Is(err, io.EOF) {
			return rows
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func parquetRow(row parquet.Row, names []string, table sink.Table) sink.Row {
	values := map[string]document.Value{}
	lists := map[string][]string{}
	out := sink.Row{Key: document.Key{Kind: table.Kind}}
	for _, v := range row {
		name := names[v.Column()]
		at := slices.IndexFunc(table.Columns, func(c document.Column) bool { return c.Name == name })
		switch {
		case name == "_sluice_account":
			out.Key.Account = v.Int64()
		case name == "_sluice_name":
			out.Key.Name = v.Clone().String()
		case name == "raw" && !v.IsNull():
			out.Raw = []byte(v.Clone().String())
		case at < 0:
		case table.Columns[at].Type == document.TypeList && !v.IsNull():
			lists[name] = append(lists[name], v.Clone().String())
			values[name] = document.List(lists[name]...)
		case table.Columns[at].Type == document.TypeList && v.DefinitionLevel() == 1:
			values[name] = document.List()
		case v.IsNull():
			values[name] = document.Value{Null: true}
		case table.Columns[at].Type == document.TypeText:
			values[name] = document.Value{Text: v.Clone().String()}
		case table.Columns[at].Type == document.TypeInstant:
			values[name] = document.Value{Instant: time.UnixMicro(v.Int64())}
		case table.Columns[at].Type == document.TypeBoolean:
			values[name] = document.Value{Boolean: v.Boolean()}
		default:
			values[name] = document.Value{Integer: v.Int64()}
		}
	}
	for _, c := range table.Columns {
		v, there := values[c.Name]
		v.Null = v.Null || !there
		out.Values = append(out.Values, v)
	}
	return out
}
