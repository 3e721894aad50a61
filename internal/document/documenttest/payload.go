package documenttest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"sluice/internal/document"
)

var payloadCases = []testCase{
	{"Payloads", payloads},
	{"ManyInOneBatch", manyInOneBatch},
	{"Fields", fields},
	{"Strings", awkwardStrings},
	{"Times", times},
}

// noise is JSON that does not compress.
func noise(n int) []byte {
	dice := rand.New(rand.NewPCG(1, uint64(n)))
	b := make([]byte, 0, n+2)
	b = append(b, '"')
	for len(b) < n {
		b = append(b, byte('#'+dice.IntN(57))) // no quote, no backslash
	}
	return append(b, '"')
}

func payloads(x *fixture) {
	bodies := map[string][]byte{
		"none":    nil,
		"empty":   {},
		"byte":    []byte("0"),
		"object":  []byte(`{"a":[1,2,{"b":null}],"c":"\u0000\ud83d\ude00"}`),
		"unicode": []byte(`{"title":"한국어 🚰 Ω\u200d"}`),
		"zeros":   bytes.Repeat([]byte("0"), 1<<20),
		"noise":   noise(300_000),
		"bytes":   {0, 1, 2, 0xff, 0xfe, 0, '"', '\\', 0x80},
		"5 MB":    append(append([]byte(`["`), noise(5 << 20)[1:]...), ']'),
	}
	together := make([]document.Document, 0, len(bodies))
	for name, raw := range bodies {
		d := issue(1, name, 1)
		d.Raw = raw
		x.upsert(d)
		x.expect(d)
		d.Account = 2
		together = append(together, d)
	}
	x.upsert(together...)
	for _, d := range together {
		x.expect(d)
	}
	for i, d := range x.scan(document.Query{Account: 2, WithRaw: true}) {
		if !bytes.Equal(d.Raw, bodies[d.Name]) {
			x.Errorf("scan %d: the payload of %q has %d bytes, want %d", i, d.Name, len(d.Raw), len(bodies[d.Name]))
		}
	}
}

func manyInOneBatch(x *fixture) {
	const many = 1_337
	docs := make([]document.Document, many)
	for i := range docs {
		docs[i] = issue(1, fmt.Sprintf("%05d", i), i)
		docs[i].Raw = bytes.Repeat([]byte{'a' + byte(i%26)}, i%97)
	}
	x.upsert(docs...)
	for _, i := range []int{0, 1, 63, 64, 65, 640, many - 2, many - 1} {
		x.expect(docs[i])
	}
	got := x.scan(document.Query{Account: 1, WithRaw: true})
	if len(got) != many {
		x.Fatalf("%d documents, want %d", len(got), many)
	}
	for i := range got {
		if problem := difference(got[i], docs[i]); problem != "" {
			x.Fatalf("document %d: %s", i, problem)
		}
	}
}

func fields(x *fixture) {
	full := issue(1, "full", 1)
	full.Fields = document.Fields{
		Repository: 1 << 40, Number: 17, State: "closed", Title: "a title", Author: "octocat", Language: "Go",
		Stars: 123456, Additions: 10, Deletions: 1 << 33, CreatedAt: instant(1), UpdatedAt: instant(2), ClosedAt: instant(3),
		MergedAt: instant(4), ClosedBy: "hubot",
	}
	x.upsert(full)
	x.expect(full)
	blank := issue(1, "blank", 1)
	blank.Fields, blank.Version = document.Fields{}, time.Time{}
	x.upsert(blank)
	x.expect(blank)
	setters := []func(*document.Fields){
		func(f *document.Fields) { f.Fork = true },
		func(f *document.Fields) { f.Private = true },
		func(f *document.Fields) { f.External = true },
		func(f *document.Fields) { f.Truncated = true },
		func(f *document.Fields) { f.Measured = true },
	}
	for mask := range 1 << len(setters) {
		d := issue(2, fmt.Sprintf("flags-%05b", mask), 1)
		for i, set := range setters {
			if mask&(1<<i) != 0 {
				set(&d.Fields)
			}
		}
		x.upsert(d)
		x.expect(d)
	}
}

func awkwardStrings(x *fixture) {
	for _, s := range []string{
		`'; DROP TABLE document; --`, `"quoted"`, `back\slash`, "Ω≈ç√ 한국어 🚰", "line\nbreak\ttab", "?1 :a @b $c", "  spaces  ", "a:b/c d",
		strings.Repeat("long ", 2000),
	} {
		d := issue(1, s, 1)
		d.Kind = document.Kind("kind " + s)
		d.State, d.Title, d.Author, d.Language, d.ClosedBy = s, s, s, s, s
		x.upsert(d)
		x.expect(d)
		if got := x.scan(document.Query{Account: 1, Kind: d.Kind}); len(got) != 1 || got[0].Name != s {
			x.Errorf("a scan for kind %q found %v", d.Kind, names(got))
		}
	}
}

func times(x *fixture) {
	zone := time.FixedZone("elsewhere", -7*3600)
	for i, at := range []time.Time{
		{}, instant(0), time.Date(1969, 12, 31, 23, 59, 59, 999999000, time.UTC),
		time.Date(2026, 2, 3, 4, 5, 6, 789012000, zone), time.Date(9999, 12, 31, 0, 0, 0, 1000, time.UTC),
	} {
		d := issue(1, fmt.Sprintf("time-%d", i), 1)
		d.Version, d.CreatedAt, d.UpdatedAt, d.ClosedAt, d.MergedAt = at, at, at, at, at
		x.upsert(d)
		got, _, err := x.Get(x.Context(), d.Key)
		x.ok(err)
		for _, back := range []time.Time{got.Version, got.CreatedAt, got.UpdatedAt, got.ClosedAt, got.MergedAt} {
			if !back.Equal(at) || back.IsZero() != at.IsZero() {
				x.Errorf("%v came back as %v", at, back)
			}
		}
	}
}
