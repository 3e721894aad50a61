package relational_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"sluice/internal/backend/relational"
	"sluice/internal/document/documenttest"
	"sluice/internal/testkit"
)

// explained collects the statements that the stores issue while their suites run,
// and has the server explain each in the end, on tables that are worth an index:
// none may read a table through.
type explained struct {
	mu sync.Mutex
	// briefs are those that were met and how many values there were at least, and
	// statements the first of each shape with the fewest.
	briefs     map[string]int
	statements map[string]issued
}

// issued is one as it was issued.
type issued struct {
	query string
	args  []any
}

// suites are those of this package, by the scheme of the server.
var suites = map[string]*explained{"mysql": {}, "postgres": {}}

// record collects what a database is asked.
func record(url string, db *relational.DB) {
	scheme, _, _ := strings.Cut(url, "://")
	db.Observe(suites[scheme].add)
}

var (
	lists   = regexp.MustCompile(`\((#|\?|H)(, ?(#|\?|H))*\)`)
	choices = regexp.MustCompile(`( WHEN (#|\?|H) THEN (#|\?|H))+`)
)

// shape is a statement without its values, which brief has brought to few.
func shape(brief string) string {
	return lists.ReplaceAllString(choices.ReplaceAllString(brief, " WHEN # THEN #"), "(…)")
}

// brief is a statement with # for its numbers and H for its bytes, each list of
// values reduced to the first. Suites issue a hundred thousand statements, so that
// it looks at each byte once, unwatched by the race detector: the text is its own.
//
//go:norace
func brief(query string) string {
	out := make([]byte, 0, len(query))
	end := -1 // of the value that came last
	for i := 0; i < len(query); {
		value, next := query[i], i+1
		word := i > 0 && isWord(query[i-1])
		switch {
		case value == '?':
		case value == 'X' && !word && strings.HasPrefix(query[next:], "'"):
			next++
			value, next = 'H', next+strings.IndexByte(query[next:], '\'')+1
		case isDigit(value) && !word:
			for next < len(query) && isWord(query[next]) {
				next++
			}
			value = '#'
			if len(out) > 0 && out[len(out)-1] == '-' {
				out = out[:len(out)-1]
			}
		default:
			out = append(out, value)
			i = next
			continue
		}
		i = next
		if between := len(out) - end; end >= 0 && between > 0 && between <= 2 && out[end] == ',' && (between == 1 || out[end+1] == ' ') {
			out = out[:end]
			continue
		}
		out = append(out, value)
		end = len(out)
	}
	return string(out)
}

//go:norace
func isDigit(c byte) bool { return c >= '0' && c <= '9' }

//go:norace
func isWord(c byte) bool {
	return isDigit(c) || c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// longest is how much of a statement is looked at: what is longer has many values,
// and is of the same shape as one that has few.
const longest = 1 << 14

// add notes a statement, or each of a batch.
func (e *explained) add(query string, args []any) {
	if len(query) > longest {
		return
	}
	for _, one := range strings.Split(query, "; ") {
		n := min(strings.Count(one, "?"), len(args))
		own := args[:n:n]
		args = args[n:]
		verb, _, _ := strings.Cut(strings.TrimSpace(one), " ")
		values := strings.HasPrefix(one, "INSERT") && !strings.Contains(one, "SELECT")
		if !values && slices.Contains([]string{"SELECT", "UPDATE", "DELETE", "INSERT"}, verb) {
			e.note(one, own)
		}
	}
}

func (e *explained) note(query string, args []any) {
	short := brief(query)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.statements == nil {
		e.briefs, e.statements = map[string]int{}, map[string]issued{}
	}
	// One with the fewest values stands for all of its shape, whichever came first: for
	// a list of half a table's values a server reads the table through.
	values := strings.Count(query, ",")
	if fewest, met := e.briefs[short]; met && fewest <= values {
		return
	}
	e.briefs[short] = values
	known := shape(short)
	if s, met := e.statements[known]; !met || values < strings.Count(s.query, ",") {
		e.statements[known] = issued{query, slices.Clone(args)}
	}
}

// after demands, when a suite has run, that no statement reads a table through.
func (on server) after(t *testing.T) {
	t.Helper()
	url := on.large(t)
	e := suites[on.name]
	t.Cleanup(func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		if len(e.statements) == 0 {
			t.Error("the suite has issued no statement: is it recorded?")
		}
		// Sessions are prepared as those of the program are.
		db, err := on.open(context.WithoutCancel(t.Context()), url, 1)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = db.Close() }()
		for known, s := range e.statements {
			if wholeTable(known) {
				continue
			}
			plan, through, err := readsThrough(context.WithoutCancel(t.Context()), db, on.name, s)
			if err != nil && strings.Contains(s.query, " document ") && strings.Contains(strings.ToLower(err.Error()), "column") {
				continue // of a case that declares kinds of its own
			}
			if err != nil {
				t.Errorf("%s: %v", s.query, err)
			} else if through {
				t.Errorf("%.600s\n%s", known, plan)
			}
		}
		clear(e.briefs)
		clear(e.statements)
	})
}

