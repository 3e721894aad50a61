package sluice

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// Program is a program that runs beside the test.
type Program struct {
	T      *testing.T
	Cmd    *exec.Cmd
	Stdout bytes.Buffer
	Stderr Transcript
	Wait   func() error
}

// Start starts the program; whatever happens it does not outlive the test.
func Start(t *testing.T, env []string, args ...string) *Program {
	t.Helper()
	p := &Program{T: t, Cmd: exec.CommandContext(t.Context(), Binary, args...)}
	p.Stderr.more = make(chan struct{})
	p.Cmd.Env = append(Environment(), env...)
	p.Cmd.Stdout, p.Cmd.Stderr = &p.Stdout, &p.Stderr
	if err := p.Cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.Wait = sync.OnceValue(func() error {
		err := p.Cmd.Wait()
		p.Stderr.close()
		return err
	})
	go func() { _ = p.Wait() }()
	t.Cleanup(func() {
		_ = p.Cmd.Process.Kill()
		_ = p.Wait()
		// However it ended, what it said is read by somebody.
		CheckNoSecret(t, "stdout", p.Stdout.String())
		CheckNoSecret(t, "stderr", p.Stderr.Text())
	})
	return p
}

// Says blocks until the program has written a text to stderr, and returns
// everything up to there and the line's rest.
func (p *Program) Says(text string) string {
	p.T.Helper()
	said, ok := p.Stderr.Await(text)
	if !ok {
		p.T.Fatalf("sluice %v never said %q, but:\n%s", p.Cmd.Args[1:], text, said)
	}
	return said
}

// Signal sends a signal to the program.
func (p *Program) Signal(s os.Signal) {
	p.T.Helper()
	if err := p.Cmd.Process.Signal(s); err != nil {
		p.T.Fatal(err)
	}
}

// Ends waits for the program's end.
func (p *Program) Ends() Answer {
	p.T.Helper()
	late := time.AfterFunc(Patience, func() { _ = p.Cmd.Process.Kill() })
	err := p.Wait()
	if !late.Stop() {
		p.T.Fatalf("sluice %v did not end: %s", p.Cmd.Args[1:], p.Stderr.Text())
	}
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		p.T.Fatal(err)
	}
	a := Answer{p.Cmd.ProcessState.ExitCode(), p.Stdout.String(), p.Stderr.Text()}
	CheckNoSecret(p.T, "stdout", a.Out)
	CheckNoSecret(p.T, "stderr", a.Err)
	return a
}

// Ended tells whether a program has ended.
func (p *Program) Ended() bool {
	p.Stderr.mu.Lock()
	defer p.Stderr.mu.Unlock()
	return p.Stderr.ended
}

// Member is one process, which may be killed and started again.
type Member struct {
	Role  string
	Lives []*Program
}

// Now returns the present life of the process.
func (one *Member) Now() *Program { return one.Lives[len(one.Lives)-1] }

// Transcript is text that can be waited for while it is written.
type Transcript struct {
	mu    sync.Mutex
	all   []byte
	ended bool
	more  chan struct{}
}

// Write implements io.Writer.
func (s *Transcript) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, b...)
	close(s.more)
	s.more = make(chan struct{})
	return len(b), nil
}

func (s *Transcript) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	close(s.more)
	s.more = make(chan struct{})
}

// Text returns everything that was written.
func (s *Transcript) Text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.all)
}

// Await returns the text up to the end of the line that holds part.
func (s *Transcript) Await(part string) (string, bool) {
	late := time.After(Patience)
	for {
		s.mu.Lock()
		all, ended, more := string(s.all), s.ended, s.more
		s.mu.Unlock()
		if i := strings.Index(all, part); i >= 0 {
			if n := strings.IndexByte(all[i:], '\n'); n >= 0 {
				return all[:i+n], true
			}
		}
		if ended {
			return all, false
		}
		select {
		case <-more:
		case <-late:
			return all, false
		}
	}
}
