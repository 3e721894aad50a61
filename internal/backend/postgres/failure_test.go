package postgres

import (
	"context"
	"database/sql"
	"errors"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/internal/backend/relational"
	"sluice/internal/domain"
	"sluice/internal/testkit"
)

// number reads a row of id_sequence, which serves these tests as a table.
func number(tb testing.TB, db *relational.DB, name string) int64 {
	tb.Helper()
	return count(tb.Context(), tb, db, "SELECT last_id FROM id_sequence WHERE name = ?", name)
}

func add(ctx context.Context, tx *relational.Tx, name string, n int) error {
	_, err := tx.ExecContext(ctx, "UPDATE id_sequence SET last_id = last_id + ? WHERE name = ?", n, name)
	return err
}

// TestPasswordIsNeverTold tries every way in which opening can fail.
func TestPasswordIsNeverTold(t *testing.T) {
	t.Parallel()
	server, err := url.Parse(testkit.Postgres(t))
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
	at := server.Host + server.Path
	for text, code := range map[string]domain.Code{
		"postgres://ghost:s3cret@" + at:                                    domain.CodeInvalid,
		"postgres://sluice:s3cret@" + closed.Addr().String() + server.Path: domain.CodeUnavailable,
		"postgres://sluice:s3cret@" + server.Host:                          domain.CodeInvalid,
		"postgres://sluice:s3cret@" + server.Host + "/a/b":                 domain.CodeInvalid,
		"postgres://sluice:s3cret@" + at + "?sslmode=best":                 domain.CodeInvalid,
		"postgres://sluice:s3cret@" + at + "?a=s3cret":                     domain.CodeInvalid,
		"postgres://sluice@" + at + "?password=s3cret&a=b":                 domain.CodeInvalid,
		"postgres://sluice@" + at + "?password=s3cret&password=s3cret":     domain.CodeInvalid,
		"postgres://sluice:s3cret@" + at + "?sslrootcert=/nowhere":         domain.CodeInvalid,
		"postgres://sluice:s3cret@" + at + "?sslmode=require":              domain.CodeUnavailable,
		"postgres://sluice:s3cret%@" + server.Host:                         domain.CodeInvalid,
		"postgres://sluice:s3/cret@" + at:                                  domain.CodeInvalid,
		"postgres://sluice:s3cret@:x/db":                                   domain.CodeInvalid,
		"postgres:///db?password=s3cret":                                   domain.CodeInvalid,
		"mysql://sluice:s3cret@" + at:                                      domain.CodeInvalid,
		"user=sluice password=s3cret host=" + server.Hostname():            domain.CodeInvalid,
		"postgres://sluice@" + server.Host + "/nowhere":                    domain.CodeInvalid,
	} {
		db, err := Open(t.Context(), Options{URL: text})
		if err == nil {
			_ = db.Close()
		}
		if domain.CodeOf(err) != code {
			t.Errorf("%s: %v, want code %s", text, err, code)
		}
		if err != nil && (strings.Contains(err.Error(), "s3cret") || strings.Contains(err.Error(), "s3/cret")) {
			t.Errorf("the password is told: %v", err)
		}
		if told := Redact(text); strings.Contains(told, "s3cret") || strings.Contains(told, "s3/cret") {
			t.Errorf("the password is told: %s", told)
		}
	}
}

