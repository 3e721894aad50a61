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

// decode reads the rows of a file. Their bodies may be kept.
func decode(data []byte, visit func(*row) error) error {
	var in *parquet.GenericReader[row]
	var filters []parquet.BloomFilter
	err := guard(func() error {
		file, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)), parquet.SkipPageIndex(true))
		if err == nil {
			in, filters = parquet.NewGenericReader[row](file), keyFilters(file)
		}
		return err
	})
	if err != nil {
		return err
	}
	rows := make([]row, batch)
	for {
		clear(rows)
		n, end := 0, false
		err := guard(func() (err error) {
			n, err = in.Read(rows)
			if end = errors.Is(err, io.EOF); end {
				err = nil
			}
			return err
		})
		if err != nil {
			return err
		}
		for i := range rows[:n] {
			if !mayContain(filters, rows[i].Key) {
				return domain.Errorf(domain.CodeCorrupt, "the filter of the keys denies one that is there")
			}
			if err := visit(&rows[i]); err != nil {
				return err
			}
		}
		if end {
			return guard(in.Close)
		}
		if n == 0 {
			return domain.Errorf(domain.CodeCorrupt, "the file ends too early")
		}
	}
}

// keyFilters returns the filters of the keys, one for each group of rows; one
// is nil if a group has none.
func keyFilters(file *parquet.File) (filters []parquet.BloomFilter) {
	column, ok := file.Schema().Lookup("key")
	for _, group := range file.RowGroups() {
		var filter parquet.BloomFilter
		if ok {
			filter = group.ColumnChunks()[column.ColumnIndex].BloomFilter()
		}
		filters = append(filters, filter)
	}
	return filters
}

// mayContain tells whether a key may be in one of the groups. A filter that is
// missing or cannot be read denies nothing.
func mayContain(filters []parquet.BloomFilter, key string) bool {
	for _, filter := range filters {
		may := true
		if filter != nil {
			_ = guard(func() (err error) {
				found, err := filter.Check(parquet.ValueOf(key))
				may = found || err != nil
				return nil
			})
		}
		if may {
			return true
		}
	}
	return false
}

// guard makes an error of what the decoder does with damaged files, which may
// be a panic.
func guard(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = domain.Errorf(domain.CodeCorrupt, "the file cannot be decoded: %v", r)
		}
	}()
	if err := f(); err != nil {
		return domain.Errorf(domain.CodeCorrupt, "the file cannot be decoded: %w", err)
	}
	return nil
}
