package sqlite_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	driver "zombiezen.com/go/sqlite"

	"sluice/internal/backend/sqlite"
)

// Some cases need a real second process. They start this test binary again
// with one of these in its environment, and a folder.
const (
	childRole   = "SLUICE_TEST_CHILD"
	childFolder = "SLUICE_TEST_FOLDER"
)

func TestMain(m *testing.M) {
	role, dir := os.Getenv(childRole), os.Getenv(childFolder)
	if role == "" {
		os.Exit(m.Run())
	}
	if err := child(context.Background(), role, dir); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// child is what the second process does. Its standard output tells the first
// how far it is.
func child(ctx context.Context, role, dir string) error {
	if role == "read" {
		return readWhenAsked(ctx, dir)
	}
	db, err := sqlite.Open(ctx, sqlite.Options{Dir: dir, Holder: "the child"})
	if err != nil {
		return err
	}
	fmt.Println("open")
	if role == "write" {
		return writeForever(ctx, db)
	}
	select {} // hold the folder until killed
}

// readWhenAsked opens a folder once, and prints how many numbers are there: now and
// for every line that it is told.
func readWhenAsked(ctx context.Context, dir string) error {
	db, err := sqlite.OpenToRead(ctx, dir)
	if err != nil {
		return err
	}
	asked := bufio.NewScanner(os.Stdin)
	for more := true; more; more = asked.Scan() {
		n := 0
		err := db.Read(ctx, func(c *driver.Conn) error {
			return sqlite.Exec(c, "SELECT count(*) FROM cursor WHERE resource = 'number'", func(r *driver.Stmt) { n = r.ColumnInt(0) })
		})
		if err != nil {
			return err
		}
		fmt.Println(n)
	}
	return db.Close()
}

// writeForever commits numbers from several goroutines and prints each when
// its commit was acknowledged.
func writeForever(ctx context.Context, db *sqlite.DB) error {
	const writers = 8
	first := 0
	err := db.Read(ctx, func(c *driver.Conn) error {
		return sqlite.Exec(c, "SELECT coalesce(max(account_id), 0) FROM cursor WHERE resource = 'number'", func(r *driver.Stmt) { first = r.ColumnInt(0) })
	})
	if err != nil {
		return err
	}
	acknowledged, failed := make(chan int), make(chan error)
	for w := range writers {
		go func() {
			for n := first + w + 1; ; n += writers {
				if err := db.Write(ctx, insertNumber(n)); err != nil {
					failed <- err
					return
				}
				acknowledged <- n
			}
		}()
	}
	for {
		select {
		case err := <-failed:
			return err
		case n := <-acknowledged:
			if _, err := fmt.Println(n); err != nil {
				return err
			}
		}
	}
}

// insertNumber writes a row that stands for a number.
func insertNumber(n int) func(*driver.Conn) error {
	return func(c *driver.Conn) error {
		return sqlite.Exec(c, "INSERT INTO cursor (account_id, resource, at) VALUES (?, 'number', 1)", nil, n)
	}
}

// childProcess is a running child.
type childProcess struct {
	cmd   *exec.Cmd
	lines *bufio.Scanner
	in    io.Writer
}

// ask tells the child a line and waits for one.
func (p *childProcess) ask(t *testing.T) string {
	t.Helper()
	if _, err := fmt.Fprintln(p.in); err != nil {
		t.Fatalf("ask: %v", err)
	}
	return p.line()
}

func startChild(t *testing.T, role, dir string) *childProcess {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatalf("find this binary: %v", err)
	}
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), childRole+"="+role, childFolder+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatalf("pipe: %v", err)
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatalf("pipe: %v", err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("start: %v", err)
	}
	return &childProcess{cmd, bufio.NewScanner(out), in}
}

// line waits for the next line the child prints; "" at its end.
func (p *childProcess) line() string {
	if p.lines.Scan() {
		return p.lines.Text()
	}
	return ""
}

// kill ends the child with SIGKILL and waits until it is gone. Its error is
// that it was killed.
func (p *childProcess) kill(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatalf("kill: %v", err)
	}
}

func (p *childProcess) wait() { _ = p.cmd.Wait() }

// start is when the cases that need an instant begin.
var start = time.Date(2020, 3, 1, 12, 0, 0, 123457000, time.UTC)

func openIn(tb testing.TB, dir string) *sqlite.DB {
	tb.Helper()
	return open(tb, sqlite.Options{Dir: dir, Holder: "a test"})
}

func open(t testing.TB, o sqlite.Options) *sqlite.DB {
	t.Helper()
	db, err := sqlite.Open(t.Context(), o)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	suites.record(t, db)
	return db
}

// numbers lists what insertNumber wrote.
func numbers(t testing.TB, db *sqlite.DB) map[int]bool {
	t.Helper()
	out := map[int]bool{}
	err := db.Read(t.Context(), func(c *driver.Conn) error {
		return sqlite.Exec(c, "SELECT account_id FROM cursor WHERE resource = 'number'", func(r *driver.Stmt) { out[r.ColumnInt(0)] = true })
	})
	if err != nil {
		t.Fatalf("read numbers: %v", err)
	}
	return out
}