// wholeTables are statements that ask for all there is, or for so little that
// there is nothing to search.
var wholeTables = []struct{ part, unless, reason string }{
	{"seq FROM quota_window", "WHERE", "a start restores all windows"},
	{"SELECT DISTINCT group_name FROM ration_count", "", "all groups are asked for; there is a row for each ration of an owner"},
	{"v_job", "", "views are for people, who ask seldom"},
	{"v_run", "", "views are for people, who ask seldom"},
	{"v_harvest", "", "views are for people, who ask seldom"},
	{"v_dead_letter", "", "views are for people, who ask seldom"},
	{"FROM notification_pace", "WHERE", "there is a row for each target and kind"},
	{"SELECT COUNT(*) FROM timer_given_up", "", "what was given up is little, and counted for the metrics"},
	{"FROM api_token ORDER BY name", "", "all tokens are asked for; there are few"},
	{"SELECT state, COUNT(*) FROM account", "", "accounts are counted along an index, for the metrics"},
	{"FROM job WHERE id IN", "", "by their keys; a list of most of a table is read through"},
	// What tests do by hand.
	{"UPDATE chunk SET data", "", "a test damages what is stored"},
	{"UPDATE document SET chunk_start = #", "WHERE", "a test damages what is stored"},
	{"UPDATE account SET version = version + #", "WHERE", "a test changes all accounts"},
	{"UPDATE quota_window SET points", "WHERE", "a test changes all windows"},
	{"UPDATE no_such_table", "", "a test makes a mistake"},
	{"DELETE FROM chunk", "WHERE", "a test loses what is stored"},
	{"SELECT COUNT(*), COALESCE(SUM(LENGTH(data)), #) FROM chunk", "", "a test measures what is stored"},
	{"information_schema", "", "what columns there are is asked once, when a database is opened"},
}

func wholeTable(known string) bool {
	for _, w := range wholeTables {
		if strings.Contains(known, w.part) && (w.unless == "" || !strings.Contains(known, w.unless)) {
			return true
		}
	}
	return false
}

func readsThrough(ctx context.Context, db *relational.DB, scheme string, s issued) (plan string, through bool, err error) {
	var lines []string
	err = db.Query(ctx, func(r *sql.Rows) error {
		columns, err := r.Columns()
		if err != nil {
			return err
		}
		values := make([]sql.NullString, len(columns))
		into := make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := r.Scan(into...); err != nil {
			return err
		}
		row := map[string]string{}
		var line []string
		for i, name := range columns {
			row[strings.ToLower(name)] = values[i].String
			line = append(line, values[i].String)
		}
		lines = append(lines, strings.Join(line, " | "))
		if scheme == "postgres" {
			through = through || strings.Contains(line[0], "Seq Scan on")
		} else if table := row["table"]; table != "" && !strings.HasPrefix(table, "<") {
			through = through || row["type"] == "ALL"
		}
		return nil
	}, "EXPLAIN "+s.query, s.args...)
	return strings.Join(lines, "\n"), through, err
}

// large returns the URL of a database whose tables have so many rows that a server
// looks for an index.
func (on server) large(t *testing.T) string {
	t.Helper()
	url := on.fresh(t)
	if err := with(url, func(ctx context.Context, db *sql.DB) error { return fill(ctx, db, testkit.IsPostgres(url)) }); err != nil {
		t.Fatalf("fill: %v", err)
	}
	// It makes room for what the kinds of the suite have.
	db, err := on.open(t.Context(), url, 1)
	if err != nil {
		t.Fatal(err)
	}
	_, err = relational.NewDocuments(t.Context(), db, documenttest.Kinds())
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	return url
}

// rows is how many rows each table of a large database has.
const rows = 4096

