// Package record is the port of small named values that the processes of a service
// share: sessions of the dashboard, queries that people have saved and sources that they
// have added. One table holds all kinds.
package record

import (
	"context"
	"time"

	"sluice/internal/domain"
)

const (
	// MostName is the longest name, in bytes.
	MostName = 100
	// MostValue is the largest value, in bytes.
	MostValue = 60_000
	// MostListed is how many of a kind a list has at most.
	MostListed = 1000
)

// Kind is what a record is of.
type Kind string

// The kinds.
const (
	Session Kind = "session"
	Query   Kind = "query"
	// Columns are those that were inferred of a kind of documents.
	Columns Kind = "columns"
	// Source is a file that describes a source, and what was set about it.
	Source Kind = "source"
	// Probe is what a source showed when it was tried out last.
	Probe Kind = "probe"
)

// Record is a value with a name.
type Record struct {
	Kind  Kind
	Name  string
	Value []byte
	// Changed is when it was stored, and Expires when it counts no more; zero means
	// never. Both are kept to the microsecond.
	Changed, Expires time.Time
}

// Check refuses what no store takes.
func (r Record) Check() error {
	if r.Kind == "" || r.Name == "" || len(r.Name) > MostName {
		return domain.Errorf(domain.CodeInvalid, "a record needs a kind, and a name of up to %d bytes", MostName)
	}
	if len(r.Value) > MostValue {
		return domain.Errorf(domain.CodeInvalid, "a record has up to %d bytes, and this has %d", MostValue, len(r.Value))
	}
	return nil
}

// Store keeps records. Names differ where their bytes do.
type Store interface {
	// Put stores a record, instead of one of its kind and name.
	Put(ctx context.Context, r Record) error
	// Get returns a record, whether or not it has expired; an error of code not_found
	// says that there is none.
	Get(ctx context.Context, kind Kind, name string) (Record, error)
	// List returns the first MostListed of a kind, by name.
	List(ctx context.Context, kind Kind) ([]Record, error)
	// Remove removes a record, and says whether there was one.
	Remove(ctx context.Context, kind Kind, name string) (there bool, err error)
	// RemoveExpired removes records of a kind that expire before an instant, and says
	// how many. Those that never expire stay.
	RemoveExpired(ctx context.Context, kind Kind, before time.Time) (removed int, err error)
}

// Only is the one record that was found by its name.
func Only(found []Record, err error) (Record, error) {
	switch {
	case err != nil:
		return Record{}, err
	case len(found) == 0:
		return Record{}, domain.Errorf(domain.CodeNotFound, "there is nothing of that name")
	}
	return found[0], nil
}
