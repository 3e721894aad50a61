package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"time"

	driver "zombiezen.com/go/sqlite"

	"sluice/bench/report"
	"sluice/bench/servers"
	"sluice/internal/backend/mysql"
	"sluice/internal/backend/postgres"
	"sluice/internal/backend/relational"
	"sluice/internal/backend/sqlite"
	"sluice/internal/document"
	"sluice/internal/document/wordindex"
	"sluice/internal/source/github"
)

// What searches are measured on: documents of about forty words each, of a vocabulary
// whose words are as frequent as those of a language.
const (
	searchDocuments = 1_000_000
	searchOnServers = 200_000
	searchWords     = 50_000
	searchTarget    = 50.0 // ms
)

// search measures what people wait for when they search many documents on an embedded
// database, beside the same question put to FTS5 itself.
func search(ctx context.Context, l *lab) error {
	dir, remove, err := l.folder("search")
	if err != nil {
		return err
	}
	defer remove()
	db, err := sqlite.Open(ctx, sqlite.Options{Dir: dir, Holder: "bench"})
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	docs, err := sqlite.NewDocuments(ctx, db, github.Describe().Kinds)
	if err != nil {
		return err
	}
	x := &searching{name: "sqlite", peer: "FTS5 itself", index: sqlite.NewWords(db)}
	if x.docs, err = searchedIn(docs); err != nil {
		return err
	}
	x.raw = func(ctx context.Context, q *searchQuery) error {
		return db.Read(ctx, func(c *driver.Conn) error {
			return sqlite.Exec(c, "SELECT rowid FROM word_text WHERE word_text MATCH ? ORDER BY rowid DESC LIMIT 20", nil, q.fts5())
		})
	}
	return x.run(ctx, l, l.size(searchDocuments, 5_000))
}

// searchServers is search on servers, beside full-text indexes of theirs that are made
// from the same words and asked for the newest, too.
func searchServers(ctx context.Context, l *lab) error {
	documents := l.size(searchOnServers, 2_000)
	return errors.Join(searchMariaDB(ctx, l, documents), searchPostgres(ctx, l, documents))
}

func searchMariaDB(ctx context.Context, l *lab, documents int) error {
	url, drop, err := l.servers.Database(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = drop() }()
	db, err := mysql.Open(ctx, mysql.Options{URL: url})
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	address, name, _ := strings.Cut(strings.TrimPrefix(url, "mysql://root@"), "/")
	plain, err := servers.OpenDatabase(address)
	if err != nil {
		return err
	}
	defer func() { _ = plain.Close() }()
	plain.SetMaxOpenConns(1)
	x := &searching{name: "mariadb", peer: "a FULLTEXT index", prepare: []string{
		"USE " + name,
		"CREATE TABLE raw_words (id BIGINT NOT NULL PRIMARY KEY, words LONGTEXT NOT NULL) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 AS SELECT id, CONVERT(words USING utf8mb4) AS words FROM word_entry",
		"ALTER TABLE raw_words ADD FULLTEXT (words)",
	}}
	x.raw = func(ctx context.Context, q *searchQuery) error {
		return askRaw(ctx, plain, "SELECT id FROM raw_words WHERE MATCH (words) AGAINST (? IN BOOLEAN MODE) ORDER BY id DESC LIMIT 20", q.boolean())
	}
	return x.relational(ctx, l, db, plain, documents)
}

func searchPostgres(ctx context.Context, l *lab, documents int) error {
	url, err := l.servers.Postgres(ctx)
	if err != nil {
		return err
	}
	db, err := postgres.Open(ctx, postgres.Options{URL: url + "/postgres"})
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	plain, err := sql.Open("pgx", url+"/postgres")
	if err != nil {
		return err
	}
	defer func() { _ = plain.Close() }()
	x := &searching{name: "postgres", peer: "a GIN index", prepare: []string{
		"CREATE TABLE raw_words AS SELECT id, array_to_tsvector(string_to_array(convert_from(words, 'UTF8'), ' ')) AS words FROM word_entry",
		"ALTER TABLE raw_words ADD PRIMARY KEY (id)",
		"CREATE INDEX ON raw_words USING gin (words)", "ANALYZE raw_words", "ANALYZE word_posting",
	}}
	x.raw = func(ctx context.Context, q *searchQuery) error {
		return askRaw(ctx, plain, "SELECT id FROM raw_words WHERE words @@ to_tsquery('simple', $1) ORDER BY id DESC LIMIT 20", q.tsquery())
	}
	return x.relational(ctx, l, db, plain, documents)
}

