package mysqldb_test

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"

	"sluice/internal/domain"
	"sluice/internal/mysqldb"
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
		db, err := mysqldb.Open(t.Context(), mysqldb.Options{URL: text})
		if err == nil {
			_ = db.Close()
		}
		if domain.CodeOf(err) != code {
			t.Errorf("%s: %v, want code %s", text, err, code)
		}
		if err != nil && strings.Contains(err.Error(), "s3cret") {
			t.Errorf("the password is told: %v", err)
		}
		if told := mysqldb.Redact(text); strings.Contains(told, "s3cret") {
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
			err := db.Tx(t.Context(), func(tx *sql.Tx) error {
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
		return db.Tx(t.Context(), func(tx *sql.Tx) error {
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
		db, err := mysqldb.Open(t.Context(), mysqldb.Options{URL: server.URL(), MaxConnections: 1})
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
		return db.Tx(t.Context(), func(tx *sql.Tx) error { return add(t.Context(), tx, "job", 1) })
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
	proxy := startProxy(t, u.Host)
	u.Host = proxy.address
	db := open(t, u.String())
	proxy.lose([]byte("COMMIT"))
	err = db.Tx(t.Context(), func(tx *sql.Tx) error { return add(t.Context(), tx, "job", 1) })
	if domain.CodeOf(err) != domain.CodeUnavailable {
		t.Errorf("a commit without an answer: %v, want code unavailable", err)
	}
	proxy.lose(nil)
	if n := number(t, db, "job"); n != 1 {
		t.Errorf("the row holds %d: the commit did not arrive", n)
	}
}

// proxy passes bytes on, and ends a connection when it has passed certain ones
// to the server and the answer has come.
type proxy struct {
	address string
	mu      sync.Mutex
	trigger []byte
}

func (p *proxy) lose(trigger []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.trigger = trigger
}

func (p *proxy) triggered(b []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.trigger != nil && bytes.Contains(b, p.trigger)
}

func startProxy(t *testing.T, server string) *proxy {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listen: %v", err)
	}
	p := &proxy{address: listener.Addr().String()}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go p.serve(context.WithoutCancel(t.Context()), client, server)
		}
	}()
	return p
}

func (p *proxy) serve(ctx context.Context, client net.Conn, address string) {
	defer func() { _ = client.Close() }()
	server, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	lose := make(chan struct{}, 1)
	go pass(client, server, func(b []byte) bool {
		if p.triggered(b) {
			lose <- struct{}{}
		}
		return true
	})
	pass(server, client, func([]byte) bool {
		select {
		case <-lose:
			return false
		default:
			return true
		}
	})
}

// pass copies until one side ends or wanted says no.
func pass(from, to net.Conn, wanted func([]byte) bool) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil || !wanted(buffer[:n]) {
			return
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

func TestHashesTellTextsApart(t *testing.T) {
	t.Parallel()
	seen := map[mysqldb.Hash]string{}
	for _, texts := range [][]string{nil, {""}, {"", ""}, {"a", "b"}, {"ab"}, {"ab", ""}, {"", "ab"}, {"a ", "b"}, {strings.Repeat("a", 128), "b"}} {
		h := mysqldb.HashOf(texts...)
		if other, ok := seen[h]; ok {
			t.Errorf("%q and %s have one hash", texts, other)
		}
		seen[h] = fmt.Sprintf("%q", texts)
	}
}
