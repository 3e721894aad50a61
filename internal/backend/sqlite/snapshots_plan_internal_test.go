package sqlite

import (
	"strings"
	"testing"
	"time"

	driver "zombiezen.com/go/sqlite"

	"sluice/internal/refresh"
)

// TestSnapshotsPlans: nothing that is done all the time looks at more rows than it is
// about, or sorts them.
func TestSnapshotsPlans(t *testing.T) {
	t.Parallel()
	db, err := Open(t.Context(), Options{Dir: t.TempDir(), Holder: "a test"})
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() { _ = db.Close() })
	letters, _ := letterQuery(refresh.DeadLetterQuery{Why: "x", Before: time.Unix(1, 0)})
	for name, c := range map[string]struct{ query, index string }{
		"due":            {dueSQL, "USING INDEX snapshot_due (source=? AND due_at<?)"},
		"snapshot":       {snapshotSQL, "USING INDEX snapshot_value_identity (source=? AND key=? AND version=? AND hash=?)"},
		"read":           {markReadSQL, "USING PRIMARY KEY (source=? AND key=?)"},
		"touch":          {touchHead + " VALUES (?,?,?,?,?),(?,?,?,?,?) " + touchTail, "USING PRIMARY KEY (source=? AND key=?)"},
		"values":         {valuesSQL, "USING INDEX snapshot_value_listed (stored_at>? AND stored_at<?)"},
		"forget present": {forgetPresentSQL, "USING INDEX snapshot_value_listed (stored_at<?)"},
		"forget":         {forgetSQL, "snapshot_value_listed (stored_at<?)"},
		"past":           {pastSQL, "USING INDEX snapshot_value_identity (source=? AND key=?)"},
		"letters":        {letters, "USING INDEX dead_letter_why (why=?"},
	} {
		var plan []string
		err := db.Read(t.Context(), func(conn *driver.Conn) error {
			return Exec(conn, "EXPLAIN QUERY PLAN "+c.query, func(r *driver.Stmt) { plan = append(plan, r.ColumnText(3)) })
		})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all := strings.Join(plan, "\n")
		// Reading a list of constants is called a scan as well, and reading what was
		// sorted: the values of one entity are few, and are without their bodies then.
		scans := strings.Contains(strings.NewReplacer("SCAN 2-ROW VALUES CLAUSE", "", "SCAN p", "").Replace(all), "SCAN")
		if !strings.Contains(all, c.index) || scans || name != "past" && strings.Contains(all, "TEMP B-TREE") {
			t.Errorf("%s is done by\n%s", name, all)
		}
	}
}
