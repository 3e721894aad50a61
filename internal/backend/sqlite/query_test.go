package sqlite_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"sluice/internal/backend/sqlite"
	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/query"
)

// commits is a table beside that of accounts.
func commits() document.Kinds {
	return document.Kinds{{Kind: "commit", Source: "suite", Plural: "commits", Columns: []document.Column{
		{Name: "id", Type: document.TypeText, From: document.FromName},
		{Name: "account", Type: document.TypeText, From: document.FromAccount},
		{Name: "title", Type: document.TypeText, From: document.FromTitle},
		{Name: "committed_at", Type: document.TypeInstant, From: document.FromCreatedAt, Nullable: true},
	}}}
}

const secretText = "hunter2-of-the-account"

// askable is a folder with an account, whose credential is a secret, and a commit.
func askable(t *testing.T) (dir string, db *sqlite.DB) {
	t.Helper()
	dir = t.TempDir()
	db = openIn(t, dir)
	store := openKinds(t, db, commits())
	change(t, db, addAccount, 1, "suite", "Ann")
	change(t, db, "UPDATE account SET credential = ?, owner = ?", []byte(secretText), secretText)
	d := document.Document{Key: document.Key{Account: 1, Kind: "commit", Name: "1:a"}, Version: time.Unix(1, 0), SeenAt: time.Unix(1, 0), Raw: []byte("{}")}
	d.Title, d.CreatedAt = "first", time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	if err := store.Upsert(t.Context(), []document.Document{d}); err != nil {
		t.Fatal(err)
	}
	return dir, db
}

func asked(t *testing.T, dir, sql string) string {
	t.Helper()
	q := query.Query{SQL: sql}
	if err := q.Check(); err != nil {
		t.Fatal(err)
	}
	answer, err := sqlite.NewQueries(dir).Query(t.Context(), q)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	text, err := json.Marshal(answer.Rows)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(answer.Columns, ",") + " " + string(text)
}

func TestQueriesAreAnswered(t *testing.T) {
	dir, _ := askable(t)
	for sql, want := range map[string]string{
		"SELECT account, title, committed_at FROM commits":                                                    `account,title,committed_at [["Ann","first","2026-01-02T03:04:05.000000Z"]]`,
		"SELECT login, state FROM accounts;  -- and that is all\n;":                                           `login,state [["Ann","active"]]`,
		"SELECT count(*) AS n FROM commits c JOIN accounts a ON a.login = 'ann'":                              `n [[1]]`,
		"WITH x(n) AS (VALUES (1), (2)) SELECT sum(n) AS s, 1.5 AS f, NULL FROM x":                            `s,f,NULL [[3,1.5,null]]`,
		"SELECT value AS v FROM json_each('[7]')":                                                             `v [[7]]`,
		"SELECT strftime('%Y', committed_at) AS y FROM commits":                                               `y [["2026"]]`,
		"SELECT 9223372036854775807 AS big, x'00ff' AS bytes, 9e999 AS endless":                               `big,bytes,endless [[9223372036854775807,"00ff","+Inf"]]`,
		"WITH document AS (SELECT 1) SELECT title FROM commits":                                               `title [["first"]]`,
		"SELECT count(*) AS runs FROM v_run":                                                                  `runs [[0]]`,
		"WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM r WHERE n < 9) SELECT max(n) AS m FROM r": `m [[9]]`,
	} {
		if got := asked(t, dir, sql); got != want {
			t.Errorf("%s\n got %s\nwant %s", sql, got, want)
		}
	}
}