// TestPasswordIsChecked by a server that asks for one.
func TestPasswordIsChecked(t *testing.T) {
	t.Parallel()
	server := testkit.StartPostgres(t)
	admin := plain(t, server.URL())
	for _, statement := range []string{
		"CREATE ROLE writer LOGIN PASSWORD 'p@ss/word?'", "GRANT ALL ON SCHEMA public TO writer",
		"COPY (VALUES ('host all sluice 127.0.0.1/32 trust'), ('host all writer 127.0.0.1/32 scram-sha-256')) TO PROGRAM 'cat > pg_hba.conf'",
		"SELECT pg_reload_conf()",
	} {
		if _, err := admin.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	as := func(who string) error {
		db, err := Open(t.Context(), Options{URL: strings.Replace(server.URL(), "sluice@", who+"@", 1)})
		if err == nil {
			err = db.Close()
		}
		return err
	}
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for deadline := time.Now().Add(5 * time.Minute); ; <-again.C {
		err := as("writer:wr0ng")
		if err == nil && time.Now().Before(deadline) {
			continue // it has not read its configuration yet
		}
		if domain.CodeOf(err) != domain.CodeInvalid || strings.Contains(err.Error(), "wr0ng") {
			t.Errorf("a wrong password: %v", err)
		}
		break
	}
	if err := as("writer:p%40ss%2Fword%3F"); err != nil {
		t.Errorf("the right one: %v", err)
	}
}

// TestServerRestart has calls under way when the server dies. They fail with
// code unavailable; what comes when it is back works at once, although the
// idle connections are dead.
func TestServerRestart(t *testing.T) {
	t.Parallel()
	server := testkit.StartPostgres(t)
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
	together := func(round int) {
		for i := range crowd {
			all.Go(func() {
				err := db.Tx(t.Context(), func(tx *relational.Tx) error {
					_, err := tx.ExecContext(t.Context(), "INSERT INTO chunk (id, account_id, data) VALUES (?, 1, '')", round*100+i)
					return err
				})
				if err != nil {
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
	server := testkit.StartPostgres(t)
	admin := open(t, server.URL())
	for _, statement := range []string{"CREATE ROLE writer LOGIN CONNECTION LIMIT 3", "GRANT ALL ON ALL TABLES IN SCHEMA public TO writer"} {
		if _, err := admin.Exec(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	for range 5 {
		db, err := Open(t.Context(), Options{URL: strings.Replace(server.URL(), "sluice@", "writer@", 1), MaxConnections: 1})
		if err != nil {
			if domain.CodeOf(err) != domain.CodeUnavailable || !strings.Contains(err.Error(), "too many connections") {
				t.Errorf("a full server: %v, want code unavailable", err)
			}
			return
		}
		defer func() { _ = db.Close() }()
	}
	t.Errorf("the server was never full")
}

// TestReadOnlyServer: what does not write is not the primary any more.
func TestReadOnlyServer(t *testing.T) {
	t.Parallel()
	url := testkit.Postgres(t)
	db, admin := openWith(t, Options{URL: url, MaxConnections: 1}), plain(t, url)
	name := url[strings.LastIndex(url, "/")+1 : strings.Index(url, "?")]
	set := func(how string) {
		t.Helper()
		if _, err := admin.ExecContext(t.Context(), "ALTER DATABASE "+name+" SET default_transaction_read_only = "+how); err != nil {
			t.Fatal(err)
		}
	}
	write := func() error {
		return db.Tx(t.Context(), func(tx *relational.Tx) error { return add(t.Context(), tx, "job", 1) })
	}
	// A session is given up, and the next learns that it may not write.
	set("on")
	if _, err := db.Exec(t.Context(), "SET default_transaction_read_only = on"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := write(); domain.CodeOf(err) != domain.CodeUnavailable {
			t.Errorf("a read-only server: %v, want code unavailable", err)
		}
	}
	set("off")
	// The session of the last attempt was given up with it.
	if err := write(); err != nil {
		t.Errorf("a server that takes writes again: %v", err)
	}
}

// TestLostAnswerToACommit: it may have been committed, and the caller is told
// to repeat the call.
func TestLostAnswerToACommit(t *testing.T) {
	t.Parallel()
	for _, final := range []bool{false, true} {
		u, err := url.Parse(testkit.Postgres(t))
		if err != nil {
			t.Fatalf("parse: %v", err)
		}
		proxy := testkit.StartProxy(t, u.Host)
		u.Host = proxy.Address
		db := open(t, u.String())
		proxy.Lose([]byte("COMMIT"))
		ctx := t.Context()
		if final {
			ctx = relational.Final(ctx)
		}
		err = db.Tx(t.Context(), func(tx *relational.Tx) error { return add(ctx, tx, "job", 1) })
		if domain.CodeOf(err) != domain.CodeUnavailable {
			t.Errorf("a commit without an answer: %v, want code unavailable", err)
		}
		proxy.Lose(nil)
		if n := number(t, db, "job"); n != 1 {
			t.Errorf("the row holds %d: the commit did not arrive", n)
		}
	}
}

// TestFailedTransactionIsNotCommitted: PostgreSQL would roll it back, and call
// that a success.
func TestFailedTransactionIsNotCommitted(t *testing.T) {
	t.Parallel()
	db := openWith(t, Options{URL: testkit.Postgres(t), MaxConnections: 1})
	for name, wrong := range map[string]string{"a failure": "SELECT 1 / 0", "a mistake": "SELEKT 1", "nothing there": "SELECT 1 FROM nothing"} {
		for _, begun := range []bool{true, false} {
			err := db.Tx(t.Context(), func(tx *relational.Tx) error {
				if begun {
					if err := add(t.Context(), tx, "job", 1); err != nil {
						t.Error(err)
					}
				}
				if _, err := tx.ExecContext(t.Context(), wrong); err == nil {
					t.Errorf("%s was not refused", name)
				}
				if err := add(t.Context(), tx, "job", 1); !errors.Is(err, errFailed) {
					t.Errorf("after %s: %v", name, err)
				}
				return nil
			})
			if !errors.Is(err, errFailed) || number(t, db, "job") != 0 {
				t.Errorf("after %s the commit: %v, and the row holds %d", name, err, number(t, db, "job"))
			}
		}
	}
}

// TestVanishedMachine: its transaction ends by itself, and its locks with it.
func TestVanishedMachine(t *testing.T) {
	t.Parallel()
	db := open(t, testkit.Postgres(t))
	begun := time.Now()
	err := db.Tx(t.Context(), func(tx *relational.Tx) error {
		if err := add(t.Context(), tx, "job", 1); err != nil {
			return err
		}
		// Whoever needs the row waits, and gets it in the end.
		err := db.Tx(t.Context(), func(other *relational.Tx) error { return add(t.Context(), other, "job", 10) })
		if err != nil {
			t.Errorf("after %v: %v", time.Since(begun), err)
		}
		return add(t.Context(), tx, "job", 100)
	})
	if took := time.Since(begun); took < idleInTransaction-time.Second || took > 4*idleInTransaction {
		t.Errorf("the transaction has ended after %v", took)
	}
	if domain.CodeOf(err) != domain.CodeUnavailable || number(t, db, "job") != 10 {
		t.Errorf("the one that was silent: %v, and the row holds %d", err, number(t, db, "job"))
	}
}

// TestLockThatIsNotToBeHad is known as one, and the next call works.
func TestLockThatIsNotToBeHad(t *testing.T) {
	t.Parallel()
	db := open(t, testkit.Postgres(t))
	err := db.Tx(t.Context(), func(tx *relational.Tx) error {
		if err := add(t.Context(), tx, "job", 1); err != nil {
			return err
		}
		begun := time.Now()
		err := db.TxNoWait(t.Context(), func(other *relational.Tx) error { return add(t.Context(), other, "job", 10) })
		if !db.IsLocked(err) || domain.CodeOf(err) != domain.CodeUnavailable || time.Since(begun) < lockWait {
			t.Errorf("after %v: %v", time.Since(begun), err)
		}
		return nil
	})
	if err != nil || number(t, db, "job") != 1 {
		t.Errorf("%v, the row holds %d", err, number(t, db, "job"))
	}
}

// TestPausedServer: a server that is silent is given up, in the time that the
// caller has.
func TestPausedServer(t *testing.T) {
	t.Parallel()
	server := testkit.StartPostgres(t)
	db := openWith(t, Options{URL: server.URL(), MaxConnections: 1})
	server.Pause()
	limited, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	err := db.Query(limited, func(*sql.Rows) error { return nil }, "SELECT 1")
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a silent server: %v", err)
	}
	server.Continue()
	if n := count(t.Context(), t, db, "SELECT 1"); n != 1 {
		t.Errorf("it answers again: %d", n)
	}
}

// TestLimitsOfTransactions: inside of one the server waits for seconds, and for
// a minute if it only reads; however it ends, the next has what it needs.
func TestLimitsOfTransactions(t *testing.T) {
	t.Parallel()
	db := openWith(t, Options{URL: testkit.Postgres(t), MaxConnections: 1})
	limit := func(tx *relational.Tx) (got string) {
		if err := tx.QueryRowContext(t.Context(), "SHOW idle_in_transaction_session_timeout").Scan(&got); err != nil {
			t.Error(err)
		}
		return got
	}
	stop := errors.New("stop")
	for _, end := range []error{nil, stop} {
		err := db.Snapshot(t.Context(), func(tx *relational.Tx) error {
			if got := limit(tx); got != "1min" {
				t.Errorf("a snapshot may be silent for %s", got)
			}
			if err := add(t.Context(), tx, "job", 1); err == nil {
				t.Error("a snapshot has written")
			}
			return stop
		})
		if !errors.Is(err, stop) {
			t.Error(err)
		}
		err = db.Tx(t.Context(), func(tx *relational.Tx) error {
			if got := limit(tx); got != "5s" {
				t.Errorf("a transaction may be silent for %s", got)
			}
			return end
		})
		if !errors.Is(err, end) {
			t.Error(err)
		}
	}
}
