package relational_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"sluice/internal/backend/mysql"
	"sluice/internal/backend/postgres"
	"sluice/internal/backend/relational"
	"sluice/internal/domain"
	"sluice/internal/query"
)

// reader makes a user who may read the views and nothing else, and opens what
// answers as him.
func reader(t *testing.T, on server, db *relational.DB, address string) *relational.Queries {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	name := "reader_" + strings.ToLower(strings.TrimPrefix(u.Path, "/"))
	name = name[:min(len(name), 30)]
	statements := []string{"CREATE ROLE " + name + " LOGIN PASSWORD 'reading'", "GRANT SELECT ON things, accounts, v_run TO " + name}
	drop := []string{"DROP OWNED BY " + name, "DROP ROLE " + name}
	if on.name == "mysql" {
		statements = []string{"CREATE USER " + name + " IDENTIFIED BY 'reading'",
			"GRANT SELECT ON things TO " + name, "GRANT SELECT ON accounts TO " + name, "GRANT SELECT ON v_run TO " + name}
		drop = []string{"DROP USER " + name}
	}
	for _, statement := range statements {
		if _, err := db.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		for _, statement := range drop {
			_, _ = db.Exec(context.WithoutCancel(t.Context()), statement)
		}
	})
	u.User = url.UserPassword(name, "reading")
	return openReader(t, on, u.String())
}

func openReader(t *testing.T, on server, address string) *relational.Queries {
	t.Helper()
	open := postgres.OpenQueries
	if on.name == "mysql" {
		open = mysql.OpenQueries
	}
	queries, err := open(address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = queries.Close() })
	return queries
}

const secretText = "hunter2-of-the-account"

func TestQueries(t *testing.T) {
	t.Parallel()
	eachServer(t, testQueries)
}

func testQueries(t *testing.T, on server) {
	address := on.fresh(t)
	db := open(t, address)
	if _, err := relational.NewDocuments(t.Context(), db, things(titleColumn)); err != nil {
		t.Fatal(err)
	}
	_, err := db.Exec(t.Context(), fmt.Sprintf(`INSERT INTO account (id, identity, source, login, state, reason, owner, key_id, credential, credential_hash, created_at, updated_at)
		VALUES (1, X'%032x', 'suite', 'Ann', 'active', '', ?, '', X'', X'%032x', 1, 1)`, 1, 1), secretText)
	if err != nil {
		t.Fatal(err)
	}
	store := reader(t, on, db, address)
	for sql, want := range map[string]string{
		"SELECT login, created_at IS NULL AS never, 7 AS n, 1.5 AS f, NULL AS nothing FROM accounts":  `[["Ann",false,7,1.5,null]]`,
		"SELECT title FROM things WHERE id <> '?' -- a comment":                                       `[]`,
		"WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 3) SELECT n FROM r": `[[1],[2],[3]]`,
		"SELECT COUNT(*) AS c FROM v_run":                                                             `[[0]]`,
	} {
		answer, err := store.Query(t.Context(), query.Query{SQL: sql, Limit: 10})
		if err != nil {
			t.Errorf("%s: %v", sql, err)
			continue
		}
		text, err := json.Marshal(answer.Rows)
		if got := strings.ReplaceAll(string(text), `"Ann",0`, `"Ann",false`); err != nil || got != want && got != strings.Replace(want, "[]", "null", 1) {
			t.Errorf("%s: %s, want %s", sql, got, want)
		}
	}
	answer, err := store.Query(t.Context(), query.Query{SQL: "SELECT login FROM accounts UNION ALL SELECT login FROM accounts", Limit: 1})
	if err != nil || len(answer.Rows) != 1 || !answer.More {
		t.Errorf("one of two: %v, %v", answer, err)
	}
	attack(t, on, store)
	if on.name == "postgres" {
		// PostgreSQL before 16 lets a transaction that only reads make large objects;
		// it is never committed.
		_, _ = store.Query(t.Context(), query.Query{SQL: "SELECT lo_create(4711)", Limit: 1})
		if got := anyRows(t, db, "SELECT oid FROM pg_largeobject_metadata WHERE oid = 4711"); len(got) != 0 {
			t.Errorf("a large object was made: %v", got)
		}
	}
	// A user who may do everything answers nothing.
	if _, err := openReader(t, on, address).Query(t.Context(), query.Query{SQL: "SELECT 1", Limit: 1}); domain.CodeOf(err) != domain.CodeUnavailable || !strings.Contains(err.Error(), "may do more") {
		t.Errorf("a user who may do everything: %v", err)
	}
}

