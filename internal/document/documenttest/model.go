package documenttest

import (
	"fmt"
	"math/rand/v2"
	"time"

	"sluice/internal/document"
	"sluice/internal/testkit"
)

// dice are seeded by SLUICE_TEST_SEED, or by chance.
func (x *fixture) dice() *rand.Rand {
	x.Helper()
	n := testkit.Seed(x)
	return rand.New(rand.NewPCG(n, 0))
}

// thing is what the model knows of a document, or of a repository as the home
// of others; instants are counted in minutes, 0 is none.
type thing struct {
	seen, version int
	title         string
	why           document.Reason
	since, last   int
}

func (t *thing) holds(seen int) bool { return t.why != "" && seen <= t.last }

// claim is one more absence.
func (t *thing) claim(why document.Reason, at int) {
	switch {
	case t.seen > at:
	case !t.holds(t.seen):
		t.why, t.since, t.last = why, at, at
	case t.why == why:
		t.since, t.last = min(t.since, at), max(t.last, at)
	case at > t.last:
		t.why, t.since, t.last = why, at, at
	}
}

// model is a world of two accounts with two repositories each.
type model struct {
	docs         map[document.Key]*thing
	homes        map[[2]int64]*thing
	repositories map[document.Key]int64
}

func (m *model) home(account, repository int64) *thing {
	id := [2]int64{account, repository}
	if m.homes[id] == nil {
		m.homes[id] = &thing{}
	}
	return m.homes[id]
}

func minute(n int) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return instant(n)
}

// upsert makes a few documents and brings the model up to date.
func (m *model) upsert(dice *rand.Rand) []document.Document {
	kinds := []document.Kind{KindRepository, KindCommit, KindIssue, KindPull, KindEvent}
	var docs []document.Document
	for range 1 + dice.IntN(4) {
		account, repository, number := 1+dice.Int64N(2), 10+dice.Int64N(2), 1+dice.Int64N(4)
		kind := kinds[dice.IntN(len(kinds))]
		if kind == KindRepository {
			number = 0
		}
		seen, version := dice.IntN(40), 1+dice.IntN(5)
		d := document.Document{
			Key:     document.Key{Account: account, Kind: kind, Name: fmt.Sprintf("%d-%d", repository, number)},
			Version: minute(version), SeenAt: minute(seen), Raw: fmt.Appendf(nil, `{"is":%d}`, dice.IntN(1000)),
			Fields: document.Fields{Repository: repository, Number: number, Title: fmt.Sprint(dice.IntN(1000)), CreatedAt: minute(int(number))},
		}
		docs = append(docs, d)
		t := m.docs[d.Key]
		if t == nil {
			t = &thing{}
			m.docs[d.Key], m.repositories[d.Key] = t, repository
		}
		if version >= t.version {
			t.version, t.title = version, d.Title
		}
		t.seen = max(t.seen, seen)
		if kind == KindRepository {
			h := m.home(account, repository)
			h.seen = max(h.seen, seen)
		}
	}
	return docs
}

// claim makes an absence and brings the model up to date.
func (m *model) claim(dice *rand.Rand) document.Absence {
	whys := []document.Reason{document.GoneDeleted, document.GoneTransferred, document.GoneRewritten}
	at := 1 + dice.IntN(40)
	a := document.Absence{Account: 1 + dice.Int64N(2), Repository: 10 + dice.Int64N(2), Why: whys[dice.IntN(len(whys))], Since: minute(at)}
	kinds := []document.Kind{"", KindCommit, KindIssue, KindPull, KindRepository}
	if a.Kind = kinds[dice.IntN(len(kinds))]; a.Kind == "" {
		m.home(a.Account, a.Repository).claim(a.Why, at)
		return a
	}
	unseen := 1 + dice.IntN(45)
	a.NotSeenSince = minute(unseen)
	for key, t := range m.docs {
		if key.Account != a.Account || key.Kind != a.Kind || m.repositories[key] != a.Repository {
			continue
		}
		if t.seen < unseen {
			t.claim(a.Why, at)
		}
	}
	return a
}

// check compares a document with the model.
func (m *model) check(d *document.Document) string {
	t := m.docs[d.Key]
	if t == nil {
		return "is not in the model"
	}
	h := m.home(d.Account, d.Repository)
	var by *thing
	switch {
	case t.holds(t.seen):
		by = t
	case d.Kind != KindEvent && h.holds(h.seen):
		by = h
	}
	gone, why, since := by != nil, document.Reason(""), 0
	if gone {
		why, since = by.why, max(by.since, t.seen)
	}
	if d.Deleted != gone || d.GoneWhy != why || !d.GoneSince.Equal(minute(since)) {
		return fmt.Sprintf("is gone %t (%s, %v), want %t (%s, %v); %+v in %+v", d.Deleted, d.GoneWhy, d.GoneSince, gone, why, minute(since), *t, *h)
	}
	if !d.SeenAt.Equal(minute(t.seen)) || !d.Version.Equal(minute(t.version)) || d.Title != t.title {
		return fmt.Sprintf("was seen at %v in version %v (%q), want %+v", d.SeenAt, d.Version, d.Title, *t)
	}
	return ""
}

// randomAbsences stores and claims at random, and compares with a model that
// knows nothing of stores.
func randomAbsences(x *fixture) {
	dice := x.dice()
	m := &model{docs: map[document.Key]*thing{}, homes: map[[2]int64]*thing{}, repositories: map[document.Key]int64{}}
	gone := 0
	for step := range 250 {
		if dice.IntN(5) < 3 {
			x.upsert(m.upsert(dice)...)
		} else {
			x.ok(x.MarkDeleted(x.Context(), []document.Absence{m.claim(dice), m.claim(dice)}))
		}
		if step%5 != 0 {
			continue
		}
		docs := x.scan(document.Query{})
		for i := range docs {
			if problem := m.check(&docs[i]); problem != "" {
				x.Fatalf("step %d: %+v %s", step, docs[i].Key, problem)
			}
			if docs[i].Deleted {
				gone++
			}
		}
		if len(docs) != len(m.docs) {
			x.Fatalf("step %d: %d documents, want %d", step, len(docs), len(m.docs))
		}
	}
	if gone == 0 {
		x.Error("nothing was ever gone: the test proves nothing")
	}
}
