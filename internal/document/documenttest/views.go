package documenttest

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	"sluice/internal/document"
	"sluice/internal/document/views"
	"sluice/internal/domain"
	"sluice/internal/testkit"
)

// Viewed is a store whose documents can be read by views as well.
type Viewed struct {
	// Open opens the store of kinds, on one database each time.
	Open func(t *testing.T, kinds document.Kinds) document.Store
	// AddAccount stores an account.
	AddAccount func(t *testing.T, a domain.Account)
	// Rows reads columns of a view, in the order of the first ones. Values are those
	// of the driver.
	Rows func(t *testing.T, query string) [][]any
	// Quote is a name in quotation marks.
	Quote func(name string) string
}

// viewedKinds have a column of every origin, as every type that it has, with null
// and without; one kind lies in containers, one is the account's, one is a container.
func viewedKinds() document.Kinds {
	every := func(id document.Type) []document.Column {
		columns := []document.Column{{Name: "id", Type: id, From: document.FromName}}
		add := func(t document.Type, nullable bool, origins ...document.Origin) {
			for _, from := range origins {
				name := string(from)
				if nullable {
					name = "maybe_" + name
				}
				columns = append(columns, document.Column{Name: name, Type: t, From: from, Nullable: nullable})
			}
		}
		for _, nullable := range []bool{false, true} {
			add(document.TypeText, nullable, document.FromAccount, document.FromSource, document.FromContainerTitle, document.FromState,
				document.FromVisibleState, document.FromTitle, document.FromAuthor, document.FromLanguage, document.FromClosedBy, document.FromGoneWhy)
			add(document.TypeInteger, nullable, document.FromContainer, document.FromNumber, document.FromStars, document.FromAdditions, document.FromDeletions)
		}
		add(document.TypeBoolean, false, document.FromFork, document.FromPrivate, document.FromExternal, document.FromDeleted, document.FromTruncated)
		add(document.TypeInstant, true, document.FromCreatedAt, document.FromUpdatedAt, document.FromClosedAt, document.FromMergedAt, document.FromGoneSince)
		return append(columns, ownColumns()...)
	}
	const source = "suite"
	end := document.Column{Name: "end", Type: document.TypeText, From: document.FromNameEnd}
	return document.Kinds{
		{Kind: KindRepository, Source: source, Plural: "repositories", Container: true, Columns: every(document.TypeInteger)},
		{Kind: KindCommit, Source: source, Plural: "commits", Columns: append(every(document.TypeText), end)},
		// The name of a table of every store, and a word of SQL.
		{Kind: KindIssue, Source: source, Plural: "statistics", Columns: every(document.TypeInteger)},
		{Kind: KindEvent, Source: source, Plural: "group", Independent: true, Columns: every(document.TypeText)},
		{Kind: KindProfile, Source: source, Plural: "profiles"},
	}
}

// viewNames are what the views of those kinds are called.
var viewNames = map[document.Kind]string{
	KindRepository: "repositories", KindCommit: "commits", KindIssue: views.Prefix + "statistics", KindEvent: "group",
}

// RunViews checks that views show what columns say of the same documents, also after
// the declaration has changed.
func RunViews(t *testing.T, v Viewed) {
	seed := testkit.Seed(t)
	random := rand.New(rand.NewPCG(seed, 1))
	kinds := viewedKinds()
	accounts := []domain.Account{{ID: 1, Source: "suite", Login: "Ann-é"}, {ID: 2, Source: "suite", Login: "bob"}}
	store := v.Open(t, kinds)
	for _, a := range accounts {
		v.AddAccount(t, a)
	}
	for range 6 {
		storeRandom(t, random, store, accounts)
	}
	checkViews(t, v, store, kinds, accounts)

	for i := range kinds {
		if len(kinds[i].Columns) > 0 {
			// One more in the middle, one less, and one of another type.
			columns := slices.DeleteFunc(slices.Clone(kinds[i].Columns), func(c document.Column) bool { return c.Name == "title" || c.Name == "fork" })
			columns = slices.Insert(columns, 3, own("later", document.TypeText))
			kinds[i].Columns = append(columns, document.Column{Name: "fork", Type: document.TypeInteger, From: document.FromNumber})
		}
	}
	checkViews(t, v, v.Open(t, kinds), kinds, accounts)
	checkViews(t, v, v.Open(t, kinds), kinds, accounts)
}

