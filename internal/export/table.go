package export

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"strconv"
	"strings"

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
		return newJSONTable(newLines(w, kind.Columns)), nil
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

func newJSONTable(l lines) *jsonTable {
	t := &jsonTable{lines: l}
	t.enc = json.NewEncoder(&t.text)
	t.enc.SetEscapeHTML(false)
	for i, c := range l.columns {
		before := ","
		if i == 0 {
			before = "{"
		}
		t.names = append(t.names, before+strconv.Quote(c.Name)+":")
	}
	return t
}

func (t *jsonTable) write(row []document.Value) error {
	if err := t.appendRow(row); err != nil {
		return err
	}
	return t.end("}\n")
}

// appendRow puts a row into the line, but for the brace that ends it.
func (t *jsonTable) appendRow(row []document.Value) (err error) {
	for i := range row {
		t.line = append(t.line, t.names[i]...)
		if t.line, err = t.appendValue(t.line, t.columns[i].Type, &row[i]); err != nil {
			return err
		}
	}
	return nil
}

// JSONRows writes rows of declared columns as objects of JSON, as an export has them.
type JSONRows struct{ table *jsonTable }

// NewJSONRows returns what writes rows of such columns. It is not for several at once.
func NewJSONRows(columns []document.Column) *JSONRows {
	return &JSONRows{newJSONTable(newLines(io.Discard, columns))}
}

// Append adds a row. A payload that is not nil is added as the value of raw; it has to
// be JSON.
func (r *JSONRows) Append(to []byte, row []document.Value, raw []byte) ([]byte, error) {
	r.table.line = r.table.line[:0]
	if err := r.table.appendRow(row); err != nil {
		return to, err
	}
	to = append(to, r.table.line...)
	if raw != nil {
		to = append(append(to, `,"raw":`...), raw...)
	}
	return append(to, '}'), nil
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
	case document.TypeList:
		return append(line, v.Text...), nil
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
		case document.TypeText, document.TypeList:
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
