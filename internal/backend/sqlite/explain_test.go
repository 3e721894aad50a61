package sqlite_test

import (
	"context"
	"errors"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	driver "zombiezen.com/go/sqlite"

	"sluice/internal/backend/sqlite"
	"sluice/internal/document/documenttest"
)

// explained collects the statements that the stores issue while their suites run,
// and has SQLite explain each in the end: none may read a table through.
type explained struct {
	mu         sync.Mutex
	statements map[string]struct{}
}

// suites are those of this package.
var suites = &explained{statements: map[string]struct{}{}}

// wholeTables are statements that ask for all there is, or for so little that
// there is nothing to search; unless they also say something else.
var wholeTables = []struct{ part, unless, reason string }{
	{"FROM account a ORDER BY a.id", "", "all accounts are asked for"},
	{"FROM statistics s JOIN account a", "", "the statistics of all accounts are asked for"},
	{"FROM harvest ORDER BY account_id", "", "all planned harvests are asked for"},
	{"FROM quota_window", "WHERE", "a start restores all windows"},
	{"SELECT DISTINCT group_name FROM ration_count", "", "all groups are asked for, along the key"},
	{"FROM document d LEFT JOIN repository_presence p", "d.account_id = ?", "an export of all accounts reads all documents"},
	{"FROM job INDEXED BY job_unfinished", "", "all unfinished jobs are asked for, along their index"},
	{"FROM job WHERE done = 0 AND status = ?", "", "a start takes up all unfinished jobs, along their index"},
	{"FROM run r INDEXED BY run_active", "", "all active runs are asked for, along their index"},
	{"WHERE 1 ORDER BY r.id DESC LIMIT", "", "the newest runs, along the key, up to a limit"},
	{"FROM dead_letter WHERE 1 ORDER BY", "", "the newest letters, along their index, up to a limit"},
	{"SELECT why, count(*) FROM dead_letter GROUP BY why", "", "letters are counted along an index; they are kept for a week"},
	{"SELECT EXISTS (SELECT 1 FROM", "WHERE", "the first row tells"},
	{"FROM timer_unlogged CROSS JOIN timer", "", "what waits for its log, up to a limit"},
	{"SELECT id, last FROM eventlog_partition", "", "there are few partitions"},
	{"SELECT 1 FROM eventlog_partition LIMIT 1", "", "the first one tells"},
	{"FROM notification_pace", "WHERE", "there is a row for each target and kind"},
	{"FROM notification WHERE 1 ORDER BY id DESC LIMIT", "", "the newest, along the key, up to a limit"},
	{"SELECT count(*) FROM timer_given_up", "", "what was given up is little, and counted for the metrics"},
	{"FROM api_token ORDER BY name", "", "all tokens are asked for; there are few"},
	{"SELECT state, COUNT(*) FROM account", "", "accounts are counted along an index, for the metrics"},
	{"SELECT id, n FROM owner", "", "a few accounts, each found in an index"},
	{"FROM repository_presence WHERE gone_why <> ''", "AND account_id", "those that are gone, along their index, up to a limit"},
	{"WHERE word_text MATCH", "", "an index of its own, which is read from its end"},
	{"FROM word_entry ORDER BY id LIMIT", "", "what is removed first, along the key, up to a limit"},
	// What tests do by hand.
	{"FROM sqlite_schema", "", "a test counts tables"},
	{"FROM cursor WHERE resource = 'number'", "", "a test looks for its own"},
	{"UPDATE chunk SET data", "", "a test damages what is stored"},
	{"UPDATE document SET chunk_start = 1000000", "", "a test damages what is stored"},
	{"FROM chunk", "WHERE", "a test measures what is stored"},
	{"SELECT count(*) FROM eventlog_record", "WHERE", "a test counts"},
	{"UPDATE eventlog_record SET at = at - ?", "", "a test makes records older"},
}

// record collects what a database is asked from now on until the test ends.
func (e *explained) record(tb testing.TB, db *sqlite.DB) {
	tb.Cleanup(func() { e.collect(context.WithoutCancel(tb.Context()), db) })
}

