package main_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// patience is how long a test waits for something that must happen.
const patience = 30 * time.Second

// apiSecret is the token of the API in these tests.
const apiSecret = "api-secret-f3b1c2"

// checkNoSecret fails the test if a text shows a credential: tokens of the
// simulated GitHub, and those that tests make up, start as real ones do.
func checkNoSecret(t *testing.T, where, text string) {
	t.Helper()
	for _, secret := range []string{"ghp_", apiSecret} {
		if i := strings.Index(text, secret); i >= 0 {
			t.Errorf("%s shows a secret: …%s…", where, text[max(0, i-60):min(len(text), i+20)])
		}
	}
}

// program is a program that runs beside the test.
type program struct {
	t    *testing.T
	cmd  *exec.Cmd
	out  bytes.Buffer
	err  transcript
	wait func() error
}

// start starts the program; whatever happens it does not outlive the test.
func start(t *testing.T, env []string, args ...string) *program {
	t.Helper()
	p := &program{t: t, cmd: exec.CommandContext(t.Context(), binary, args...)}
	p.err.more = make(chan struct{})
	p.cmd.Env = append(cleanEnv(), env...)
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.err
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.wait = sync.OnceValue(func() error {
		err := p.cmd.Wait()
		p.err.close()
		return err
	})
	go func() { _ = p.wait() }()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		_ = p.wait()
	})
	return p
}

// says blocks until the program has written a text to stderr, and returns
// everything up to there and the line's rest.
func (p *program) says(text string) string {
	p.t.Helper()
	said, ok := p.err.await(text)
	if !ok {
		p.t.Fatalf("sluice %v never said %q, but:\n%s", p.cmd.Args[1:], text, said)
	}
	return said
}

func (p *program) signal(s os.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// ends waits for the program's end.
func (p *program) ends() answer {
	p.t.Helper()
	late := time.AfterFunc(patience, func() { _ = p.cmd.Process.Kill() })
	err := p.wait()
	if !late.Stop() {
		p.t.Fatalf("sluice %v did not end: %s", p.cmd.Args[1:], p.err.text())
	}
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		p.t.Fatal(err)
	}
	a := answer{p.cmd.ProcessState.ExitCode(), p.out.String(), p.err.text()}
	checkNoSecret(p.t, "stdout", a.out)
	checkNoSecret(p.t, "stderr", a.errOut)
	return a
}

// transcript is text that can be waited for while it is written.
type transcript struct {
	mu    sync.Mutex
	all   []byte
	ended bool
	more  chan struct{}
}

func (s *transcript) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, b...)
	close(s.more)
	s.more = make(chan struct{})
	return len(b), nil
}

func (s *transcript) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	close(s.more)
	s.more = make(chan struct{})
}

func (s *transcript) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.all)
}

// await returns the text up to the end of the line that holds part.
func (s *transcript) await(part string) (string, bool) {
	late := time.After(patience)
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

// expect checks how a program ended and that it said something on stderr.
func (a answer) expect(t *testing.T, code int, says ...string) answer {
	t.Helper()
	if a.code != code {
		t.Errorf("exit code %d, want %d\nstdout: %s\nstderr: %s", a.code, code, a.out, a.errOut)
	}
	for _, text := range says {
		if !strings.Contains(a.errOut, text) {
			t.Errorf("stderr does not say %q:\n%s", text, a.errOut)
		}
	}
	return a
}

// decode reads JSON that must be one value and nothing else.
func decode[T any](t *testing.T, text string) T {
	t.Helper()
	var v T
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	return v
}

// summaryJSON is what collect and demo print.
type summaryJSON struct {
	Accounts  int            `json:"accounts"`
	Runs      map[string]int `json:"runs"`
	Calls     int            `json:"calls"`
	Documents int            `json:"documents"`
	Results   []struct {
		Login, Status, Reason string
		Run, Calls            int
		Paused                bool
		Statistics            map[string]any
	} `json:"results"`
	TruthMatch *bool `json:"truth_match"`
	Violations *int  `json:"violations"`
}
