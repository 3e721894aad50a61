package wordindextest

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"sluice/internal/document"
	"sluice/internal/document/documenttest"
	"sluice/internal/document/wordindex"
	"sluice/internal/testkit"
)

// random changes documents and searches them, and compares what is found with a model
// that has nothing in common with the product: it knows ASCII alone, builds searches
// from their parts, and compares texts that are cut at spaces.
func random(t *testing.T, open func(t *testing.T) wordindex.Index) {
	seed := testkit.Seed(t)
	rounds := 12
	if testing.Short() {
		rounds = 4
	}
	rnd := rand.New(rand.NewPCG(seed, 1))
	x := newFixture(t, open(t))
	m := &model{Rand: rnd, docs: map[document.Key]document.Document{}}
	for range rounds {
		for range 1 + rnd.IntN(12) {
			m.act(x)
			if rnd.IntN(3) == 0 {
				_, err := x.f.Step(t.Context())
				x.ok(err)
			}
		}
		x.catchUp()
		for range 40 {
			m.compare(x)
		}
	}
}

// model is what the documents are.
type model struct {
	*rand.Rand
	docs map[document.Key]document.Document
	// minute grows, so that no two documents are of one second.
	minute int
}

// vocabulary has words that begin like others, and words that servers leave out.
var vocabulary = strings.Fields("a an and ab abc abcd abcde the of fix fixed fixes prefix x y z 1 12 123 not or near word words")

func (m *model) text() string {
	var out []string
	for range m.IntN(7) {
		word := vocabulary[m.IntN(len(vocabulary))]
		if m.IntN(4) == 0 {
			word = strings.ToUpper(word)
		}
		out = append(out, word+[]string{"", ".", ",", "!", "?"}[m.IntN(5)])
	}
	return strings.Join(out, " ")
}

func (m *model) act(x *fixture) {
	account := int64(1 + m.IntN(3))
	switch m.IntN(12) {
	case 0:
		_, err := x.docs.Purge(x.Context(), account, 1000)
		x.ok(err)
		for key := range m.docs {
			if key.Account == account {
				delete(m.docs, key)
			}
		}
	case 1:
		_, err := x.docs.TrimChanges(x.Context(), began.AddDate(1, 0, 0), m.IntN(30))
		x.ok(err)
	default:
		var docs []document.Document
		for range 1 + m.IntN(20) {
			m.minute++
			d := doc(account, fmt.Sprint("n", m.IntN(25)), m.minute, m.text(), m.text())
			if m.IntN(3) == 0 {
				d.Kind = documenttest.KindPull
			}
			docs = append(docs, d)
			m.docs[d.Key] = d
		}
		x.upsert(docs...)
	}
}

// asked is a term of a search.
type asked struct {
	words   []string
	not     bool
	prefix  bool
	written string
}

func (m *model) ask() (terms []asked, written string) {
	some := false
	var all []string
	for !some {
		terms, all = nil, nil
		for range 1 + m.IntN(3) {
			a := asked{not: m.IntN(4) == 0}
			for range 1 + m.IntN(3)*m.IntN(2) {
				a.words = append(a.words, vocabulary[m.IntN(len(vocabulary))])
			}
			a.written = strings.Join(a.words, " ")
			if last := a.words[len(a.words)-1]; len(a.words) > 1 || m.IntN(5) == 0 {
				a.written = `"` + a.written + `"`
			} else if m.IntN(3) == 0 && len(last) > 1 {
				a.prefix, a.written = true, a.written+"*"
			}
			if m.IntN(3) == 0 {
				a.written = strings.ToUpper(a.written)
			}
			if a.not {
				a.written = "-" + a.written
			}
			some = some || !a.not
			terms, all = append(terms, a), append(all, a.written)
		}
	}
	return terms, strings.Join(all, " ")
}

// in says whether a term is in a text: the words of both stand between spaces, so that
// what is searched for is a part of the text.
func (a *asked) in(text string) bool {
	var plain []string
	for _, word := range strings.Fields(text) {
		plain = append(plain, strings.ToLower(strings.TrimRight(word, ".,!?")))
	}
	end := " "
	if a.prefix {
		end = ""
	}
	return strings.Contains(" "+strings.Join(plain, " ")+" ", " "+strings.Join(a.words, " ")+end)
}

func (m *model) compare(x *fixture) {
	terms, query := m.ask()
	r := wordindex.Request{Query: query, Limit: 1 + m.IntN(10)}
	if m.IntN(3) == 0 {
		r.Account = int64(1 + m.IntN(3))
	}
	for _, kind := range []document.Kind{documenttest.KindIssue, documenttest.KindPull} {
		if m.IntN(3) == 0 {
			r.Kinds = append(r.Kinds, kind)
		}
	}
	var found []document.Document
	for _, d := range m.docs {
		wanted := (r.Account == 0 || d.Account == r.Account) && (len(r.Kinds) == 0 || slices.Contains(r.Kinds, d.Kind))
		for _, a := range terms {
			there := a.in(d.Title) || a.in(d.Own["body"].Text)
			wanted = wanted && there != a.not
		}
		if wanted {
			found = append(found, d)
		}
	}
	slices.SortFunc(found, func(a, b document.Document) int { return cmp.Compare(b.UpdatedAt.Unix(), a.UpdatedAt.Unix()) })
	var want []string
	for _, d := range found {
		want = append(want, d.Name)
	}
	if got := x.search(r); !slices.Equal(got, want) {
		x.Errorf("%+v finds %v, want %v", r, got, want)
	}
}