// attack tries to read what is secret, to change something, and to read files.
func attack(t *testing.T, on server, store *relational.Queries) {
	t.Helper()
	attacks := []string{
		"SELECT owner FROM account", "SELECT COUNT(*) FROM account", "SELECT * FROM api_token", "SELECT * FROM document",
		"WITH things AS (SELECT owner FROM account) SELECT * FROM things", "SELECT title FROM things UNION SELECT owner FROM account",
		"INSERT INTO things (title) VALUES ('x')", "DELETE FROM account", "UPDATE accounts SET login = 'x'", "DROP VIEW things", "CREATE TABLE mine (x INT)",
		"SELECT 1; SELECT 2", "SELECT 1; COMMIT", "SELECT 1;;SELECT 2", "SELECT 1; DROP VIEW things", "SELECT nosuch FROM things", "SELECT * FROM nosuch", "SELEC 1",
		"GRANT SELECT ON account TO reader", "TRUNCATE TABLE account",
	}
	if on.name == "postgres" {
		attacks = append(attacks, "WITH x AS (DELETE FROM account RETURNING owner) SELECT * FROM x", "SELECT pg_read_file('/etc/passwd')", "SELECT pg_ls_dir('/')",
			"COPY (SELECT 1) TO PROGRAM 'true'", "COPY account TO STDOUT", "SELECT set_config('role', 'postgres', true)", "SET ROLE postgres", "RESET ROLE", "COMMIT", "DO 'BEGIN END'",
			"SELECT query_to_xml('SELECT owner FROM account', true, true, '')", "SELECT lo_import('/etc/passwd')",
			"SELECT * FROM pg_authid", "SELECT dblink('', '')", "EXPLAIN ANALYZE DELETE FROM account", "SELECT * INTO mine FROM things", "LOCK TABLE things", "SELECT 1 FROM things FOR UPDATE")
	} else {
		attacks = append(attacks, "SELECT * FROM mysql.user", "SELECT 1 INTO OUTFILE '/tmp/sluice-out'", "LOAD DATA INFILE '/etc/passwd' INTO TABLE things", "SET GLOBAL general_log = 1",
			"CALL nosuch()", "HANDLER account OPEN", "LOCK TABLES account READ", "SHOW CREATE VIEW things")
	}
	for _, sql := range attacks {
		answer, err := store.Query(t.Context(), query.Query{SQL: sql, Limit: 10})
		if domain.CodeOf(err) != domain.CodeInvalid || strings.Contains(fmt.Sprint(answer.Rows, err), secretText) {
			t.Errorf("%s: %v, %v", sql, answer.Rows, err)
		}
	}
	for sql, want := range map[string][]string{
		"SELECT nosuch FROM things": {"nosuch", "things has title, id"}, "SELECT *\nFROM nosuch": {"nosuch", "the tables are accounts, things, v_run"},
	} {
		_, err := store.Query(t.Context(), query.Query{SQL: sql, Limit: 10})
		for _, part := range want {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%s: the error does not say %q: %v", sql, part, err)
			}
		}
	}
	limited := query.NewLimited(store, 300*time.Millisecond)
	// MySQL and MariaDB end recursion by themselves.
	late := map[string][]string{"mysql": {"SELECT SLEEP(100)"}, "postgres": {"SELECT pg_sleep(100)",
		"WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n > 0) SELECT COUNT(*) FROM r"}}
	for _, sql := range late[on.name] {
		if _, err := limited.Query(t.Context(), query.Query{SQL: sql}); domain.CodeOf(err) != domain.CodeUnavailable || !strings.Contains(err.Error(), "300ms") {
			t.Errorf("%s: %v", sql, err)
		}
	}
	if on.name == "mysql" {
		answer, err := store.Query(t.Context(), query.Query{SQL: "SELECT LOAD_FILE('/etc/passwd') AS f", Limit: 10})
		if err == nil && string(answer.Rows[0][0]) != "null" {
			t.Errorf("a file is read: %v", answer)
		}
	}
}
