package lake

import (
	"bytes"
	"strconv"
	"time"

	"github.com/parquet-go/parquet-go"

	"sluice/internal/document"
)

// longText is how long a text is at most that a file's figures repeat.
const longText = 128

// figures are what readers skip a file by: the least and the greatest value of a
// column.
type figures struct {
	// column is its number, or that of what its lists have; of what type it is.
	column        int
	of            document.Type
	values, nulls int64
	// open says that there is a value which no figure bounds.
	open       bool
	least      int64
	greatest   int64
	leastText  []byte
	greatText  []byte
	hasNumbers bool
}

// note takes a row into account.
func (f *file) note(row parquet.Row) {
	for i := range row {
		v := &row[i]
		g := &f.figures[v.Column()]
		if v.IsNull() {
			g.nulls++
			continue
		}
		g.values++
		switch g.of {
		case document.TypeText:
			g.text(v.ByteArray())
		case document.TypeInteger, document.TypeInstant:
			g.number(v.Int64())
		case document.TypeBoolean:
			n := int64(0)
			if v.Boolean() {
				n = 1
			}
			g.number(n)
		case document.TypeList:
			g.open = true
		}
	}
}

func (g *figures) number(n int64) {
	if !g.hasNumbers {
		g.least, g.greatest, g.hasNumbers = n, n, true
		return
	}
	g.least, g.greatest = min(g.least, n), max(g.greatest, n)
}

func (g *figures) text(text []byte) {
	switch {
	case g.open:
		return
	case len(text) > longText:
		g.open = true
		return
	}
	if g.leastText == nil || bytes.Compare(text, g.leastText) < 0 {
		g.leastText = append(g.leastText[:0:0], text...)
	}
	if g.greatText == nil || bytes.Compare(text, g.greatText) > 0 {
		g.greatText = append(g.greatText[:0:0], text...)
	}
}

// bounds are the figures as a catalogue has them; nil for none.
func (g *figures) bounds() (least, greatest any) {
	if g.open || g.values == 0 {
		return nil, nil
	}
	switch g.of {
	case document.TypeText:
		return string(g.leastText), string(g.greatText)
	case document.TypeInteger, document.TypeBoolean:
		return strconv.FormatInt(g.least, 10), strconv.FormatInt(g.greatest, 10)
	case document.TypeInstant:
		return stamp(time.UnixMicro(g.least)), stamp(time.UnixMicro(g.greatest))
	case document.TypeList:
	}
	return nil, nil
}

// stamp is an instant as DuckDB reads it; later ones are greater texts.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05.000000") + "+00" }

// newFigures begins those of a file.
func (t *table) newFigures() []figures {
	all := make([]figures, len(t.columns))
	for i, id := range t.ids {
		all[i].column, all[i].of = max(id.Column, id.Element), t.columns[i].Type
	}
	return all
}