// fill puts rows into every table, doubling them: each column gets a value that
// differs from row to row where it is part of a key.
func fill(ctx context.Context, db *sql.DB, postgres bool) error {
	hash, text := "UNHEX(MD5(CONCAT('%s', n)))", "CONCAT('%s', n)"
	series := "WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < %d) "
	if postgres {
		hash, text = "decode(md5('%s' || n), 'hex')", "('%s' || n)"
	}
	h := func(of string) string { return fmt.Sprintf(hash, of) }
	x := func(of string) string { return fmt.Sprintf(text, of) }
	b := func(of string) string { // bytes
		if postgres {
			return "convert_to(" + x(of) + ", 'UTF8')"
		}
		return x(of)
	}
	blob := "''"
	hash32 := "UNHEX(SHA2(n, 256))"
	if postgres {
		hash32 = "sha256(convert_to(n::text, 'UTF8'))"
	}
	inserts := []string{
		"account (id, identity, source, login, state, reason, owner, key_id, credential, credential_hash, created_at, updated_at) SELECT n + 100000," + h("i") + ", 'github'," + x("l") + ", 'active', ''," + x("o") + ", 'k', " + blob + "," + h("c") + ", n, n",
		"run (id, account_id, trigger_by, priority, status, anchor, reason, created_at, finished_at) SELECT n + 100000, n + 100000, 'manual', 1, CASE WHEN n % 10 = 0 THEN 3 ELSE 5 END, n, '', n, n",
		"job (id, run_id, account_id, parent_id, type, resource, ledger_hash, page_hash, bucket, class, priority, params, expected, status, done, created_at) SELECT n + 100000, n / 10 + 100000, n / 10 + 100000, 0, 'T', 'r'," + h("l") + "," + h("p") + ", 'core', 1, 1, " + blob + ", 1, CASE WHEN n % 10 = 0 THEN 1 ELSE 5 END, CASE WHEN n % 10 = 0 THEN 0 ELSE 1 END, n",
		"resource_cursor (account_id, identity, resource, at) SELECT n / 10 + 100000," + h("c") + ", 'r', n",
		"page (account_id, identity, page_key, etag, next_page, items) SELECT n / 10 + 100000," + h("p") + ", 'k', 'e', '', 1",
		"quota_window (identity, owner, bucket, call_limit, remaining, reset_at, started, parked_until, in_flight, points, touched, seq) SELECT " + h("q") + "," + x("o") + ", 'core', 1, 1, 1, 1, 1, 1, 1, 1, n",
		"statistics (account_id, run_id, data, computed_at) SELECT n + 100000, n, " + blob + ", n",
		"chunk (id, account_id, data) SELECT n + 100000, n / 10 + 100000, " + blob,
		"document (account_id, kind, name, kind_rest, name_rest, version, repository, number, state, title, author, language, stars, additions, deletions, created_at, updated_at, closed_at, merged_at, closed_by, flags, chunk, chunk_start, chunk_size) SELECT n / 10 + 100000, " + b("k") + "," + b("n") + "," + blob + "," + blob + ", n, n, n, '', '', '', '', 0, 0, 0, n, n, 0, 0, '', 0, n, 0, 0",
		"change_log (account_id, last_position, count, at, entries) SELECT n / 10 + 100000, n, 1, n, ''",
		"repository_presence (account_id, repository, seen_at) SELECT n / 10 + 100000, n, n",
		"harvest (account_id, after_run, at, priority, resume_run, tries, reason) SELECT n + 100000, n, n, 1, 0, 0, ''",
		"harvest_schedule (account_id, data) SELECT n + 100000, " + blob,
		"run_summary (run_id, type, known, stored, failed, items) SELECT n + 100000, 'T', 1, 1, 0, 1",
		"run_delivery (account_id, delivery, run_id) SELECT n + 100000," + h("d") + ", n + 100000",
		"timer (id, at, set_at, status, webhook, next_at, ended_at, payload) SELECT " + b("t") + ", n, n, 1, '', n, n % 2, " + blob,
		"timer_completion (timer, position) SELECT " + b("t") + ", n",
		"timer_unlogged (timer) SELECT " + b("t"),
		"timer_given_up (timer, at) SELECT " + b("t") + ", n",
		"snapshot (identity, source, entity_key, seen_version, version, due_at, checked_at) SELECT " + h("s") + "," + b("s") + "," + b("k") + ", n, n, n, n",
		"snapshot_value (identity, source, entity_key, version, hash, stored_at, listed, body) SELECT " + h("s") + "," + b("s") + "," + b("k") + ", n, " + hash32 + ", n, n % 2, " + blob,
		"snapshot_status (identity, source, version, code, tries, error, at) SELECT " + h("s") + "," + b("s") + ", n, 'FAILED', 1, '', n",
		"dead_letter (id, why, source, entity_key, buried_at, data) SELECT " + b("d") + "," + b("w") + "," + b("s") + "," + b("k") + ", n, '{}'",
		"word_entry (id, identity, account_id, kind, name, words) SELECT n + 100000, " + h("w") + ", n / 10 + 100000, " + b("k") + "," + b("n") + ", " + blob,
		"word_posting (word, id) SELECT " + b("w") + ", n",
		"word_progress (id, progress) SELECT n + 1, " + blob,
		"refresh_request (identity, version, priority, waits, not_before, code, error, event) SELECT " + h("r") + ", n, 1, 0, n, '', '', " + blob,
	}
	statements := []string{}
	for _, insert := range inserts {
		head, query, _ := strings.Cut(insert, " SELECT ")
		table, _, _ := strings.Cut(head, " ")
		with := fmt.Sprintf(series, rows)
		if postgres {
			statements = append(statements, with+"INSERT INTO "+head+" SELECT "+query+" FROM s", "ANALYZE "+table)
		} else {
			statements = append(statements, "INSERT INTO "+head+" "+with+"SELECT "+query+" FROM s")
		}
	}
	if !postgres {
		statements = append([]string{"SET SESSION max_recursive_iterations = 100000"}, statements...)
		statements = append(statements, "ANALYZE TABLE account, run, job, document, chunk, page, resource_cursor, quota_window, statistics, timer, snapshot, snapshot_value, dead_letter, refresh_request, word_entry, word_posting, word_progress")
	}
	return execute(ctx, db, statements)
}
