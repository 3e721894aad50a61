package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"strings"
	"testing"

	"sluice/internal/mysqldb"
	"sluice/internal/refresh"
	"sluice/internal/testkit"
)

func TestMain(m *testing.M) { os.Exit(testkit.Main(m)) }

// explain returns the index that a statement uses, and what else is told of it.
func explain(ctx context.Context, db *mysqldb.DB, query string, args ...any) (access, key, extra string, err error) {
	err = db.Query(ctx, func(r *sql.Rows) error {
		columns, err := r.Columns()
		if err != nil {
			return err
		}
		values, into := make([]sql.NullString, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := r.Scan(into...); err != nil {
			return err
		}
		for i, column := range columns {
			switch column {
			case "type":
				access += values[i].String + " "
			case "key":
				key += values[i].String + " "
			case "Extra":
				extra += values[i].String + " "
			}
		}
		return nil
	}, "EXPLAIN "+query, args...)
	return access, key, extra, err
}

// TestPlans: nothing that is done all the time looks at more rows than it is
// about, or sorts them.
func TestPlans(t *testing.T) {
	t.Parallel()
	db, err := mysqldb.Open(t.Context(), mysqldb.Options{URL: testkit.MariaDB(t)})
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() { _ = db.Close() })
	s, err := New(db, refresh.TierOptions{})
	if err != nil {
		t.Fatalf("new: %v", err)
	}
	var all []refresh.Refreshed
	for i := range 500 {
		all = append(all, refresh.Refreshed{Entity: refresh.Entity{Source: fmt.Sprint("shop", i%3), Key: fmt.Sprint(i)}, Version: 1, Body: []byte("1"), Hash: refresh.Hash{1}})
	}
	if _, err := s.Save(t.Context(), all); err != nil {
		t.Fatalf("save: %v", err)
	}
	x := "X'" + strings.Repeat("00", 16) + "'"
	hash := "X'" + strings.Repeat("00", 32) + "'"
	for name, c := range map[string]struct {
		access, key, query string
		args               []any
	}{
		"due":    {"range", "snapshot_due", dueSQL, []any{[]byte("shop1"), 5, 10}},
		"lock":   {"range", "PRIMARY", "SELECT " + rowColumns + " FROM snapshot FORCE INDEX (PRIMARY) WHERE identity IN (" + x + ",X'11111111111111111111111111111111') ORDER BY identity FOR UPDATE", nil},
		"values": {"range", "snapshot_value_listed", valuesSQL, []any{-5, 5, -5, 0, 1000, 10}},
		"forget": {"range", "snapshot_value_listed", forgottenSQL, []any{-5, -5, 5, 1000}},
		"remove": {"range", "snapshot_value_identity", removeSQL + "(" + x + ",1," + hash + "),(" + x + ",2," + hash + "))", nil},
	} {
		access, key, extra, err := explain(t.Context(), db, c.query, c.args...)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if strings.TrimSpace(access) != c.access || strings.TrimSpace(key) != c.key || strings.Contains(extra, "filesort") || strings.Contains(extra, "temporary") {
			t.Errorf("%s is done by %q with %q: %s", name, access, key, extra)
		}
	}
}
