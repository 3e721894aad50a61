package mysql_test

import (
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"

	"sluice/internal/backend/mysql"
	"sluice/internal/backend/relational"
	"sluice/internal/domain"
	"sluice/internal/testkit"
)

// TestPasswordIsNeverTold tries every way in which opening can fail.
func TestPasswordIsNeverTold(t *testing.T) {
	t.Parallel()
	server, err := url.Parse(testkit.MariaDB(t))
	if err != nil {
		t.Fatalf("parse: %v", err)
	}
	closed, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listen: %v", err)
	}
	if err := closed.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
	for text, code := range map[string]domain.Code{
		"mysql://root:s3cret@" + server.Host + server.Path:               domain.CodeInvalid,
		"mysql://ghost:s3cret@" + server.Host + server.Path:              domain.CodeInvalid,
		"mysql://root:s3cret@" + closed.Addr().String() + server.Path:    domain.CodeUnavailable,
		"mysql://root:s3cret@" + server.Host:                             domain.CodeInvalid,
		"mysql://root:s3cret@" + server.Host + "/a/b":                    domain.CodeInvalid,
		"mysql://root:s3cret@" + server.Host + server.Path + "?tls=best": domain.CodeInvalid,
		"mysql://root:s3cret@" + server.Host + server.Path + "?a=s":      domain.CodeInvalid,
		"mysql://root:s3cret%@" + server.Host:                            domain.CodeInvalid,
		"postgres://root:s3cret@" + server.Host + server.Path:            domain.CodeInvalid,
		"root:s3cret@tcp(" + server.Host + ")/db":                        domain.CodeInvalid,
		"mysql://root@" + server.Host + "/nowhere":                       domain.CodeInvalid,
	} {
		db, err := mysql.Open(t.Context(), mysql.Options{URL: text})
		if err == nil {
			_ = db.Close()
		}
		if domain.CodeOf(err) != code {
			t.Errorf("%s: %v, want code %s", text, err, code)
		}
		if err != nil && strings.Contains(err.Error(), "s3cret") {
			t.Errorf("the password is told: %v", err)
		}
		if told := mysql.Redact(text); strings.Contains(told, "s3cret") {
			t.Errorf("the password is told: %s", told)
		}
	}
}

// TestServerRestart has calls under way when the server dies. They fail with
// code unavailable; what comes when it is back works at once, although the
// idle connections are dead.
func TestServerRestart(t *testing.T) {
	t.Parallel()
	server := testkit.StartMariaDB(t)
	db := open(t, server.URL())
	const crowd = 12
	inside, killed := make(chan struct{}, crowd), make(chan struct{})
	var all sync.WaitGroup
	for i := range crowd {
		all.Go(func() {
			err := db.Tx(t.Context(), func(tx *relational.Tx) error {
				if err := tx.QueryRowContext(t.Context(), "SELECT ?", i).Scan(new(int)); err != nil {
					return err
				}
				inside <- struct{}{}
				<-killed
				_, err := tx.ExecContext(t.Context(), "INSERT INTO chunk (id, account_id, data) VALUES (?, 1, '')", i)
				return err
			})
			if domain.CodeOf(err) != domain.CodeUnavailable {
				t.Errorf("a call under way: %v, want code unavailable", err)
			}
		})
	}
	for range crowd {
		<-inside
	}
	server.Kill()
	close(killed)
	all.Wait()
	if err := db.Query(t.Context(), nil, "SELECT 1 FROM chunk"); domain.CodeOf(err) != domain.CodeUnavailable {
		t.Errorf("a call while it is away: %v, want code unavailable", err)
	}
	server.Start()
	write := func(id int) error {
		return db.Tx(t.Context(), func(tx *relational.Tx) error {
			_, err := tx.ExecContext(t.Context(), "INSERT INTO chunk (id, account_id, data) VALUES (?, 1, '')", id)
			return err
		})
	}
	together := func(round int) {
		for i := range crowd {
			all.Go(func() {
				if err := write(round*100 + i); err != nil {
					t.Errorf("a call after the restart: %v", err)
				}
			})
		}
		all.Wait()
	}
	together(1)
	server.Restart() // all connections are idle now
	together(2)
}

// TestServerThatIsFull: too many connections is no reason to give up.
func TestServerThatIsFull(t *testing.T) {
	t.Parallel()
	server := testkit.StartMariaDB(t)
	if _, err := open(t, server.URL()).Exec(t.Context(), "SET GLOBAL max_connections = 10"); err != nil {
		t.Fatalf("set: %v", err)
	}
	for range 20 {
		db, err := mysql.Open(t.Context(), mysql.Options{URL: server.URL(), MaxConnections: 1})
		if err != nil {
			if domain.CodeOf(err) != domain.CodeUnavailable || !strings.Contains(err.Error(), "Too many connections") {
				t.Errorf("a full server: %v, want code unavailable", err)
			}
			return
		}
		defer func() { _ = db.Close() }()
	}
	t.Errorf("the server was never full")
}

func TestReadOnlyServer(t *testing.T) {
	t.Parallel()
	server := testkit.StartMariaDB(t)
	root := open(t, server.URL())
	for _, statement := range []string{
		"CREATE USER writer@'%' IDENTIFIED BY 'p@ss/word'", "GRANT ALL ON sluice.* TO writer@'%'", "SET GLOBAL read_only = 1",
	} {
		if _, err := root.Exec(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	db := open(t, strings.Replace(server.URL(), "root@", "writer:p%40ss%2Fword@", 1))
	write := func() error {
		return db.Tx(t.Context(), func(tx *relational.Tx) error { return add(t.Context(), tx, "job", 1) })
	}
	if err := write(); domain.CodeOf(err) != domain.CodeUnavailable {
		t.Errorf("a read-only server: %v, want code unavailable", err)
	}
	if _, err := root.Exec(t.Context(), "SET GLOBAL read_only = 0"); err != nil {
		t.Fatalf("set: %v", err)
	}
	if err := write(); err != nil {
		t.Errorf("a server that takes writes again: %v", err)
	}
}

// TestLostAnswerToACommit: it may have been committed, and the caller is told
// to repeat the call.
func TestLostAnswerToACommit(t *testing.T) {
	t.Parallel()
	direct := testkit.MariaDB(t)
	u, err := url.Parse(direct)
	if err != nil {
		t.Fatalf("parse: %v", err)
	}
	proxy := testkit.StartProxy(t, u.Host)
	u.Host = proxy.Address
	db := open(t, u.String())
	proxy.Lose([]byte("COMMIT"))
	err = db.Tx(t.Context(), func(tx *relational.Tx) error { return add(t.Context(), tx, "job", 1) })
	if domain.CodeOf(err) != domain.CodeUnavailable {
		t.Errorf("a commit without an answer: %v, want code unavailable", err)
	}
	proxy.Lose(nil)
	if n := number(t, db, "job"); n != 1 {
		t.Errorf("the row holds %d: the commit did not arrive", n)
	}
}