func askRaw(ctx context.Context, db *sql.DB, query, match string) error {
	rows, err := db.QueryContext(ctx, query, match)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return err
		}
	}
	return rows.Err()
}

// searching is one store.
type searching struct {
	name, peer string
	docs       searchedStore
	index      wordindex.Index
	// prepare is done once the documents are indexed, by exec.
	prepare []string
	exec    func(ctx context.Context, statement string) error
	raw     func(ctx context.Context, q *searchQuery) error
}

// searchedStore is a store of documents that are searched.
type searchedStore interface {
	document.Writer
	wordindex.Documents
	document.Feed
}

func searchedIn(docs document.Store) (searchedStore, error) {
	if store, ok := docs.(searchedStore); ok {
		return store, nil
	}
	return nil, errors.New("the store has no feed of changes, which an index follows")
}

func (x *searching) relational(ctx context.Context, l *lab, db *relational.DB, plain *sql.DB, documents int) error {
	docs, err := relational.NewDocuments(ctx, db, github.Describe().Kinds)
	if err != nil {
		return err
	}
	if x.docs, err = searchedIn(docs); err != nil {
		return err
	}
	x.index, x.exec = relational.NewWords(db), execOn(plain)
	return x.run(ctx, l, documents)
}

func (x *searching) run(ctx context.Context, l *lab, documents int) error {
	words := newVocabulary()
	began := time.Now()
	for n := 0; n < documents; n += 500 {
		if err := x.docs.Upsert(ctx, words.documents(n, min(n+500, documents))); err != nil {
			return err
		}
	}
	stored := time.Now()
	f := &wordindex.Follower{Index: x.index, Feed: x.docs, Documents: x.docs, Kinds: github.Describe().Kinds, Log: slog.New(slog.DiscardHandler)}
	for idle := false; !idle; {
		var err error
		if idle, err = f.Step(ctx); err != nil {
			return err
		}
	}
	l.notef("%s: %d documents stored in %.0f s and indexed in %.0f s", x.name, documents, stored.Sub(began).Seconds(), time.Since(stored).Seconds())
	for _, statement := range x.prepare {
		if err := x.exec(ctx, statement); err != nil {
			return fmt.Errorf("%.80s…: %w", statement, err)
		}
	}
	return x.measure(ctx, l, words, documents)
}

func (x *searching) measure(ctx context.Context, l *lab, words *vocabulary, documents int) error {
	s := &wordindex.Searcher{Index: x.index, Feed: x.docs, Documents: x.docs, Kinds: github.Describe().Kinds}
	rounds := l.size(200, 20)
	var all, raws []float64
	var failed error
	for _, kind := range searchKinds {
		var took, raw []float64
		for i := range rounds + 5 {
			q := kind.make(words)
			began := time.Now()
			if _, err := s.Search(ctx, wordindex.Request{Query: q.String(), Limit: 20}); err != nil {
				return fmt.Errorf("%s: %w", &q, err)
			}
			one := time.Since(began).Seconds() * 1000
			began = time.Now()
			if err := x.raw(ctx, &q); err != nil {
				return fmt.Errorf("%s, raw: %w", &q, err)
			}
			if i >= 5 { // the first ones fill caches
				took, raw = append(took, one), append(raw, time.Since(began).Seconds()*1000)
			}
		}
		failed = errors.Join(failed, x.add(l, "_"+kind.name, took, raw, documents))
		all, raws = append(all, took...), append(raws, raw...)
	}
	return errors.Join(failed, x.add(l, "", all, raws, documents))
}

func (x *searching) add(l *lab, name string, took, raw []float64, documents int) error {
	p95 := report.Quantile(took, 0.95)
	return l.report.Add(report.Line{
		Name: "search" + name + "_" + x.name, Value: p95, Unit: "ms",
		Detail: fmt.Sprintf("p95 of %d searches for 20 of %d documents, each read anew; p50 %.2f ms, of the peer %.2f ms", len(took), documents, report.Quantile(took, 0.5), report.Quantile(raw, 0.5)),
	}.Against(x.peer+", without the documents", report.Quantile(raw, 0.95)).Aim("< 50 ms", p95 < searchTarget))
}