// connections is how many a database reads with.
const connections = 4

// collect takes the statements that the connections of a database remember. A
// database that a test has closed tells nothing any more.
func (e *explained) collect(ctx context.Context, db *sqlite.DB) {
	_ = db.Write(ctx, func(c *driver.Conn) error { e.remembered(c); return nil })
	var read func(n int) error
	read = func(n int) error {
		return db.Read(ctx, func(c *driver.Conn) error {
			e.remembered(c)
			if n == 1 {
				return nil
			}
			return read(n - 1)
		})
	}
	_ = read(connections)
}

// remembered are the statements that a connection has prepared.
func (e *explained) remembered(c *driver.Conn) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, key := range reflect.ValueOf(c).Elem().FieldByName("stmts").MapKeys() {
		e.statements[key.String()] = struct{}{}
	}
}

// scanned finds tables that are read through; what is no table is read through as
// a matter of course.
var scanned = regexp.MustCompile(`^SCAN ([a-z_]+)`)

// after demands, when a suite has run, that no statement reads a table through.
func (e *explained) after(t *testing.T) {
	t.Helper()
	db := openIn(t, t.TempDir())
	// It makes room for what the kinds of the suite have.
	if _, err := sqlite.NewDocuments(t.Context(), db, documenttest.Kinds()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		if len(e.statements) == 0 {
			t.Error("the suite has issued no statement: is it recorded?")
		}
		for query := range e.statements {
			if plan := e.readsThrough(t, db, query); plan != "" {
				t.Errorf("%s\n  %s", oneLine(query), plan)
			}
		}
		clear(e.statements)
	})
}

// readsThrough is the plan of a statement that reads a table through and may not.
func (e *explained) readsThrough(t *testing.T, db *sqlite.DB, query string) string {
	verb, _, _ := strings.Cut(query, " ")
	if !slices.Contains([]string{"SELECT", "UPDATE", "DELETE", "INSERT", "WITH"}, verb) || wholeTable(query) {
		return ""
	}
	plan, err := planOf(context.WithoutCancel(t.Context()), db, query)
	if err != nil && strings.Contains(query, " document ") && strings.Contains(err.Error(), "column") {
		return "" // of a case that declares kinds of its own
	}
	if err != nil {
		return err.Error()
	}
	for _, line := range plan {
		if table := scanned.FindStringSubmatch(line); table != nil && isTable(query, table[1]) {
			return strings.Join(plan, "\n  ")
		}
	}
	return ""
}

func planOf(ctx context.Context, db *sqlite.DB, query string) (plan []string, err error) {
	rolledBack := errors.New("only looked at")
	err = db.Write(ctx, func(c *driver.Conn) error {
		err := sqlite.Exec(c, "EXPLAIN QUERY PLAN "+query, func(r *driver.Stmt) { plan = append(plan, r.ColumnText(3)) })
		return errors.Join(err, rolledBack)
	})
	if errors.Is(err, rolledBack) && len(plan) > 0 {
		err = nil
	}
	if errors.Is(err, rolledBack) && strings.HasPrefix(strings.ToUpper(strings.TrimSpace(query)), "INSERT") {
		err = nil // rows are put in without a search
	}
	return plan, err
}

// isTable reports whether a name in a plan is that of a table, or stands for one:
// subqueries and lists of values are read through as a matter of course.
func isTable(query, name string) bool {
	if name == "json_each" || name == "pragma_table_info" || strings.Contains(query, ") AS "+name) || strings.Contains(query, ") "+name+"\n") || strings.Contains(query, ") "+name+" ") {
		return false
	}
	return name != "CONSTANT"
}

func wholeTable(query string) bool {
	query = oneLine(query)
	for _, w := range wholeTables {
		if strings.Contains(query, w.part) && (w.unless == "" || !strings.Contains(query, w.unless)) {
			return true
		}
	}
	return false
}

var spaces = regexp.MustCompile(`\s+`)

func oneLine(query string) string { return spaces.ReplaceAllString(query, " ") }
