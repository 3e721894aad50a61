package archive

import (
	"bufio"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"sluice/internal/domain"
	"sluice/internal/refresh"
)

const (
	// restoreBatch and restoreBytes are how much is put back at once.
	restoreBatch = 500
	restoreBytes = 8 << 20
)

// Restore puts values back into the history and returns how many. Of a damaged
// file, nothing is put back. The files stay.
func (a *Archiver) Restore(ctx context.Context, q Query) (int64, error) {
	return a.each(ctx, q, func(values []refresh.Value) error { return a.history.Restore(ctx, values) })
}

// line is a value as JSON.
type line struct {
	Source   string    `json:"source"`
	Key      string    `json:"key"`
	Version  int64     `json:"version"`
	StoredAt time.Time `json:"stored_at"`
	Hash     string    `json:"hash"`
	// Body is the value if it is JSON; otherwise Bytes is.
	Body  json.RawMessage `json:"body,omitempty"`
	Bytes []byte          `json:"body_base64,omitempty"`
}

// Export writes values as lines of JSON and returns how many. Of a damaged
// file, nothing is written.
func (a *Archiver) Export(ctx context.Context, q Query, w io.Writer) (int64, error) {
	out := bufio.NewWriterSize(w, 64<<10)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	n, err := a.each(ctx, q, func(values []refresh.Value) error {
		for i := range values {
			v := &values[i]
			l := line{Source: v.Source, Key: v.Key, Version: v.Version, StoredAt: v.StoredAt, Hash: hex.EncodeToString(v.Hash[:])}
			if json.Valid(v.Body) {
				l.Body = v.Body
			} else {
				l.Bytes = v.Body
			}
			if err := encoder.Encode(&l); err != nil {
				return fmt.Errorf("write values: %w", err)
			}
		}
		return nil
	})
	if flush := out.Flush(); err == nil && flush != nil {
		err = fmt.Errorf("write values: %w", flush)
	}
	return n, err
}

// each hands over the values of a query in batches, file by file.
func (a *Archiver) each(ctx context.Context, q Query, visit func([]refresh.Value) error) (total int64, err error) {
	if err := q.Check(); err != nil {
		return 0, err
	}
	err = a.scan(ctx, q.under(), func(f File) error {
		if !q.wantsFile(f) {
			return nil
		}
		if q.Key != "" {
			if may, err := a.mayHold(ctx, f, q.Key); err != nil || !may {
				return err
			}
		}
		n, err := a.eachOf(ctx, f, q, visit)
		total += n
		return err
	})
	return total, err
}

// eachOf hands over the values of one file, once it was seen to be in order.
func (a *Archiver) eachOf(ctx context.Context, f File, q Query, visit func([]refresh.Value) error) (total int64, err error) {
	data, err := a.load(ctx, f)
	if err != nil {
		return 0, err
	}
	if _, err := readRows(f, data, noVisit); err != nil {
		return 0, err
	}
	var values []refresh.Value
	size := 0
	flush := func() error {
		if len(values) == 0 {
			return nil
		}
		err := visit(values)
		if err == nil {
			total += int64(len(values))
		}
		values, size = nil, 0
		return err
	}
	err = decode(data, func(r *row) error {
		v := r.value()
		if !q.wants(&v) {
			return nil
		}
		values, size = append(values, v), size+len(v.Body)
		if len(values) < restoreBatch && size < restoreBytes {
			return nil
		}
		return flush()
	})
	if err == nil {
		err = flush()
	}
	return total, err
}

// mayHold tells by the end of a file whether a key can be in it. If the end is
// damaged or elsewhere, it may be: whoever reads the whole file will notice.
func (a *Archiver) mayHold(ctx context.Context, f File, key string) (bool, error) {
	tail, err := a.files.ReadTail(ctx, f.Key, f.Bytes, tailSize)
	if domain.CodeOf(err) == domain.CodeNotFound {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	return tailSum(tail) != f.tailSum || mayHold(tail, f.Bytes, key), nil
}
