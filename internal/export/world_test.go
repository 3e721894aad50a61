package export_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"sluice/internal/backend/sqlite"
	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/export"
	"sluice/internal/source/github"
	"sluice/internal/stats"
)

var (
	ann = domain.Account{ID: 1, Source: "github", Login: "ann", State: domain.AccountActive}
	bob = domain.Account{ID: 2, Source: "github", Login: "bob", State: domain.AccountDeleted}
)

func at(s string) time.Time {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return time.Time{}
	}
	return t
}

func doc(account int64, kind document.Kind, name string, f document.Fields) document.Document {
	return document.Document{Key: document.Key{Account: account, Kind: kind, Name: name}, Version: time.Unix(1, 0), Fields: f, Raw: []byte("{}")}
}

// lastWalk is when what is there was seen last.
var lastWalk = at("2026-03-12T00:00:00Z")

// seen is a document that the last walk has met.
func seen(d document.Document) document.Document {
	d.SeenAt = lastWalk
	return d
}

// awkward is a title that every format has to take care of.
const awkward = " =1+1, \"quoted\",\nsecond\r\nline <b>&é 漢字 \U0001F980"

// with gives a document values of its own.
func with(d document.Document, values map[string]document.Value) document.Document {
	for column, v := range values {
		d.Set(column, v)
	}
	return d
}

// world has one of everything, and what is odd about each.
func world() []document.Document {
	old, now := at("2026-01-02T03:04:05Z"), at("2026-03-11T12:00:00.123456Z")
	return []document.Document{
		doc(1, github.KindRepository, "11", document.Fields{Repository: 11, Title: "ann/one", State: "active", Language: "Go", Stars: 7, CreatedAt: old, UpdatedAt: now, Private: true}),
		doc(1, github.KindRepository, "9", document.Fields{Repository: 9, Title: "ann/gone", State: "deleted", UpdatedAt: now, Fork: true}),
		doc(1, github.KindRepository, "12", document.Fields{Repository: 12, Title: "ann/withheld", State: "empty", CreatedAt: now, UpdatedAt: now}),
		doc(1, github.KindCommit, "11:aaaa", document.Fields{Repository: 11, Author: "ann", Additions: 5, Deletions: 0, CreatedAt: old, Measured: true}),
		doc(1, github.KindCommit, "11:bbbb", document.Fields{Repository: 11, CreatedAt: now, Truncated: true}),
		doc(1, github.KindCommit, "9:cccc", document.Fields{Repository: 9, Author: "zoe", Additions: 1, Deletions: 2, CreatedAt: old, Measured: true}),
		with(doc(1, github.KindIssue, "100", document.Fields{Repository: 11, Number: 1, State: "open", Title: awkward, Author: "zoe", CreatedAt: old, UpdatedAt: old}), map[string]document.Value{
			"body": document.Text("NUL \x00, bad \xff bytes\r\nand \"quotes\""), "labels": document.List("bug", `with "quotes", 漢字`), "assignees": document.List(),
			"comments": document.Integer(0), "locked": document.Boolean(false),
		}),
		doc(1, github.KindIssue, "101", document.Fields{Repository: 11, Number: 3, State: "closed", Title: "plain", Author: "ann", CreatedAt: old, UpdatedAt: now, ClosedAt: now, ClosedBy: "ann"}),
		seen(doc(1, github.KindPull, "200", document.Fields{Repository: 11, Number: 2, State: "closed", Title: "", Author: "ann", Additions: 9, Deletions: 8, Measured: true, CreatedAt: old, UpdatedAt: now, ClosedAt: now, MergedAt: now})),
		doc(1, github.KindPull, "201", document.Fields{Repository: 11, Number: 4, State: "open", Title: "bad \xff bytes", Author: "zoe", CreatedAt: now, UpdatedAt: now}),
		doc(1, github.KindEvent, "22249084947", document.Fields{Repository: 77, Title: "PushEvent", Author: "ann", CreatedAt: now}),
		with(doc(1, github.KindEvent, "22249084948", document.Fields{Title: "FollowEvent", CreatedAt: now}), map[string]document.Value{
			"payload": document.Text(`{"a":["b",1]}`), "public": document.Boolean(true),
		}),
		doc(1, github.KindEvent, "22249084949", document.Fields{Repository: 9, Title: "DeleteEvent", Author: "ann", CreatedAt: now}),
		with(doc(1, github.KindProfile, "5", document.Fields{Author: "ann", CreatedAt: old}), map[string]document.Value{"bio": document.Text("hi"), "followers": document.Integer(3)}),
		doc(2, github.KindCommit, "11:aaaa", document.Fields{Repository: 11, Author: "ann", CreatedAt: old}),
	}
}

