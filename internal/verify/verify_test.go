package verify_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"sluice/internal/document"
	sim "sluice/internal/simulator/github"
	"sluice/internal/source/github"
	"sluice/internal/verify"
)

const account = 7

// shelf is a store that holds what a test puts there.
type shelf struct {
	document.Reader
	docs []document.Document
	err  error
}

func (s *shelf) Scan(_ context.Context, q document.Query, fn func(*document.Document) error) error {
	for i := range s.docs {
		if s.docs[i].Account != q.Account {
			continue
		}
		if err := fn(&s.docs[i]); err != nil {
			return err
		}
	}
	return s.err
}

var created = time.Date(2025, 1, 2, 3, 4, 5, 0, time.UTC)

func truth() sim.Truth {
	closed := created.Add(time.Hour)
	return sim.Truth{
		Profile: sim.TruthProfile{ID: 1, Login: "ann"},
		Repositories: []sim.TruthRepository{{
			ID: 10, Name: "tool", FullName: "ann/tool", Stars: 5, Language: "Go",
			Commits: []sim.TruthCommit{{SHA: "aa", CommittedAt: created, Additions: 3, Deletions: 2, AuthorLogin: "ann"}},
			Issues:  []sim.TruthItem{{Number: 1, ID: 100, State: "open", CreatedAt: created, UpdatedAt: created, AuthorLogin: "bob"}},
			Pulls:   []sim.TruthItem{{Number: 2, ID: 200, State: "closed", CreatedAt: created, UpdatedAt: closed, ClosedAt: &closed, MergedAt: &closed, AuthorLogin: "ann"}},
		}},
		Events: []string{"9000"},
	}
}

// documents are what a complete collection of truth stores.
func documents() []document.Document {
	closed := created.Add(time.Hour)
	doc := func(kind document.Kind, name string, f document.Fields) document.Document {
		return document.Document{Key: document.Key{Account: account, Kind: kind, Name: name}, Fields: f}
	}
	return []document.Document{
		doc(github.KindProfile, "1", document.Fields{Author: "ann"}),
		doc(github.KindRepository, "10", document.Fields{Title: "ann/tool", Stars: 5, Language: "Go"}),
		doc(github.KindCommit, "10:aa", document.Fields{Repository: 10, Author: "ann", Additions: 3, Deletions: 2, CreatedAt: created}),
		doc(github.KindIssue, "100", document.Fields{Repository: 10, Number: 1, State: "open", Author: "bob", CreatedAt: created, UpdatedAt: created}),
		doc(github.KindPull, "200", document.Fields{Repository: 10, Number: 2, State: "closed", Author: "ann", CreatedAt: created, UpdatedAt: closed, ClosedAt: closed, MergedAt: closed}),
		doc(github.KindEvent, "9000", document.Fields{Title: "PushEvent"}),
	}
}

