package archive

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"sluice/internal/domain"
	"sluice/internal/refresh"
)

// row is a value as it is in a file; the tags are the columns.
type row struct {
	Source   string   `parquet:"source,dict"`
	Key      string   `parquet:"key"`
	Version  int64    `parquet:"version"`
	StoredAt int64    `parquet:"stored_at,timestamp(microsecond)"`
	Hash     [32]byte `parquet:"hash"`
	Body     []byte   `parquet:"body"`
}

func rowOf(v *refresh.Value) row {
	return row{Source: v.Source, Key: v.Key, Version: v.Version, StoredAt: v.StoredAt.UnixMicro(), Hash: v.Hash, Body: v.Body}
}

func (r *row) value() refresh.Value {
	return refresh.Value{
		Entity: refresh.Entity{Source: r.Source, Key: r.Key}, Version: r.Version,
		StoredAt: time.UnixMicro(r.StoredAt).UTC(), Hash: r.Hash, Body: r.Body,
	}
}

func (r *row) day() string { return time.UnixMicro(r.StoredAt).UTC().Format(time.DateOnly) }

// identity stands for everything in a row, its body included.
type identity [sha256.Size]byte

func (r *row) identity() identity {
	body := sha256.Sum256(r.Body)
	text := make([]byte, 0, 128)
	for _, field := range []string{r.Source, r.Key} {
		text = binary.AppendUvarint(text, uint64(len(field)))
		text = append(text, field...)
	}
	text = binary.BigEndian.AppendUint64(text, uint64(r.Version))
	text = binary.BigEndian.AppendUint64(text, uint64(r.StoredAt))
	text = append(text, r.Hash[:]...)
	return sha256.Sum256(append(text, body[:]...))
}

// compareRows orders the rows of a file: the values of an entity are alike, and
// compress well next to each other.
func compareRows(x, y row) int {
	return cmp.Or(cmp.Compare(x.Key, y.Key), cmp.Compare(x.Version, y.Version), cmp.Compare(x.StoredAt, y.StoredAt), bytes.Compare(x.Hash[:], y.Hash[:]))
}

func equalRows(x, y *row) bool {
	return x.Source == y.Source && x.Key == y.Key && x.Version == y.Version && x.StoredAt == y.StoredAt && x.Hash == y.Hash && bytes.Equal(x.Body, y.Body)
}

const (
	// pageSize is how much of a column is compressed together.
	pageSize = 1 << 20
	// filterBits for each key let a file without an entity be told by a small
	// part of it, but for one in a hundred.
	filterBits = 10
	// batch is how many rows are decoded at once.
	batch = 64
)

// encode writes a file of rows.
func encode(rows []row) ([]byte, error) {
	var out bytes.Buffer
	w := parquet.NewGenericWriter[row](&out, parquet.Compression(&zstd.Codec{Level: zstd.SpeedDefault}),
		parquet.PageBufferSize(pageSize), parquet.SkipPageBounds("body"), parquet.SkipPageBounds("hash"),
		parquet.BloomFilters(parquet.SplitBlockFilter(filterBits, "key")), parquet.CreatedBy("sluice", "", ""))
	for begin := 0; begin < len(rows); begin += batch {
		if _, err := w.Write(rows[begin:min(begin+batch, len(rows))]); err != nil {
			return nil, fmt.Errorf("write parquet: %w", err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("complete parquet: %w", err)
	}
	return out.Bytes(), nil
}

// decode reads the rows of a file whose bytes were checked: the decoder trusts
// them, and what it does with damaged ones is not defined. Bodies may be kept.
func decode(data []byte, visit func(*row) error) error {
	file, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return domain.Errorf(domain.CodeCorrupt, "the file cannot be decoded: %w", err)
	}
	in := parquet.NewGenericReader[row](file)
	defer in.Close() //nolint:errcheck // There is nothing to complete.
	rows := make([]row, batch)
	for {
		clear(rows)
		n, err := in.Read(rows)
		for i := range rows[:n] {
			if err := visit(&rows[i]); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return domain.Errorf(domain.CodeCorrupt, "the file cannot be decoded: %w", err)
		}
	}
}

// mayHold tells by the end of a file of a size, which was checked, whether a key
// can be in it. What cannot be told that way may be.
func mayHold(tail []byte, size int64, key string) bool {
	in := &tailReader{bytes.NewReader(tail), size - int64(len(tail))}
	file, err := parquet.OpenFile(in, size, parquet.SkipMagicBytes(true), parquet.SkipPageIndex(true))
	if err != nil {
		return true
	}
	column, ok := file.Schema().Lookup("key")
	if !ok {
		return true
	}
	for _, group := range file.RowGroups() {
		filter := group.ColumnChunks()[column.ColumnIndex].BloomFilter()
		if filter == nil {
			return true
		}
		if found, err := filter.Check(parquet.ValueOf(key)); err != nil || found {
			return true
		}
	}
	return false
}

// tailReader reads a file of which only the end is there.
type tailReader struct {
	tail   *bytes.Reader
	missed int64
}

// ReadAt implements io.ReaderAt.
func (t *tailReader) ReadAt(p []byte, at int64) (int, error) {
	if at < t.missed {
		return 0, io.ErrUnexpectedEOF
	}
	return t.tail.ReadAt(p, at-t.missed)
}
