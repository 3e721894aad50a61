package mysql_test

import (
	"strings"
	"testing"
	"time"

	"sluice/internal/backend/mysql"
	"sluice/internal/testkit"
)

func TestExamineChangesNothing(t *testing.T) {
	url := testkit.MariaDB(t)
	r, err := mysql.Examine(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	// The servers of the tests leave it to the system when commits reach the disk.
	if r.Have != 0 || r.Want == 0 || r.Denied != "" || r.FlushAtCommit != 2 || r.Packet == 0 || r.Ahead.Abs() > time.Minute {
		t.Errorf("before the first start: %+v", r)
	}
	db, err := mysql.Open(t.Context(), mysql.Options{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if r, err = mysql.Examine(t.Context(), url); err != nil || r.Have != r.Want {
		t.Errorf("after it: %+v, %v", r, err)
	}
}

func TestExamineNamesWhatIsDenied(t *testing.T) {
	url := testkit.MariaDB(t)
	db, err := mysql.Open(t.Context(), mysql.Options{URL: url})
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
	r, err := mysql.Examine(t.Context(), strings.Replace(url, "root@", name+":hidden@", 1))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(r.Denied, "create tables") || strings.Contains(r.Denied, "hidden") {
		t.Errorf("denied is %q", r.Denied)
	}
}
