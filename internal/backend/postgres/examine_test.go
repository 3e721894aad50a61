package postgres

import (
	"strings"
	"testing"
	"time"

	"sluice/internal/testkit"
)

func TestExamineChangesNothing(t *testing.T) {
	t.Parallel()
	url := testkit.Postgres(t)
	r, err := Examine(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	// The servers of the tests leave it to the system when commits reach the disk.
	if r.Have != 0 || r.Want == 0 || r.Denied != "" || r.Durable || r.Connections != 200 || r.Ahead.Abs() > time.Minute {
		t.Errorf("before the first start: %+v", r)
	}
	open(t, url)
	if r, err = Examine(t.Context(), url); err != nil || r.Have != r.Want {
		t.Errorf("after it: %+v, %v", r, err)
	}
}

func TestExamineNamesWhatIsDenied(t *testing.T) {
	t.Parallel()
	url := testkit.Postgres(t)
	db := open(t, url)
	name := testkit.Prefix(t)
	for _, statement := range []string{"CREATE ROLE " + name + " LOGIN", "REVOKE CREATE ON SCHEMA public FROM public", "GRANT SELECT ON ALL TABLES IN SCHEMA public TO " + name} {
		if _, err := db.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	r, err := Examine(t.Context(), strings.Replace(url, "sluice@", name+":hidden@", 1))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(r.Denied, "create tables") || strings.Contains(r.Denied, "hidden") {
		t.Errorf("denied is %q", r.Denied)
	}
}