// storeRandom stores documents of every kind, and claims that some are gone.
func storeRandom(t *testing.T, random *rand.Rand, store document.Store, accounts []domain.Account) {
	t.Helper()
	var docs []document.Document
	for _, a := range accounts {
		for range 30 {
			docs = append(docs, randomViewed(random, a.ID))
		}
	}
	if err := store.Upsert(t.Context(), docs); err != nil {
		t.Fatal(err)
	}
	reasons := []document.Reason{document.GoneDeleted, document.GoneBlocked, document.GoneTransferred}
	var absences []document.Absence
	for range 4 {
		claim := document.Absence{Account: 1 + random.Int64N(2), Repository: 1 + random.Int64N(4), Why: reasons[random.IntN(len(reasons))], Since: instant(random.IntN(20))}
		if random.IntN(2) == 0 {
			claim.Kind, claim.NotSeenSince = []document.Kind{KindCommit, KindIssue}[random.IntN(2)], claim.Since
		}
		absences = append(absences, claim)
	}
	if err := store.MarkDeleted(t.Context(), absences); err != nil {
		t.Fatal(err)
	}
}

func randomViewed(random *rand.Rand, account int64) document.Document {
	word := func() string {
		return []string{"", " ", "   ", "O'Hara", `a "b" \ %s`, "한국어 🚰", "x\ny", "null"}[random.IntN(8)]
	}
	when := func() time.Time {
		if random.IntN(4) == 0 {
			return time.Time{}
		}
		// Before 1970 as well.
		return time.UnixMicro(random.Int64N(4e15) - 1e15).UTC()
	}
	yes := func() bool { return random.IntN(2) == 0 }
	id := 1 + random.Int64N(4)
	d := document.Document{Version: instant(random.IntN(20)), SeenAt: instant(random.IntN(20)), Raw: []byte("{}")}
	d.Fields = document.Fields{
		Repository: id, Number: random.Int64N(100), State: word(), Title: word(), Author: word(), Language: word(), Stars: random.Int64N(9),
		Additions: random.Int64N(9), Deletions: random.Int64N(9), CreatedAt: when(), UpdatedAt: when(), ClosedAt: when(), MergedAt: when(),
		ClosedBy: word(), Fork: yes(), Private: yes(), External: yes(), Truncated: yes(), Measured: yes(),
	}
	d.Account = account
	switch d.Kind = []document.Kind{KindRepository, KindCommit, KindIssue, KindEvent}[random.IntN(4)]; d.Kind {
	case KindRepository:
		d.Name = strconv.FormatInt(id, 10)
	case KindIssue:
		d.Name = strconv.FormatInt(random.Int64N(1<<60), 10)
	case KindEvent:
		d.Name, d.Repository = fmt.Sprintf("é%d", random.IntN(1000)), random.Int64N(5)
	default:
		d.Name = fmt.Sprintf("%d:%x", id, random.Uint64())
	}
	if yes() {
		d.Set("mood", document.Text(word()))
		d.Set("votes", document.Integer(random.Int64()-1<<62))
	}
	if yes() {
		d.Set("pinned", document.Boolean(yes()))
		d.Set("locked_at", document.Instant(when()))
	}
	return d
}

// checkViews compares every view with the documents that are scanned.
func checkViews(t *testing.T, v Viewed, store document.Store, kinds document.Kinds, accounts []domain.Account) {
	t.Helper()
	for i := range kinds {
		if k := &kinds[i]; len(k.Columns) > 0 {
			want := viewedRows(t, store, kinds, k, accounts)
			if len(want) == 0 {
				t.Fatalf("there are no documents of the kind %s", k.Kind)
			}
			list := ""
			for _, c := range k.Columns {
				list += ", " + v.Quote(c.Name)
			}
			rows := v.Rows(t, "SELECT "+list[2:]+" FROM "+v.Quote(viewNames[k.Kind]))
			compareRows(t, k, rows, want)
		}
	}
	if got := v.Rows(t, "SELECT id, login, source, state FROM accounts ORDER BY id"); len(got) != len(accounts) || plainText(got[0][1]) != accounts[0].Login {
		t.Errorf("the accounts are %v", got)
	}
}

