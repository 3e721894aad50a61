package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	driver "zombiezen.com/go/sqlite"

	"sluice/bench/report"
	"sluice/internal/backend/mysql"
	"sluice/internal/backend/postgres"
	"sluice/internal/backend/relational"
	"sluice/internal/backend/sqlite"
	"sluice/internal/document"
	"sluice/internal/source/github"
)

// What lists of documents are measured on: half of them are commits and half issues,
// 100 of each in a repository, 25 repositories in an account. There are 2,000 authors
// and 50 labels, of which an issue has two; one issue in four is open. One document
// in 5,000 is gone, and so are ten repositories.
const (
	listedDocuments = 1_000_000
	listedInRepo    = 200
	listedRepos     = 25
	listedBegin     = int64(1_600_000_000_000_000)
	listedMinute    = int64(60_000_000)
	listedPage      = 100
)

// documentShelf is a store with many documents.
type documentShelf struct {
	name  string
	store document.Lister
	exec  func(ctx context.Context, statement string) error
	// rows reads what a statement finds, and drops it.
	rows  func(ctx context.Context, statement string) error
	words shelfWords
	close func()
}

// shelfWords are what the databases say differently.
type shelfWords struct {
	concat        func(parts ...string) string
	divided, keys string
	numbers       string
	before, after []string
}

// documentLists measures pages of 100 documents by every filter in every order, on
// every SQL store, beside a plain SELECT of 100 rows along the primary key.
func documentLists(ctx context.Context, l *lab) error {
	n := l.size(listedDocuments, 20_000)
	failed := documentStoring(ctx, l)
	for _, open := range []func(context.Context, *lab) (*documentShelf, error){shelfEmbedded, shelfMariaDB, shelfPostgres} {
		failed = errors.Join(failed, func() error {
			x, err := open(ctx, l)
			if err != nil {
				return err
			}
			defer x.close()
			began := time.Now()
			if err := x.fill(ctx, n); err != nil {
				return fmt.Errorf("%s: fill: %w", x.name, err)
			}
			l.notef("%s: %d documents in %.0f s", x.name, n, time.Since(began).Seconds())
			return x.measure(ctx, l, n)
		}())
	}
	return failed
}

func bars(parts ...string) string { return strings.Join(parts, " || ") }

func shelfEmbedded(ctx context.Context, l *lab) (*documentShelf, error) {
	dir, remove, err := l.folder("documents")
	if err != nil {
		return nil, err
	}
	db, err := sqlite.Open(ctx, sqlite.Options{Dir: dir, Holder: "bench"})
	if err != nil {
		return nil, err
	}
	store, err := sqlite.NewDocuments(ctx, db, github.Kinds())
	if err != nil {
		return nil, err
	}
	x := &documentShelf{name: "sqlite", store: store, close: func() { _ = db.Close(); remove() }}
	x.exec = func(ctx context.Context, statement string) error {
		return db.Write(ctx, func(c *driver.Conn) error { return sqlite.Exec(c, statement, nil) })
	}
	x.rows = func(ctx context.Context, statement string) error {
		return db.Read(ctx, func(c *driver.Conn) error {
			return sqlite.Exec(c, statement, func(r *driver.Stmt) {
				for i := range r.ColumnCount() {
					_ = r.ColumnText(i)
				}
			})
		})
	}
	err = db.Read(ctx, func(c *driver.Conn) (err error) {
		x.words, err = embeddedWords(c)
		return err
	})
	return x, err
}

// embeddedWords are those of SQLite. Indexes are built faster when everything is there.
// Nobody analyses an embedded database, and SQLite would prepare statements anew for every
// value then.
func embeddedWords(c *driver.Conn) (w shelfWords, err error) {
	w = shelfWords{
		concat: bars, divided: "/", keys: "%s",
		numbers: "(WITH RECURSIVE s (n) AS (SELECT %d UNION ALL SELECT n + 1 FROM s WHERE n < %d) SELECT n FROM s) AS s",
	}
	return w, sqlite.Exec(c, "SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'document' AND sql IS NOT NULL", func(r *driver.Stmt) {
		w.before = append(w.before, "DROP INDEX "+r.ColumnText(0))
		w.after = append([]string{r.ColumnText(1)}, w.after...)
	})
}

// shelfOn is a shelf on a server.
func shelfOn(ctx context.Context, name string, db *relational.DB, drop func()) (*documentShelf, error) {
	store, err := relational.NewDocuments(ctx, db, github.Kinds())
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &documentShelf{
		name: name, store: store, close: func() { _ = db.Close(); drop() },
		exec: func(ctx context.Context, statement string) error {
			_, err := db.Exec(ctx, statement)
			return err
		},
		rows: func(ctx context.Context, statement string) error {
			return db.Query(ctx, func(r *sql.Rows) error {
				columns, err := r.Columns()
				if err != nil {
					return err
				}
				into := make([]any, len(columns))
				for i := range into {
					into[i] = new(sql.RawBytes)
				}
				return r.Scan(into...)
			}, statement)
		},
	}, nil
}

