package stats_test

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"runtime"
	"strconv"
	"testing"
	"time"

	"sluice/internal/document"
	"sluice/internal/source/github"
	"sluice/internal/stats"
)

// stream is a reader that makes commits up as they are read: half of them the
// account's, in 50 repositories of 5 languages, over 1,000 days.
type stream struct {
	world
	commits int
}

func (s stream) Scan(_ context.Context, q document.Query, fn func(*document.Document) error) error {
	switch q.Kind {
	case github.KindRepository:
		for id := range int64(50) {
			d := doc(q.Kind, strconv.FormatInt(id, 10), document.Fields{Repository: id, Language: "L" + strconv.FormatInt(id%5, 10)})
			if err := fn(&d); err != nil {
				return err
			}
		}
	case github.KindCommit:
		authors := [2]string{"ADA", "bob"}
		var d document.Document
		for i := range s.commits {
			d = document.Document{Key: document.Key{Account: q.Account, Kind: q.Kind, Name: "1:abc"}}
			d.Repository, d.Author = int64(i%50), authors[i%2]
			d.Additions, d.Deletions, d.Measured = 3, 2, true
			d.CreatedAt = run.Anchor.Add(-time.Duration(i%24_000) * time.Hour)
			if err := fn(&d); err != nil {
				return err
			}
		}
	}
	return nil
}

// allocated returns the bytes allocated while computing over n commits.
func allocated(tb testing.TB, n int) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	data, err := stats.New(stream{commits: n}, &shelf{}, github.Kinds(), nil).Compute(context.Background(), run)
	runtime.ReadMemStats(&after)
	var a stats.Account
	if err == nil {
		err = json.Unmarshal(data, &a)
	}
	if err != nil || a.Commits.Own != int64(n/2) || a.Commits.Additions != int64(3*n/2) {
		tb.Fatalf("got %+v, %v", a.Commits, err)
	}
	return after.TotalAlloc - before.TotalAlloc
}

// Ten times the commits must not take more memory: even the garbage together,
// not only what is alive, stays as it was.
func TestMemoryDoesNotGrowWithCommits(t *testing.T) {
	few, many := allocated(t, 48_000), allocated(t, 480_000)
	if many > few+few/2 {
		t.Errorf("48,000 commits allocate %d bytes, 480,000 allocate %d", few, many)
	}
}

func BenchmarkMillionCommits(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		allocated(b, 1_000_000)
	}
	b.ReportMetric(1e6*float64(b.N)/b.Elapsed().Seconds(), "commits/s")
}

func BenchmarkLeaderboard(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	s := &shelf{data: map[int64][]byte{}}
	data, err := stats.New(stream{commits: 24_000}, s, github.Kinds(), nil).Compute(context.Background(), run)
	if err != nil {
		b.Fatal(err)
	}
	for id := range int64(1_000) {
		s.accounts = append(s.accounts, account(id, strconv.Itoa(r.Int()), "active"))
		s.data[id] = data
	}
	c := stats.New(world{}, s, github.Kinds(), nil)
	for b.Loop() {
		if _, err := c.Leaderboard(context.Background(), stats.ByActivity); err != nil {
			b.Fatal(err)
		}
	}
}
