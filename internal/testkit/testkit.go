// Package testkit gives tests real servers: Redis, MariaDB, PostgreSQL and one
// of MongoDB's protocol, each a process on a free port of 127.0.0.1 with a data
// folder of its own that is removed in the end.
//
// SLUICE_TEST_REQUIRE=all makes a test fail whose server cannot be had;
// otherwise it is skipped, and a line about it is added to the file named by
// SLUICE_TEST_FALLBACKS.
package testkit

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
)

// current is what the tests of this process share: servers outlive the test
// that happens to start them, so that no test can own them.
var current = &kit{shared: map[string]*sharedServer{}, said: map[string]bool{}}

// kit keeps the servers of a test process.
type kit struct {
	mu        sync.Mutex
	running   bool // inside Main
	work      *workspace
	spawner   *spawner
	processes map[*process]bool
	shared    map[string]*sharedServer
	said      map[string]bool
	template  onceValue[string] // the data folder of a new MariaDB
	ferret    onceValue[string] // the path of FerretDB's program
	// postgresTemplate is the data folder of a new PostgreSQL.
	postgresTemplate onceValue[string]
}

// sharedServer is a server that all tests of the process use.
type sharedServer struct {
	once sync.Once
	url  string
	err  error
}

// onceValue is the result of something that is done at most once.
type onceValue[T any] struct {
	once  sync.Once
	value T
	err   error
}

func (o *onceValue[T]) get(make func() (T, error)) (T, error) {
	o.once.Do(func() { o.value, o.err = make() })
	return o.value, o.err
}

// Main runs a package's tests and stops every server they started:
//
//	func TestMain(m *testing.M) { os.Exit(testkit.Main(m)) }
func Main(m *testing.M) int {
	current.mu.Lock()
	current.running = true
	current.mu.Unlock()
	code := m.Run()
	if err := current.close(); err != nil {
		fmt.Fprintln(os.Stderr, "testkit:", err)
		return max(code, 1)
	}
	return code
}

// Prefix returns a short, unique name that keys, databases and the like of one
// test can begin with.
func Prefix(testing.TB) string { return "t" + strings.ToLower(rand.Text()[:10]) }

// open returns the folder of this process, making it at its first use.
func (k *kit) open() (*workspace, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.running {
		return nil, errors.New("servers need a TestMain that stops them: func TestMain(m *testing.M) { os.Exit(testkit.Main(m)) }")
	}
	if k.work != nil {
		return k.work, nil
	}
	work, err := openWorkspace()
	if err != nil {
		return nil, err
	}
	k.work, k.spawner, k.processes = work, newSpawner(), map[*process]bool{}
	return work, nil
}

// close kills what runs and removes all data.
func (k *kit) close() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.running = false
	if k.work == nil {
		return nil
	}
	for p := range k.processes {
		p.kill()
		if p.program.leave != nil {
			p.program.leave(p.data())
		}
	}
	return k.work.remove()
}

// use returns the URL of a server that the process shares.
func (k *kit) use(tb testing.TB, name string, start func() (string, error)) string {
	tb.Helper()
	k.mu.Lock()
	server := k.shared[name]
	if server == nil {
		server = &sharedServer{}
		k.shared[name] = server
	}
	k.mu.Unlock()
	server.once.Do(func() { server.url, server.err = start() })
	if server.err != nil {
		k.refuse(tb, server.err)
	}
	return server.url
}

// once reports whether it is called with this text for the first time.
func (k *kit) once(text string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	first := !k.said[text]
	k.said[text] = true
	return first
}
