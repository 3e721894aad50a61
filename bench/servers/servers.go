// Package servers starts real Redis, PostgreSQL, MariaDB and Kafka servers for
// one run of the benchmarks: each on a free port of the loopback address, with a
// data folder of its own, in its default configuration or what is said beside
// it.
package servers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// Kind is a server that a benchmark may need.
type Kind string

// The servers.
const (
	Redis    Kind = "redis"
	Postgres Kind = "postgres"
	MariaDB  Kind = "mariadb"
	Kafka    Kind = "kafka"
)

// Package is the Debian package that a server comes from (or those, with spaces
// between them), "" if the server is already installed.
func (k Kind) Package() string {
	switch k {
	case Redis:
		if _, err := exec.LookPath("redis-server"); err != nil {
			return "redis-server"
		}
	case Postgres:
		if _, err := postgresBinary("postgres"); err != nil {
			return "postgresql"
		}
	case MariaDB:
		if _, err := mariadbBinary("mariadbd"); err != nil {
			return "mariadb-server"
		}
	case Kafka:
		return kafkaPackages()
	}
	return ""
}

// Set starts servers when they are first asked for and stops all of them in
// the end.
type Set struct {
	dir string
	log io.Writer

	mu      sync.Mutex
	running []*process
	redis   string
	pg      string
	maria   string
	kafka   string
	uses    int
}

// NewSet returns a set without servers; their data goes below dir.
func NewSet(dir string, log io.Writer) *Set { return &Set{dir: dir, log: log} }

// Close stops the servers that were started.
func (s *Set) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	for _, p := range s.running {
		err = errors.Join(err, p.stop())
	}
	s.running = nil
	return err
}

// Pid returns the process of a server that was started, 0 for any other.
func (s *Set) Pid(kind Kind) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.running {
		if p.kind == kind {
			return p.cmd.Process.Pid
		}
	}
	return 0
}

// process is a server as a child of this process.
type process struct {
	kind   Kind
	name   string
	cmd    *exec.Cmd
	signal os.Signal
	ended  chan error
}

// launch starts a server whose output goes to a file in its data folder.
func launch(kind Kind, dir string, cmd *exec.Cmd, stop os.Signal) (*process, error) {
	name := filepath.Base(cmd.Path)
	log, err := os.Create(filepath.Join(dir, "server.log"))
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = log, log
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	// A signal from the keyboard is for the benchmarks, which stop the server.
	cmd.SysProcAttr.Setpgid = true
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", name, err), log.Close())
	}
	p := &process{kind: kind, name: name, cmd: cmd, signal: stop, ended: make(chan error, 1)}
	go func() { p.ended <- errors.Join(cmd.Wait(), log.Close()) }()
	return p, nil
}

// patience is long: a broker of Kafka takes its time on a busy machine.
const patience = time.Minute

func (p *process) stop() error {
	if err := p.cmd.Process.Signal(p.signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop %s: %w", p.name, err)
	}
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	select {
	case <-p.ended:
		return nil
	case <-timeout.C:
		return errors.Join(fmt.Errorf("%s did not stop within %s and was killed", p.name, patience), p.cmd.Process.Kill())
	}
}

// await asks again until the server answers, fails or takes too long.
func (p *process) await(ctx context.Context, ready func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		last := ready(ctx)
		if last == nil {
			return nil
		}
		select {
		case err := <-p.ended:
			p.ended <- err
			return fmt.Errorf("%s ended at once: %w", p.name, errors.Join(err, last))
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w", p.name, errors.Join(ctx.Err(), last))
		case <-again.C:
		}
	}
}

// freePort returns a port of the loopback address that nobody listens on.
func freePort(ctx context.Context) (string, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		return "", errors.Join(err, l.Close())
	}
	if _, err := strconv.Atoi(port); err != nil {
		return "", errors.Join(err, l.Close())
	}
	return port, l.Close()
}
