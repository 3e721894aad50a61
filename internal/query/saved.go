package query

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"time"

	"sluice/internal/domain"
	"sluice/internal/record"
)

const (
	// MostSaved is how many bytes a saved statement has at most, and mostAbout the
	// words about it.
	MostSaved = 32 << 10
	mostAbout = 300
)

// SavedQuery is a statement that somebody has given a name.
type SavedQuery struct {
	Name string `json:"name"`
	SQL  string `json:"query" doc:"One SELECT, as POST /api/v1/sql takes it"`
	// About says for people what it answers.
	About   string    `json:"about,omitempty" doc:"What it answers, for people"`
	SavedAt time.Time `json:"saved_at"`
}

// Saved keeps queries. It is safe for concurrent use.
type Saved struct {
	store record.Store
	now   func() time.Time
}

// NewSaved returns the queries in a store.
func NewSaved(store record.Store, now func() time.Time) *Saved { return &Saved{store, now} }

var goodName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)

// Save keeps a query, instead of one of its name. The statement is not tried: what
// is wrong with it is told when it is run.
func (s *Saved) Save(ctx context.Context, q SavedQuery) (SavedQuery, error) {
	q.SQL, q.About = strings.TrimSpace(q.SQL), strings.TrimSpace(q.About)
	switch {
	case !goodName.MatchString(q.Name):
		return q, domain.Errorf(domain.CodeInvalid, "a query's name has up to 63 letters, digits, dots, dashes and underscores, and begins with a letter or a digit")
	case q.SQL == "" || len(q.SQL) > MostSaved:
		return q, domain.Errorf(domain.CodeInvalid, "a query needs a statement of up to %d bytes", MostSaved)
	case len(q.About) > mostAbout:
		return q, domain.Errorf(domain.CodeInvalid, "say in up to %d bytes what a query is about", mostAbout)
	}
	list, err := s.store.List(ctx, record.Query)
	if err != nil {
		return q, err
	}
	if len(list) >= record.MostListed {
		return q, domain.Errorf(domain.CodeConflict, "there are %d saved queries, which is the most there can be: remove some", len(list))
	}
	q.SavedAt = s.now().UTC().Truncate(time.Microsecond)
	value, err := json.Marshal(q)
	if err != nil {
		return q, domain.Errorf(domain.CodeInternal, "encode a query: %w", err)
	}
	return q, s.store.Put(ctx, record.Record{Kind: record.Query, Name: q.Name, Value: value, Changed: q.SavedAt})
}

// Get returns a query by its name.
func (s *Saved) Get(ctx context.Context, name string) (SavedQuery, error) {
	r, err := s.store.Get(ctx, record.Query, name)
	if domain.CodeOf(err) == domain.CodeNotFound {
		return SavedQuery{}, noQuery()
	}
	if err != nil {
		return SavedQuery{}, err
	}
	return read(r)
}

func noQuery() error {
	return domain.Errorf(domain.CodeNotFound, "there is no saved query of that name; `sluice query list` shows them")
}

// List returns all of them, by name.
func (s *Saved) List(ctx context.Context) ([]SavedQuery, error) {
	list, err := s.store.List(ctx, record.Query)
	if err != nil {
		return nil, err
	}
	all := make([]SavedQuery, len(list))
	for i, r := range list {
		if all[i], err = read(r); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Remove forgets a query.
func (s *Saved) Remove(ctx context.Context, name string) error {
	there, err := s.store.Remove(ctx, record.Query, name)
	if err == nil && !there {
		return noQuery()
	}
	return err
}

func read(r record.Record) (q SavedQuery, err error) {
	if err := json.Unmarshal(r.Value, &q); err != nil {
		return q, domain.Errorf(domain.CodeCorrupt, "the saved query %s cannot be read: %w", r.Name, err)
	}
	return q, nil
}
