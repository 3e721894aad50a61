package relational_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"sluice/internal/backend/relational"
	"sluice/internal/refresh"
	"sluice/internal/testkit"
)

// explain returns the index that a statement uses, and what else is told of it.
func explain(ctx context.Context, db *relational.DB, query string, args ...any) (access, key, extra string, err error) {
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

// TestSnapshotsPlans: nothing that is done all the time looks at more rows than it is
// about, or sorts them. Plans are told in MariaDB's words; PostgreSQL's sessions
// go along indexes anyway.
func TestSnapshotsPlans(t *testing.T) {
	t.Parallel()
	db := open(t, testkit.MariaDB(t))
	s := newSnapshots(t, db)
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
		"due":    {"range", "snapshot_due", relational.DueSQL, []any{[]byte("shop1"), 5, 10}},
		"lock":   {"range", "PRIMARY", "SELECT " + relational.EntityColumns + " FROM snapshot /*! FORCE INDEX (PRIMARY) */ WHERE identity IN (" + x + ",X'11111111111111111111111111111111') ORDER BY identity FOR UPDATE", nil},
		"values": {"range", "snapshot_value_listed", relational.ValuesSQL, []any{-5, 5, -5, 0, 1000, 10}},
		"forget": {"range", "snapshot_value_listed", relational.ForgottenSQL, []any{-5, -5, 5, 1000}},
		"remove": {"range", "snapshot_value_identity", relational.RemoveValuesSQL + x + ") AND (identity, version, hash) IN ((" + x + ",1," + hash + "),(" + x + ",2," + hash + "))", nil},
	} {
		access, key, extra, err := explain(t.Context(), db, c.query, c.args...)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if strings.TrimSpace(access) != c.access || strings.TrimSpace(key) != c.key || strings.Contains(extra, "filesort") || strings.Contains(extra, "temporary") {
			t.Errorf("%s is done by %q with %q: %s", name, access, key, extra)
		}
	}
	// The values of one entity are few, and are sorted without their bodies.
	_, key, _, err := explain(t.Context(), db, relational.PastSQL, make([]byte, 16), 5, 5, 0, 10)
	if err != nil || !strings.Contains(key, "snapshot_value_identity") || !strings.Contains(key, "PRIMARY") {
		t.Errorf("an entity's values are found with %q, %v", key, err)
	}
}