// vocabulary makes texts.
type vocabulary struct {
	*rand.Rand
	words []string
	zipf  *rand.Zipf
}

func newVocabulary() *vocabulary {
	v := &vocabulary{Rand: rand.New(rand.NewPCG(1, 2))}
	syllables := strings.Fields("ba be bi bo ka ke ki ko la le li lo ma me mi mo na ne ni no ra re ri ro sa se si so ta te ti to")
	for i := range searchWords {
		word := ""
		for n := i + 32*32; n > 0; n /= 32 {
			word += syllables[n%32]
		}
		v.words = append(v.words, word)
	}
	v.zipf = rand.NewZipf(v.Rand, 1.1, 4, searchWords-1)
	return v
}

func (v *vocabulary) text(words int) string {
	out := make([]string, words)
	for i := range out {
		out[i] = v.words[v.zipf.Uint64()]
	}
	return strings.Join(out, " ")
}

func (v *vocabulary) documents(from, to int) (docs []document.Document) {
	for n := from; n < to; n++ {
		at := time.Unix(1_600_000_000+int64(v.IntN(200_000_000)), 0).UTC()
		d := document.Document{Key: document.Key{Account: int64(1 + n%100), Kind: "issue", Name: fmt.Sprint(n)}, Version: at, SeenAt: at}
		d.Repository, d.Title, d.CreatedAt, d.UpdatedAt = int64(1+n%1000), v.text(6), at, at
		d.Set("body", document.Text(v.text(34)))
		docs = append(docs, d)
	}
	return docs
}

// searchQuery is a search that can be put in several ways.
type searchQuery struct {
	has      []string
	prefix   string
	excluded string
}

// searchKinds are what is searched for.
var searchKinds = []struct {
	name string
	make func(*vocabulary) searchQuery
}{
	{"frequent", func(v *vocabulary) searchQuery { return searchQuery{has: v.some(1, 0, 20)} }},
	{"medium", func(v *vocabulary) searchQuery { return searchQuery{has: v.some(1, 200, 2_000)} }},
	{"rare", func(v *vocabulary) searchQuery { return searchQuery{has: v.some(1, 10_000, searchWords)} }},
	{"two_frequent", func(v *vocabulary) searchQuery { return searchQuery{has: v.some(2, 0, 50)} }},
	{"two_medium", func(v *vocabulary) searchQuery { return searchQuery{has: v.some(2, 200, 2_000)} }},
	{"frequent_rare", func(v *vocabulary) searchQuery {
		return searchQuery{has: append(v.some(1, 0, 20), v.some(1, 10_000, searchWords)...)}
	}},
	{"excluding", func(v *vocabulary) searchQuery {
		return searchQuery{has: v.some(1, 200, 2_000), excluded: v.some(1, 0, 20)[0]}
	}},
	{"prefix", func(v *vocabulary) searchQuery {
		word := v.some(1, 200, 2_000)[0]
		return searchQuery{prefix: word[:len(word)-1]}
	}},
}

// some are words that are about so frequent, each once.
func (v *vocabulary) some(n, from, to int) (words []string) {
	at := from + v.IntN(to-from)
	for i := range n {
		words = append(words, v.words[from+(at-from+i*7)%(to-from)])
	}
	return words
}

// String is the search as people write it.
func (q *searchQuery) String() string {
	parts := q.has
	if q.prefix != "" {
		parts = append(parts[:len(parts):len(parts)], q.prefix+"*")
	}
	if q.excluded != "" {
		parts = append(parts[:len(parts):len(parts)], "-"+q.excluded)
	}
	return strings.Join(parts, " ")
}

func (q *searchQuery) fts5() string {
	match := strings.Join(q.has, " AND ")
	if q.prefix != "" {
		match += q.prefix + "*"
	}
	if q.excluded != "" {
		match += " NOT " + q.excluded
	}
	return match
}

func (q *searchQuery) boolean() string {
	match := ""
	for _, word := range q.has {
		match += "+" + word + " "
	}
	if q.prefix != "" {
		match += "+" + q.prefix + "* "
	}
	if q.excluded != "" {
		match += "-" + q.excluded
	}
	return match
}

func (q *searchQuery) tsquery() string {
	match := strings.Join(q.has, " & ")
	if q.prefix != "" {
		match += q.prefix + ":*"
	}
	if q.excluded != "" {
		match += " & !" + q.excluded
	}
	return match
}
