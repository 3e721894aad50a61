package compare

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"maps"
	"slices"

	"sluice/internal/domain"
)

// Lines is a side that is written as JSON lines: a dump, or an export.
type Lines struct {
	// Open begins to read it, from the beginning each time.
	Open func(ctx context.Context) (io.ReadCloser, error)
	// Named are its columns, where they are known; otherwise they are those of the
	// first lines.
	Named []string
}

// firstLines is how many are looked at for the columns: what is null in a row may
// be left out there.
const firstLines = 1000

// Columns implements Side.
func (l *Lines) Columns(ctx context.Context) ([]string, error) {
	if l.Named != nil {
		return l.Named, nil
	}
	met, seen := map[string]bool{}, 0
	for fields, err := range l.Rows(ctx) {
		if err != nil {
			return nil, err
		}
		for name := range fields {
			met[name] = true
		}
		if seen++; seen == firstLines {
			break
		}
	}
	if seen == 0 {
		return nil, domain.Errorf(domain.CodeInvalid, "the other side has no rows, so that its columns are not known")
	}
	return slices.Sorted(maps.Keys(met)), nil
}

// Rows implements Side.
func (l *Lines) Rows(ctx context.Context) iter.Seq2[Fields, error] {
	return func(yield func(Fields, error) bool) {
		from, err := l.Open(ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		defer func() { _ = from.Close() }() // what could not be read was told
		decoder := json.NewDecoder(bufio.NewReaderSize(from, 256<<10))
		decoder.UseNumber()
		for line := 1; ; line++ {
			var fields Fields
			switch err := decoder.Decode(&fields); {
			case errors.Is(err, io.EOF):
				return
			case malformed(err):
				yield(nil, domain.Errorf(domain.CodeInvalid, "row %d is not a JSON object: %w", line, err))
				return
			case err != nil:
				yield(nil, err)
				return
			}
			if !yield(fields, nil) {
				return
			}
		}
	}
}

// malformed tells rows that are wrong from what could not be read.
func malformed(err error) bool {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	return errors.As(err, &syntax) || errors.As(err, &kind) || errors.Is(err, io.ErrUnexpectedEOF)
}
