package export

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
)

// Writer writes rows of one type in one format.
type Writer[T any] interface {
	// Write adds a row, which the caller may use again.
	Write(row *T) error
	// Close completes the output, which is not whole without it. It leaves
	// the underlying writer open.
	Close() error
}

// NewWriter returns a Writer to w, which it writes to in large pieces. The
// type must be a struct of values with json and parquet tags, as those of this
// package are.
func NewWriter[T any](w io.Writer, f Format) (Writer[T], error) {
	switch f {
	case FormatJSONL:
		return newJSONWriter[T](w), nil
	case FormatCSV:
		return newCSVWriter[T](w)
	case FormatParquet:
		return newParquetWriter[T](w), nil
	}
	_, err := ParseFormat(string(f))
	return nil, err
}

// pieceSize is how much is written at once.
const pieceSize = 64 << 10

type jsonWriter[T any] struct {
	out *bufio.Writer
	enc *json.Encoder
}

func newJSONWriter[T any](w io.Writer) *jsonWriter[T] {
	out := bufio.NewWriterSize(w, pieceSize)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	return &jsonWriter[T]{out, enc}
}

// Write implements Writer.
func (j *jsonWriter[T]) Write(row *T) error { return j.enc.Encode(row) }

// Close implements Writer.
func (j *jsonWriter[T]) Close() error { return j.out.Flush() }

const (
	// rowGroup is how many rows of Parquet are together; as many are in memory.
	rowGroup = 50_000
	// parquetBatch is how many rows are handed over at once.
	parquetBatch = 500
	// parquetPage is how large one column's page is before it is compressed.
	parquetPage = 256 << 10
)

type parquetWriter[T any] struct {
	out   *parquet.GenericWriter[T]
	batch []T
}

// parquetOptions are those of every file.
func parquetOptions() []parquet.WriterOption {
	return []parquet.WriterOption{
		parquet.Compression(&zstd.Codec{Level: zstd.SpeedFastest}),
		parquet.MaxRowsPerRowGroup(rowGroup), parquet.PageBufferSize(parquetPage), parquet.WriteBufferSize(pieceSize),
		parquet.CreatedBy("sluice", "", ""),
	}
}

func newParquetWriter[T any](w io.Writer) *parquetWriter[T] {
	return &parquetWriter[T]{parquet.NewGenericWriter[T](w, parquetOptions()...), make([]T, 0, parquetBatch)}
}

// Write implements Writer.
func (p *parquetWriter[T]) Write(row *T) error {
	p.batch = append(p.batch, *row)
	if len(p.batch) < cap(p.batch) {
		return nil
	}
	return p.flush()
}

func (p *parquetWriter[T]) flush() error {
	_, err := p.out.Write(p.batch)
	clear(p.batch)
	p.batch = p.batch[:0]
	if err != nil {
		return fmt.Errorf("write parquet: %w", err)
	}
	return nil
}

// Close implements Writer.
func (p *parquetWriter[T]) Close() error {
	if err := p.flush(); err != nil {
		return err
	}
	if err := p.out.Close(); err != nil {
		return fmt.Errorf("complete parquet: %w", err)
	}
	return nil
}
