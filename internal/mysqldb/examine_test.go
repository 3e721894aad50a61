package mysqldb_test

import (
	"strings"
	"testing"
	"time"

	"sluice/internal/mysqldb"
	"sluice/internal/testkit"
)

func TestExamineChangesNothing(t *testing.T) {
	url := testkit.MariaDB(t)
	r, err := mysqldb.Examine(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	if r.Have != 0 || r.Want == 0 || r.Denied != "" || r.FlushAtCommit != 1 || r.Packet == 0 || r.Ahead.Abs() > time.Minute {
		t.Errorf("before the first start: %+v", r)
	}
	db, err := mysqldb.Open(t.Context(), mysqldb.Options{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if r, err = mysqldb.Examine(t.Context(), url); err != nil || r.Have != r.Want {
		t.Errorf("after it: %+v, %v", r, err)
	}
}

func TestExamineNamesWhatIsDenied(t *testing.T) {
	url := testkit.MariaDB(t)
	db, err := mysqldb.Open(t.Context(), mysqldb.Options{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	name := testkit.Prefix(t)
	database := url[strings.LastIndex(url, "/")+1:]
	for _, statement := range []string{
		"CREATE USER " + name + "@'%' IDENTIFIED BY 'hidden'",
		"GRANT SELECT, INSERT, UPDATE, DELETE ON " + database + ".* TO " + name + "@'%'",
	} {
		if _, err := db.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	r, err := mysqldb.Examine(t.Context(), strings.Replace(url, "root@", name+":hidden@", 1))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(r.Denied, "create tables") || strings.Contains(r.Denied, "hidden") {
		t.Errorf("denied is %q", r.Denied)
	}
}