// viewedRows are the rows of a kind's table, as texts.
func viewedRows(t *testing.T, store document.Store, kinds document.Kinds, k *document.Declaration, accounts []domain.Account) (rows [][]string) {
	t.Helper()
	for _, a := range accounts {
		at := &document.Place{Account: a, Titles: map[int64]string{}}
		for _, container := range kinds.Containers() {
			scanAll(t, store, document.Query{Account: a.ID, Kind: container}, func(d *document.Document) { at.Titles[d.Repository] = d.Title })
		}
		scanAll(t, store, document.Query{Account: a.ID, Kind: k.Kind}, func(d *document.Document) {
			row := make([]string, len(k.Columns))
			for i := range k.Columns {
				value, err := k.Columns[i].Value(d, at)
				if err != nil {
					t.Fatal(err)
				}
				row[i] = shownValue(k.Columns[i].Type, value)
			}
			rows = append(rows, row)
		})
	}
	return rows
}

func scanAll(t *testing.T, store document.Store, q document.Query, each func(*document.Document)) {
	t.Helper()
	err := store.Scan(t.Context(), q, func(d *document.Document) error { each(d); return nil })
	if err != nil {
		t.Fatal(err)
	}
}

func shownValue(typ document.Type, v document.Value) string {
	switch {
	case v.Null:
		return "NULL"
	case typ == document.TypeInteger:
		return strconv.FormatInt(v.Integer, 10)
	case typ == document.TypeBoolean:
		return strconv.FormatBool(v.Boolean)
	case typ == document.TypeInstant:
		return v.Instant.Format(time.RFC3339Nano)
	}
	return "text " + v.Text
}

func plainText(v any) string {
	if b, ok := v.([]byte); ok {
		return string(b)
	}
	return fmt.Sprint(v)
}

// gotValue is a value of a driver as shownValue has it.
func gotValue(typ document.Type, v any) string {
	text := plainText(v)
	switch at, isTime := v.(time.Time); {
	case v == nil:
		return "NULL"
	case typ == document.TypeBoolean:
		return map[string]string{"0": "false", "1": "true", "false": "false", "true": "true"}[text]
	case typ == document.TypeInstant && isTime:
		return at.UTC().Format(time.RFC3339Nano)
	case typ == document.TypeInstant:
		for _, layout := range []string{time.RFC3339Nano, "2006-01-02 15:04:05.999999", "2006-01-02 15:04:05.999999-07"} {
			if at, err := time.Parse(layout, text); err == nil {
				return at.UTC().Format(time.RFC3339Nano)
			}
		}
	case typ == document.TypeInteger:
		return text
	}
	return "text " + text
}

func compareRows(t *testing.T, k *document.Declaration, rows [][]any, want [][]string) {
	t.Helper()
	got := make([][]string, len(rows))
	for i, row := range rows {
		got[i] = make([]string, len(row))
		for c := range row {
			got[i][c] = gotValue(k.Columns[c].Type, row[c])
		}
	}
	slices.SortFunc(got, slices.Compare)
	slices.SortFunc(want, slices.Compare)
	if reflect.DeepEqual(got, want) {
		return
	}
	if len(got) != len(want) {
		t.Fatalf("the view of %s has %d rows, and there are %d documents", k.Plural, len(got), len(want))
	}
	for i := range want {
		for c := range want[i] {
			if got[i][c] != want[i][c] {
				t.Fatalf("the view of %s shows as %s %q, and the column %q; rows\n%q\n%q", k.Plural, k.Columns[c].Name, got[i][c], want[i][c], got[i], want[i])
			}
		}
	}
}
