package lake

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"io"

	"github.com/parquet-go/parquet-go"

	"sluice/internal/archive"
	"sluice/internal/domain"
)

const (
	filePrefix = "part-"
	fileSuffix = ".parquet"
	// readRows is how many rows are read at once.
	readRows = 256
)

// rewrite writes the files of a table anew that a batch touches.
func (l *Lake) rewrite(ctx context.Context, c *change, t *table, held *holding, edits []edit, sweep sweeping) error {
	var files []*file
	for _, p := range plan(held.Files, edits, sweep) {
		if !p.dirty {
			files = append(files, p.files...)
			continue
		}
		added, err := l.rewritePart(ctx, t, p, sweep)
		if err != nil {
			return err
		}
		c.replaced(t.name, p.files, added)
		files = append(files, added...)
	}
	held.Files = files
	return nil
}

// rewritePart merges the rows of files with what is to be done.
func (l *Lake) rewritePart(ctx context.Context, t *table, p *part, sweep sweeping) ([]*file, error) {
	total := p.rows()
	pieces := (total + fullFile - 1) / fullFile
	w := &pieceWriter{ctx: ctx, files: l.options.Files, table: t, size: (total + pieces - 1) / pieces}
	edits := p.edits
	until := func(key rowKey) error {
		for len(edits) > 0 && edits[0].key.compare(key) < 0 {
			if err := w.put(&edits[0]); err != nil {
				return err
			}
			edits = edits[1:]
		}
		return nil
	}
	for _, f := range p.files {
		err := l.scan(ctx, t, f, func(row parquet.Row) error {
			key := keyOf(row)
			if err := until(key); err != nil {
				return err
			}
			if len(edits) > 0 && edits[0].key == key {
				err := w.put(&edits[0])
				edits = edits[1:]
				return err
			}
			if sweep.takes(key.Account, generationOf(row)) {
				return nil
			}
			return w.add(key, row)
		}, w.flush)
		if err != nil {
			return nil, err
		}
	}
	for i := range edits {
		if err := w.put(&edits[i]); err != nil {
			return nil, err
		}
	}
	err := w.end()
	return w.done, err
}

// keyOf reads the last two columns, which identify the row.
func keyOf(row parquet.Row) rowKey {
	n := len(row)
	return rowKey{row[n-2].Int64(), string(row[n-1].ByteArray())}
}

// generationOf reads the column before these.
func generationOf(row parquet.Row) int64 { return row[len(row)-3].Int64() }

// scan goes through the rows of a file as they are in the table now. A row is valid
// until read, which is called after some.
func (l *Lake) scan(ctx context.Context, t *table, f *file, each func(parquet.Row) error, read func() error) error {
	key := t.name + "/" + f.Name
	data, err := l.options.Files.Read(ctx, key)
	if err != nil {
		return err
	}
	opened, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return damaged(key, err)
	}
	var as parquet.Conversion
	if !parquet.EqualNodes(opened.Schema(), t.layout.Schema) {
		if as, err = parquet.Convert(t.layout.Schema, opened.Schema()); err != nil {
			return damaged(key, err)
		}
	}
	for _, group := range opened.RowGroups() {
		if as != nil {
			group = parquet.ConvertRowGroup(group, as)
		}
		if err := scanGroup(group, each, read); err != nil {
			return damaged(key, err)
		}
	}
	return nil
}

func scanGroup(group parquet.RowGroup, each func(parquet.Row) error, read func() error) (err error) {
	rows := group.Rows()
	defer func() { err = errors.Join(err, rows.Close()) }()
	buffer := make([]parquet.Row, readRows)
	for {
		n, err := rows.ReadRows(buffer)
		for _, row := range buffer[:n] {
			if err := each(row); err != nil {
				return err
			}
		}
		if err := read(); err != nil {
			return err
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func damaged(key string, err error) error {
	if domain.CodeOf(err) != domain.CodeInternal {
		return err
	}
	return domain.Errorf(domain.CodeCorrupt, "the lake's file %s cannot be read; restore it, or begin the lake anew: %w", key, err)
}

// pieceWriter writes rows into files of a size.
type pieceWriter struct {
	ctx   context.Context //nolint:containedctx // it lives for one call, as its writers do
	files archive.Files
	table *table
	size  int64
	done  []*file

	out     bytes.Buffer
	rows    *parquet.GenericWriter[any]
	current *file
	pending []parquet.Row
}

// put adds the row of an edit, unless that removes it.
func (w *pieceWriter) put(e *edit) error {
	if e.gone {
		return nil
	}
	row, err := w.table.layout.Append(nil, e.values)
	if err != nil {
		return err
	}
	return w.add(e.key, row)
}

// add adds a row, which must stay as it is until flush.
func (w *pieceWriter) add(key rowKey, row parquet.Row) error {
	if w.current == nil {
		w.out.Reset()
		w.rows = w.table.layout.NewWriter(&w.out)
		w.current = &file{Name: filePrefix + rand.Text() + fileSuffix, First: key, figures: w.table.newFigures()}
	}
	w.current.note(row)
	w.current.Last = key
	if generation := generationOf(row); w.current.Rows == 0 || generation < w.current.Oldest {
		w.current.Oldest = generation
	}
	w.current.Rows++
	w.pending = append(w.pending, row)
	if w.current.Rows < w.size {
		return nil
	}
	return w.end()
}

func (w *pieceWriter) flush() error {
	if len(w.pending) == 0 {
		return nil
	}
	_, err := w.rows.WriteRows(w.pending)
	w.pending = w.pending[:0]
	return err
}

// end completes the file that is being written.
func (w *pieceWriter) end() error {
	if w.current == nil {
		return nil
	}
	if err := errors.Join(w.flush(), w.rows.Close()); err != nil {
		return domain.Errorf(domain.CodeInternal, "write rows of %s as Parquet: %w", w.table.name, err)
	}
	data := w.out.Bytes()
	const tail = 8 // the length of the footer, and a mark
	w.current.Bytes = int64(len(data))
	w.current.footer = int64(binary.LittleEndian.Uint32(data[len(data)-tail:]))
	if err := w.files.Write(w.ctx, w.table.name+"/"+w.current.Name, data); err != nil {
		return err
	}
	w.done, w.current = append(w.done, w.current), nil
	return nil
}
