package catalogue

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"maps"
	"time"

	"sluice/internal/domain"
	"sluice/internal/record"
)

// Added is a file that somebody has added.
type Added struct {
	Name string `json:"name"`
	// Text is the file, and Set the values of its config that were given with it, base
	// among them.
	Text string            `json:"text"`
	Set  map[string]string `json:"set,omitempty"`
	At   time.Time         `json:"at"`
}

// Version tells one content of a file from another.
func (a *Added) Version() string {
	// A map of texts is encoded in the order of its names.
	text, _ := json.Marshal([]any{a.Text, a.Set})
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:6])
}

// same says whether both are the same file with the same values.
func (a *Added) same(b *Added) bool { return a.Text == b.Text && maps.Equal(a.Set, b.Set) }

const (
	// mostAdded is how many files there may be.
	mostAdded = 200
	// mostUnpacked bounds what is read of a record; no file is as long.
	mostUnpacked = 1 << 20
)

func pack(a *Added) (record.Record, error) {
	text, err := json.Marshal(a)
	if err != nil {
		return record.Record{}, domain.Errorf(domain.CodeInternal, "encode a source: %w", err)
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	// A buffer takes everything.
	_, _ = w.Write(text)
	_ = w.Close()
	if packed.Len() > record.MostValue {
		return record.Record{}, domain.Errorf(domain.CodeInvalid, "the file is too long to be kept: packed it has %d bytes, and %d is the most; leave remarks out, or make two sources of it", packed.Len(), record.MostValue)
	}
	return record.Record{Kind: record.Source, Name: a.Name, Value: packed.Bytes(), Changed: a.At}, nil
}

func unpack(r record.Record) (a Added, err error) {
	var text []byte
	packed, err := gzip.NewReader(bytes.NewReader(r.Value))
	if err == nil {
		text, err = io.ReadAll(io.LimitReader(packed, mostUnpacked))
	}
	if err == nil {
		err = json.Unmarshal(text, &a)
	}
	if err != nil {
		return Added{Name: r.Name}, domain.Errorf(domain.CodeCorrupt, "the source %s cannot be read: %w", r.Name, err)
	}
	return a, nil
}

// get reads one that was added.
func get(ctx context.Context, records record.Store, name string) (Added, bool, error) {
	r, err := records.Get(ctx, record.Source, name)
	if domain.CodeOf(err) == domain.CodeNotFound {
		return Added{}, false, nil
	}
	if err != nil {
		return Added{}, false, err
	}
	a, err := unpack(r)
	return a, err == nil, err
}