func shelfMariaDB(ctx context.Context, l *lab) (*documentShelf, error) {
	url, drop, err := l.servers.Database(ctx)
	if err != nil {
		return nil, err
	}
	db, err := mysql.Open(ctx, mysql.Options{URL: url})
	if err != nil {
		return nil, err
	}
	x, err := shelfOn(ctx, "mariadb", db, func() { _ = drop() })
	if err != nil {
		return nil, err
	}
	x.words = shelfWords{
		concat: func(parts ...string) string { return "CONCAT(" + strings.Join(parts, ", ") + ")" }, divided: "DIV", keys: "%s",
		numbers: "(SELECT seq AS n FROM seq_%d_to_%d) AS s", after: []string{"ANALYZE TABLE document"},
	}
	return x, nil
}

func shelfPostgres(ctx context.Context, l *lab) (*documentShelf, error) {
	url, err := l.servers.Postgres(ctx)
	if err != nil {
		return nil, err
	}
	db, err := postgres.Open(ctx, postgres.Options{URL: url + "/postgres"})
	if err != nil {
		return nil, err
	}
	x, err := shelfOn(ctx, "postgres", db, func() {})
	if err != nil {
		return nil, err
	}
	x.words = shelfWords{concat: bars, divided: "/", keys: "CAST(%s AS BYTEA)", numbers: "(SELECT CAST(generate_series(%d, %d) AS BIGINT) AS n) AS s",
		after: []string{"ANALYZE document"}}
	return x, nil
}

// fill puts the documents in, in a few statements.
func (x *documentShelf) fill(ctx context.Context, n int) error {
	w := x.words
	repo := fmt.Sprintf("(n %s %d)", w.divided, listedInRepo)
	issue := "n % 2 = 1"
	at := fmt.Sprintf("%d + (n * 7919 %% %d) * %d", listedBegin, n, listedMinute)
	key := func(text string) string { return fmt.Sprintf(w.keys, text) }
	columns := []struct{ name, value string }{
		{"account_id", fmt.Sprintf("1 + %s %s %d", repo, w.divided, listedRepos)},
		{"kind", "CASE WHEN " + issue + " THEN " + key("'issue'") + " ELSE " + key("'commit'") + " END"},
		{"name", key("CASE WHEN " + issue + " THEN " + w.concat("(1000000 + n)", "''") + " ELSE " + w.concat("(1000000 + "+repo+")", "':'", "(1000000 + (n * 31 % 999983))", "'f00dfeedf00dfeedf00d'", "n") + " END")},
		{"version", at}, {"repository", "1000000 + " + repo}, {"number", "n"},
		{"state", "CASE WHEN " + issue + " THEN CASE WHEN n % 8 = 1 THEN 'OPEN' ELSE 'CLOSED' END ELSE '' END"},
		{"title", "'Fix what was broken when the other thing came'"}, {"author", w.concat("'Author-'", "(n * 17 % 2000)")},
		{"language", "''"}, {"stars", "0"}, {"additions", "12"}, {"deletions", "4"}, {"created_at", at},
		{"updated_at", "CASE WHEN " + issue + " THEN " + fmt.Sprintf("%d + (n * 104729 %% %d) * %d", listedBegin, n, listedMinute) + " ELSE 0 END"},
		{"closed_at", "0"}, {"merged_at", "0"}, {"closed_by", "''"}, {"flags", "0"}, {"chunk", "0"}, {"chunk_start", "0"}, {"chunk_size", "0"},
		{"seen_at", "5"}, {"gone_at", "0"}, {"gone_last", "CASE WHEN n % 5000 < 2 THEN 9 ELSE 0 END"},
		{"gone_why", "CASE WHEN n % 5000 < 2 THEN " + key("'deleted'") + " ELSE " + key("''") + " END"},
		{"own_labels", "CASE WHEN " + issue + " THEN " + w.concat("'[\"label-'", "(n % 50)", "'\",\"label-'", "(n * 7 % 50)", "'\"]'") + " END"},
	}
	if x.name != "sqlite" {
		columns = append(columns, struct{ name, value string }{"kind_rest", key("''")}, struct{ name, value string }{"name_rest", key("''")})
	}
	var names, values []string
	for _, c := range columns {
		names, values = append(names, c.name), append(values, c.value)
	}
	statements := append([]string{}, w.before...)
	const step = 100_000
	for from := 0; from < n; from += step {
		statements = append(statements, "INSERT INTO document ("+strings.Join(names, ", ")+") SELECT "+strings.Join(values, ", ")+
			" FROM "+fmt.Sprintf(w.numbers, from, min(from+step, n)-1))
	}
	for i := range 10 {
		r := i * (n / listedInRepo) / 10
		statements = append(statements, fmt.Sprintf("INSERT INTO repository_presence (account_id, repository, seen_at, gone_at, gone_last, gone_why) VALUES (%d, %d, 5, 9, 9, 'deleted')",
			1+r/listedRepos, 1_000_000+r))
	}
	for _, statement := range append(statements, w.after...) {
		if err := x.exec(ctx, statement); err != nil {
			return fmt.Errorf("%.160s…: %w", statement, err)
		}
	}
	return nil
}

