package stats_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/source/github"
	"sluice/internal/stats"
	"sluice/internal/testkit"
)

// world is a document reader over a slice. It hands documents out in the order
// they are in, and fails on a query that would load payloads.
type world []document.Document

func (w world) Get(context.Context, document.Key) (document.Document, bool, error) {
	return document.Document{}, false, fmt.Errorf("statistics must not read single documents")
}

func (w world) Count(context.Context, int64) (map[document.Kind]int64, error) {
	return nil, fmt.Errorf("statistics must not count")
}

func (w world) Scan(ctx context.Context, q document.Query, fn func(*document.Document) error) error {
	if q.WithRaw {
		return fmt.Errorf("statistics must not load payloads")
	}
	for _, d := range w {
		if err := ctx.Err(); err != nil {
			return err
		}
		if d.Account != q.Account || d.Kind != q.Kind {
			continue
		}
		if err := fn(&d); err != nil {
			return err
		}
	}
	return nil
}

// shelf is stored statistics.
type shelf struct {
	accounts []domain.Account
	data     map[int64][]byte
	err      error
}

func (s *shelf) put(t *testing.T, a domain.Account, account stats.Account) {
	t.Helper()
	data, err := json.Marshal(account)
	if err != nil {
		t.Fatal(err)
	}
	if s.data == nil {
		s.data = map[int64][]byte{}
	}
	s.accounts = append(s.accounts, a)
	s.data[a.ID] = data
}

func (s *shelf) AccountStatistics(_ context.Context, account int64) ([]byte, bool, error) {
	data, ok := s.data[account]
	return data, ok, s.err
}

func (s *shelf) AllStatistics(_ context.Context, fn func(domain.Account, []byte) error) error {
	for _, a := range s.accounts {
		if err := fn(a, s.data[a.ID]); err != nil {
			return err
		}
	}
	return s.err
}

const login = "Ada"

var run = domain.Run{ID: 7, AccountID: 1, Source: "github", Login: login, Anchor: at("2026-03-10 12:00")}

func at(s string) time.Time {
	t, err := time.Parse("2006-01-02 15:04", s)
	if err != nil {
		panic(err)
	}
	return t
}

func doc(kind document.Kind, name string, f document.Fields) document.Document {
	return document.Document{Key: document.Key{Account: run.AccountID, Kind: kind, Name: name}, Fields: f}
}

func commit(repository int64, sha string, f document.Fields) document.Document {
	f.Repository = repository
	return doc(github.KindCommit, strconv.FormatInt(repository, 10)+":"+sha, f)
}

// compute returns the statistics of run's account in a world.
func compute(t *testing.T, w document.Reader) stats.Account {
	t.Helper()
	var a stats.Account
	if err := json.Unmarshal(computeJSON(t, w), &a); err != nil {
		t.Fatal(err)
	}
	return a
}

func computeJSON(t *testing.T, w document.Reader) []byte {
	t.Helper()
	data, err := stats.New(w, &shelf{}, github.Kinds(), func() time.Time { return at("2026-03-10 12:34") }).Compute(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// randomness prints its seed, and takes one from SLUICE_TEST_SEED.
func randomness(t *testing.T) *rand.Rand {
	t.Helper()
	seed := testkit.Seed(t)
	return rand.New(rand.NewPCG(seed, 1))
}