// absences are what is gone of the world: a repository with what is in it,
// another that is withheld, and a pull request.
func absences() []document.Absence {
	since := lastWalk
	return []document.Absence{
		{Account: 1, Repository: 9, Why: document.GoneTransferred, Since: since},
		{Account: 1, Repository: 12, Why: document.GoneBlocked, Since: since},
		{Account: 1, Repository: 11, Kind: github.KindPull, NotSeenSince: since, Why: document.GoneDeleted, Since: since},
	}
}

// open stores documents as the service does.
func open(t *testing.T, docs []document.Document, gone ...document.Absence) document.Reader {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlite.Options{Dir: t.TempDir(), Holder: "a test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	store, err := sqlite.NewDocuments(t.Context(), db, github.Kinds())
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Upsert(t.Context(), docs); err != nil {
		t.Fatal(err)
	}
	if err := store.MarkDeleted(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	return store
}

// shelf is stored statistics.
type shelf map[int64]stats.Account

func (s shelf) AccountStatistics(_ context.Context, account int64) ([]byte, bool, error) {
	a, ok := s[account]
	data, err := json.Marshal(a)
	return data, ok, err
}

func (s shelf) Leaderboard(_ context.Context, by stats.Measure) ([]stats.Row, error) {
	place := stats.Standing{By: by, Rank: 1, Of: 1, Percentile: 100}
	return []stats.Row{{AccountID: ann.ID, Login: ann.Login, Standing: place}}, nil
}

func figures() shelf {
	var a stats.Account
	a.RunID, a.AsOf, a.ComputedAt = 3, at("2026-03-11T12:00:00Z"), at("2026-03-11T12:00:01.123456789Z")
	a.Scores = stats.Scores{Activity: 12.25, Impact: 1e-7}
	a.Commits = stats.Commits{Own: 4, Measured: 3, Additions: 5_000_000_000, Deletions: 6}
	a.Activity.First, a.Activity.Longest.Days = at("2026-01-02T03:04:05Z"), 2
	a.Documents = map[document.Kind]stats.DocumentCount{github.KindCommit: {Stored: 3, Truncated: 1}}
	a.OthersCollected = true
	return shelf{ann.ID: a, bob.ID: {RunID: 4}}
}

func sources(t *testing.T) export.Sources {
	t.Helper()
	return export.Sources{Kinds: github.Kinds(), Documents: open(t, world(), absences()...), Statistics: figures(), Ranking: figures()}
}

// render exports and returns the output with its number of rows.
func render(t *testing.T, src export.Sources, o export.Options) ([]byte, int64) {
	t.Helper()
	var out bytes.Buffer
	rows, err := export.Export(t.Context(), src, o, &out)
	if err != nil {
		t.Fatalf("%s as %s: %v", o.Kind, o.Format, err)
	}
	return out.Bytes(), rows
}

// flood is a reader of so many commits that are made as they are read.
type flood struct {
	document.Reader
	rows int
	// each is called now and then while rows are read.
	each func()
}

func (f flood) Scan(ctx context.Context, q document.Query, fn func(*document.Document) error) error {
	if q.Kind == github.KindRepository {
		return nil
	}
	var d document.Document // one for all: rows must not keep it
	for i := range f.rows {
		if err := ctx.Err(); err != nil {
			return err
		}
		if f.each != nil && i%9_999 == 0 {
			f.each()
		}
		d = doc(q.Account, q.Kind, fmt.Sprintf("%d:%040x", 1+i%50, uint64(i)*0x9E3779B97F4A7C15), document.Fields{
			Repository: int64(1 + i%50), Author: fmt.Sprintf("author-%d", i%1000), Additions: int64(i), Deletions: int64(i / 2),
			Measured: i%10 != 0, CreatedAt: time.Unix(int64(1_700_000_000+i), 0),
		})
		if err := fn(&d); err != nil {
			return err
		}
	}
	return nil
}