// listAsk is a filter, with other values each time.
type listAsk struct {
	name string
	kind document.Kind
	of   func(i int, s *document.Selection)
}

func listAsks(n int) []listAsk {
	yes := true
	at := func(minutes int) time.Time { return time.UnixMicro(listedBegin + int64(minutes)*listedMinute) }
	repos := n / listedInRepo
	account := func(i int, s *document.Selection) { s.Account = int64(1 + i*7%max(repos/listedRepos, 1)) }
	repository := func(i int, s *document.Selection) { s.Repository = int64(1_000_000 + i*97%repos) }
	author := func(i int, s *document.Selection) { s.Author = fmt.Sprintf("author-%d", i*31%2000) }
	state := func(_ int, s *document.Selection) { s.State = "OPEN" }
	label := func(i int, s *document.Selection) { s.Label = fmt.Sprintf("label-%d", 1+2*(i%25)) }
	created := func(i int, s *document.Selection) {
		s.CreatedFrom, s.CreatedUntil = at(i*7919%n), at(i*7919%n+n/10)
	}
	updated := func(i int, s *document.Selection) {
		s.UpdatedFrom, s.UpdatedUntil = at(i*7919%n), at(i*7919%n+n/10)
	}
	both := func(a, b func(int, *document.Selection)) func(int, *document.Selection) {
		return func(i int, s *document.Selection) { a(i, s); b(i, s) }
	}
	return []listAsk{
		{"all", "issue", func(int, *document.Selection) {}}, {"account", "issue", account}, {"repository", "issue", repository},
		{"author", "issue", author}, {"state", "issue", state}, {"label", "issue", label}, {"created", "issue", created},
		{"updated", "issue", updated}, {"deleted", "issue", func(_ int, s *document.Selection) { s.Deleted = &yes }},
		{"repository_state", "issue", both(repository, state)}, {"account_state", "issue", both(account, state)},
		{"label_state", "issue", both(label, state)}, {"author_created", "issue", both(author, created)},
		{"commits_account", "commit", account}, {"commits_repository", "commit", repository}, {"commits_author", "commit", author},
		{"commits_created", "commit", created},
	}
}

// measure asks for the first page of every list.
func (x *documentShelf) measure(ctx context.Context, l *lab, n int) error {
	rounds := l.size(60, 10)
	peer, err := x.peer(ctx, n, rounds)
	if err != nil {
		return err
	}
	var failed error
	for _, ask := range listAsks(n) {
		for _, by := range []document.Sort{document.SortName, document.SortCreated, document.SortUpdated} {
			if ask.kind == "commit" && by == document.SortUpdated {
				continue // they have no such instant
			}
			took := make([]float64, 0, rounds)
			documents, spent := 0, time.Duration(0)
			for i := range rounds + 3 {
				s := document.Selection{Kind: ask.kind, Sort: by, Descending: i%2 == 0, Limit: listedPage}
				ask.of(i, &s)
				var page document.Page
				began := time.Now()
				cpu, err := cpuOf(func() (err error) {
					page, err = x.store.List(ctx, s)
					return err
				})
				if err != nil {
					return fmt.Errorf("%s by %s: %w", ask.name, by, err)
				}
				if i >= 3 { // the first ones fill caches
					took = append(took, float64(time.Since(began).Microseconds())/1000)
					documents += len(page.Documents)
					spent += cpu
				}
			}
			p95 := report.Quantile(took, 0.95)
			failed = errors.Join(failed, l.report.Add(report.Line{
				Name: "documents_list_" + ask.name + "_by_" + string(by) + "_" + x.name, Value: p95, Unit: "ms",
				Detail: fmt.Sprintf("p95 of %d pages; p50 %.2f ms; %.2f ms processor time of the process; %.0f documents a page; %d documents", rounds,
					report.Quantile(took, 0.5), float64(spent.Microseconds())/1000/float64(rounds), float64(documents)/float64(rounds), n),
			}.Against("SELECT of 100 rows along the primary key", peer).Aim("< 20 ms", p95 < listTarget)))
		}
	}
	return failed
}

// peer is the p95 of a plain SELECT.
func (x *documentShelf) peer(ctx context.Context, n, rounds int) (float64, error) {
	took := make([]float64, 0, rounds)
	for i := range rounds {
		began := time.Now()
		err := x.rows(ctx, fmt.Sprintf("SELECT * FROM document WHERE account_id = %d AND kind = 'issue' ORDER BY name LIMIT %d", 1+i*7%max(n/listedInRepo/listedRepos, 1), listedPage))
		if err != nil {
			return 0, err
		}
		took = append(took, float64(time.Since(began).Microseconds())/1000)
	}
	return report.Quantile(took, 0.95), nil
}