// differences compares what a test made of the documents with the truth.
func differences(t *testing.T, docs []document.Document) []string {
	t.Helper()
	got, err := verify.Account(t.Context(), &shelf{docs: docs}, account, truth())
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// one checks that there is exactly one difference, about this document.
func one(t *testing.T, got []string, d document.Document, what string) {
	t.Helper()
	if want := fmt.Sprintf("%s %s ", d.Kind, d.Name); len(got) != 1 || !strings.HasPrefix(got[0], want) || !strings.Contains(got[0], what) {
		t.Errorf("got %q, want one difference %q…%q", got, want, what)
	}
}

func TestCompleteCollection(t *testing.T) {
	if got := differences(t, documents()); len(got) != 0 {
		t.Errorf("got %q", got)
	}
	// Another zone is the same instant, and another account's is not ours.
	docs := documents()
	docs[2].CreatedAt = docs[2].CreatedAt.In(time.FixedZone("", 3600))
	other := docs[3]
	other.Account, other.State = account+1, "closed"
	if got := differences(t, append(docs, other)); len(got) != 0 {
		t.Errorf("got %q", got)
	}
}

func TestMissing(t *testing.T) {
	for i, d := range documents() {
		docs := documents()
		one(t, differences(t, append(docs[:i], docs[i+1:]...)), d, "is missing")
	}
}

func TestExtra(t *testing.T) {
	for _, d := range documents() {
		d.Name += "1"
		one(t, differences(t, append(documents(), d)), d, "does not exist")
		// What is gone upstream stays, flagged.
		d.Deleted = true
		if got := differences(t, append(documents(), d)); len(got) != 0 {
			t.Errorf("got %q", got)
		}
	}
}

func TestFlaggedAsDeleted(t *testing.T) {
	for i, d := range documents() {
		docs := documents()
		docs[i].Deleted = true
		one(t, differences(t, docs), d, "flagged as deleted but exists")
	}
	gone := truth()
	gone.Repositories[0] = sim.TruthRepository{ID: 10, FullName: "ann/tool", Stars: 5, Language: "Go", Deleted: true}
	docs := documents()
	for i := range docs {
		docs[i].Deleted = docs[i].Kind == github.KindRepository || docs[i].Repository == 10
	}
	got, err := verify.Account(t.Context(), &shelf{docs: docs}, account, gone)
	if err != nil || len(got) != 0 {
		t.Errorf("a deleted repository and what was in it: %q, %v", got, err)
	}
}

// TestChanged changes every field that the truth knows, one at a time.
func TestChanged(t *testing.T) {
	profile, repository, commit, issue, pull := 0, 1, 2, 3, 4
	for name, tc := range map[string]struct {
		at     int
		change func(*document.Fields)
	}{
		"login":             {profile, func(f *document.Fields) { f.Author = "Ann" }},
		"full name":         {repository, func(f *document.Fields) { f.Title = "ann/tools" }},
		"stars":             {repository, func(f *document.Fields) { f.Stars++ }},
		"language":          {repository, func(f *document.Fields) { f.Language = "C" }},
		"fork":              {repository, func(f *document.Fields) { f.Fork = true }},
		"private":           {repository, func(f *document.Fields) { f.Private = true }},
		"additions":         {commit, func(f *document.Fields) { f.Additions = 0 }},
		"deletions":         {commit, func(f *document.Fields) { f.Deletions++ }},
		"committer":         {commit, func(f *document.Fields) { f.Author = "" }},
		"commit time":       {commit, func(f *document.Fields) { f.CreatedAt = created.Add(time.Second) }},
		"commit repository": {commit, func(f *document.Fields) { f.Repository = 11 }},
		"issue state":       {issue, func(f *document.Fields) { f.State = "closed" }},
		"issue number":      {issue, func(f *document.Fields) { f.Number = 3 }},
		"issue author":      {issue, func(f *document.Fields) { f.Author = "ann" }},
		"issue repository":  {issue, func(f *document.Fields) { f.Repository = 11 }},
		"issue closed":      {issue, func(f *document.Fields) { f.ClosedAt = created }},
		"issue updated":     {issue, func(f *document.Fields) { f.UpdatedAt = created.Add(time.Second) }},
		"pull merged":       {pull, func(f *document.Fields) { f.MergedAt = time.Time{} }},
		"pull closed":       {pull, func(f *document.Fields) { f.ClosedAt = time.Time{} }},
		"pull created":      {pull, func(f *document.Fields) { f.CreatedAt = time.Time{} }},
		"pull state":        {pull, func(f *document.Fields) { f.State = "open" }},
	} {
		t.Run(name, func(t *testing.T) {
			docs := documents()
			tc.change(&docs[tc.at].Fields)
			one(t, differences(t, docs), docs[tc.at], "the truth is")
		})
	}
}

func TestReportIsBounded(t *testing.T) {
	var docs []document.Document
	for i := range 1000 {
		docs = append(docs, document.Document{Key: document.Key{Account: account, Kind: github.KindEvent, Name: "x" + strconv.Itoa(i)}})
	}
	if got := differences(t, docs); len(got) == 0 || len(got) > 100 {
		t.Errorf("%d differences are reported", len(got))
	}
}

func TestStoreThatFails(t *testing.T) {
	broken := errors.New("the store is broken")
	if _, err := verify.Account(t.Context(), &shelf{err: broken}, account, truth()); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}