// TestQueriesReadNothingElse tries to read what is secret, to change something, to
// leave the database and to do several things at once.
func TestQueriesReadNothingElse(t *testing.T) {
	dir, db := askable(t)
	outside := t.TempDir() + "/outside.db"
	for _, sql := range []string{
		"SELECT credential FROM account",
		"SELECT count(*) FROM api_token", "SELECT 1 FROM audit_entry", "SELECT count(*) FROM chunk", "SELECT count(*) FROM sqlite_schema",
		"SELECT count(*) FROM pragma_database_list", "SELECT count(*) FROM dbstat", "WITH RECURSIVE api_token(x) AS (SELECT key_id FROM account) SELECT x FROM api_token",
		"SELECT * FROM main.account",
		"SELECT * FROM main.commits", // which has the same name, and not the same rights
		"WITH commits AS (SELECT * FROM account) SELECT credential FROM commits",
		"WITH accounts AS (SELECT credential AS c FROM main.account) SELECT c FROM accounts",
		"WITH v_run(c) AS (SELECT owner FROM account) SELECT c FROM v_run",
		"SELECT c FROM (SELECT credential AS c FROM account) AS commits",
		"SELECT title, (SELECT credential FROM account LIMIT 1) FROM commits",
		"SELECT title FROM commits WHERE EXISTS (SELECT 1 FROM account WHERE owner LIKE 'h%')",
		"SELECT title FROM commits ORDER BY (SELECT owner FROM account)",
		"SELECT title FROM commits UNION SELECT owner FROM account",
		"SELECT * FROM api_token", "SELECT * FROM audit_entry", "SELECT * FROM document", "SELECT * FROM chunk",
		"SELECT sql FROM sqlite_schema", "SELECT name FROM sqlite_temp_schema", "SELECT sql FROM main.sqlite_master",
		"SELECT * FROM pragma_table_info('account')", "SELECT * FROM pragma_database_list", "SELECT * FROM dbstat", "SELECT * FROM sqlite_stmt",
		"PRAGMA journal_mode = DELETE", "PRAGMA writable_schema = 1", "PRAGMA table_info(account)",
		"ATTACH '" + outside + "' AS o", "VACUUM INTO '" + outside + "'", "DETACH main", "VACUUM", "REINDEX", "ANALYZE",
		"INSERT INTO account (id) VALUES (9)", "UPDATE commits SET title = 'x'", "DELETE FROM document", "DROP VIEW commits", "DROP TABLE account",
		"INSERT INTO document SELECT * FROM document RETURNING *", "REPLACE INTO account (id) VALUES (1)",
		"CREATE TABLE t (x)", "CREATE TEMP TABLE t AS SELECT 1", "CREATE TEMP VIEW w AS SELECT * FROM account", "CREATE TRIGGER x AFTER INSERT ON account BEGIN SELECT 1; END",
		"BEGIN", "COMMIT", "SAVEPOINT a", "EXPLAIN DELETE FROM account",
		"WITH x AS (SELECT 1) DELETE FROM account WHERE 1", "WITH x AS (SELECT 1) UPDATE account SET owner = ''",
		"SELECT load_extension('/tmp/x.so')", "SELECT fts3_tokenizer('simple')", "SELECT readfile('/etc/passwd')", "SELECT writefile('" + outside + "', 'x')",
		"SELECT randomblob(100)", "SELECT sqlite_version()", "SELECT sqlite_compileoption_get(1)", "SELECT changes()", "SELECT rtreecheck('account')",
		"SELECT 1; SELECT 2", "SELECT 1; DROP TABLE account", "SELECT 1; nonsense",
		"SELECT ?", "SELECT :name", "-- nothing", "/* nothing */ ;", "SELECT", "SELECT hex(zeroblob(100000000))",
	} {
		q := query.Query{SQL: sql, Limit: 10}
		answer, err := sqlite.NewQueries(dir).Query(t.Context(), q)
		if domain.CodeOf(err) != domain.CodeInvalid {
			t.Errorf("%s: %v, %v", sql, answer.Rows, err)
		} else if strings.Contains(err.Error(), secretText) {
			t.Errorf("%s: the error tells the secret: %v", sql, err)
		}
	}
	if _, err := os.Stat(outside); err == nil {
		t.Error("a file was made")
	}
	got := anyRows(t, db, "SELECT (SELECT count(*) FROM account), (SELECT count(*) FROM document), (SELECT owner FROM account)")
	if fmt.Sprint(got) != "[[1 1 "+secretText+"]]" {
		t.Errorf("there is %v", got)
	}
}

func TestQueriesSayWhatIsWrong(t *testing.T) {
	dir, _ := askable(t)
	for sql, want := range map[string][]string{
		"SELECT *\nFROM comits":             {"line 2, column 6", "no such table: comits", "commits", "accounts", "v_run"},
		"SELECT titel FROM commits":         {"line 1, column 8", "no such column: titel", "commits has id, account, title, committed_at"},
		"SELECT title FORM commits":         {"line 1", "syntax error"},
		"SELECT owner FROM account":         {"account cannot be read", "commits"},
		"DELETE FROM commits":               {"cannot modify"},
		"PRAGMA user_version":               {"can only read"},
		"SELECT load_extension('x')":        {"load_extension cannot be called"},
		"SELECT 1; SELECT 2":                {"line 1, column 10", "one at a time"},
		"SELECT '한국', 'a' FROM nosuchtable": {"line 1, column 23", "no such table"},
	} {
		_, err := sqlite.NewQueries(dir).Query(t.Context(), query.Query{SQL: sql, Limit: 10})
		for _, part := range want {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%s: the error does not say %q: %v", sql, part, err)
			}
		}
	}
}

// TestQueriesEnd: what would never end ends with its caller, or with its time.
func TestQueriesEnd(t *testing.T) {
	dir, _ := askable(t)
	const endless = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM r) SELECT count(*) FROM r"
	store := query.NewLimited(sqlite.NewQueries(dir), 50*time.Millisecond)
	if _, err := store.Query(t.Context(), query.Query{SQL: endless}); domain.CodeOf(err) != domain.CodeUnavailable || !strings.Contains(err.Error(), "50ms") {
		t.Errorf("an endless statement: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := query.NewLimited(sqlite.NewQueries(dir), time.Hour).Query(ctx, query.Query{SQL: endless})
		ended <- err
	}()
	cancel()
	if err := <-ended; err == nil {
		t.Error("a statement whose caller has gone was answered")
	}
	// Rows that never end are answered as far as the limit goes.
	store = query.NewLimited(sqlite.NewQueries(dir), time.Hour)
	answer, err := store.Query(t.Context(), query.Query{SQL: "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM r) SELECT n FROM r", Limit: 5})
	if err != nil || len(answer.Rows) != 5 || !answer.More {
		t.Errorf("%d rows, %v, %v", len(answer.Rows), answer.More, err)
	}
}

// TestQueriesMakeNoFiles reads a folder that nobody has, one that somebody has, and
// one whose process was killed, without a file more or less.
func TestQueriesMakeNoFiles(t *testing.T) {
	dir, db := askable(t)
	files := func() (names []string) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}
	check := func(when string) {
		t.Helper()
		before := fmt.Sprint(files())
		if got := asked(t, dir, "SELECT title FROM commits"); got != `title [["first"]]` {
			t.Errorf("%s: %s", when, got)
		}
		if after := fmt.Sprint(files()); after != before {
			t.Errorf("%s: there was %s and is %s", when, before, after)
		}
	}
	check("while somebody has it")
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	check("while nobody has it")
	empty := t.TempDir()
	_, err := sqlite.NewQueries(empty).Query(t.Context(), query.Query{SQL: "SELECT 1", Limit: 1})
	if entries, _ := os.ReadDir(empty); domain.CodeOf(err) != domain.CodeNotFound || len(entries) > 0 {
		t.Errorf("an empty folder: %v, %v", err, entries)
	}
}
