package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sluice/internal/backend/sqlite"
	"sluice/internal/config"
	"sluice/internal/document"
	"sluice/internal/httpapi"
	"sluice/internal/httpapi/apitest"
	"sluice/internal/source"
	"sluice/internal/source/github"
	"sluice/internal/state"
	"sluice/internal/wiring"
)

// program is the command line in a test.
type program struct {
	*testing.T
	app      *App
	out, err bytes.Buffer
	dir      string
}

// newProgram makes one whose data folder has an account and so many commits.
func newProgram(t *testing.T, commits int) *program {
	t.Helper()
	p := &program{T: t, dir: filepath.Join(t.TempDir(), "data")}
	env := func(string) (string, bool) { return "", false }
	p.app = &App{Out: &p.out, Err: &p.err, Env: env, Now: time.Now, Open: openLocal, Holder: sqlite.Holder}
	svc, err := wiring.Open(t.Context(), storeOptions(p.dir, "a test"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := svc.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	account, err := svc.State.PutAccount(t.Context(), state.AccountSpec{Source: "github", Login: "ann", Name: "o"})
	if err != nil {
		t.Fatal(err)
	}
	docs := make([]document.Document, commits)
	for i := range docs {
		docs[i] = document.Document{
			Key:     document.Key{Account: account.ID, Kind: github.KindCommit, Name: fmt.Sprintf("7:%016x", uint64(i)*0x9E3779B97F4A7C15)},
			Version: time.Unix(1, 0), Fields: document.Fields{Repository: 7, CreatedAt: time.Unix(int64(i), 0)},
		}
	}
	store, err := sqlite.NewDocuments(t.Context(), svc.DB, github.Kinds())
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Upsert(t.Context(), docs); err != nil {
		t.Fatal(err)
	}
	return p
}

// storeOptions describe a service that collects nothing.
func storeOptions(dir, holder string) wiring.Options {
	return wiring.Options{Config: config.Embedded(dir), Holder: holder, Quota: wiring.NoQuota(), Sources: []source.Source{new(github.Source)}}
}

// openLocal assembles a service as the program's main does.
func openLocal(ctx context.Context, o ServiceOptions) (*Service, error) {
	svc, err := wiring.Open(ctx, storeOptions(o.Service.DataDir, o.Holder))
	if err != nil {
		return nil, err
	}
	api := httpapi.New(httpapi.Deps{
		Orchestrator: svc.Engine, Observer: svc.Engine, Reader: svc.State, Quota: svc.Quota,
		Statistics: svc.Statistics, Documents: svc.Documents, Sources: []source.Description{github.Describe()},
	}, httpapi.Options{})
	return &Service{API: api, Documents: svc.Documents, Close: svc.Close}, nil
}

// run executes a command line on the data folder and demands an exit code.
func (p *program) run(code int, args ...string) string {
	p.Helper()
	p.out.Reset()
	p.err.Reset()
	if got := p.app.Run(p.Context(), append(args, "--data-dir", p.dir)); got != code {
		p.Fatalf("%v: exit code %d, want %d; it says\n%s%s", args, got, code, p.out.String(), p.err.String())
	}
	return p.out.String()
}

// says demands a text among the messages.
func (p *program) says(text string) {
	p.Helper()
	if !strings.Contains(p.err.String(), text) {
		p.Errorf("%q does not say %q", p.err.String(), text)
	}
}

func TestExportOfTheDataFolder(t *testing.T) {
	p := newProgram(t, 1000)
	lines := p.run(exitOK, "export", "--kind", "commits")
	if strings.Count(lines, "\n") != 1000 || !strings.HasPrefix(lines, `{"id":"7:0000000000000000","account":"ann"`) || p.err.Len() != 0 {
		t.Errorf("got %.200s and %s", lines, p.err.String())
	}
	if some := p.run(exitOK, "export", "--kind", "commits", "--since", "1970-01-01T00:00:10Z", "--until", "1970-01-01T00:00:15Z", "--account", "ann"); strings.Count(some, "\n") != 5 {
		t.Errorf("got %s", some)
	}
	if none := p.run(exitOK, "export", "--kind", "issues", "--format", "csv"); !strings.HasPrefix(none, "id,account,") || strings.Count(none, "\n") != 1 {
		t.Errorf("got %q", none)
	}
}

func TestExportToAFile(t *testing.T) {
	p := newProgram(t, 3)
	file := filepath.Join(t.TempDir(), "x.csv")
	if out := p.run(exitOK, "export", "--kind", "commits", "--out", file); out != "" {
		t.Errorf("got %q", out)
	}
	p.says("3 rows of commits are in " + file)
	text, err := os.ReadFile(file)
	if err != nil || !strings.HasPrefix(string(text), "id,account,") || strings.Count(string(text), "\r\n") != 4 {
		t.Errorf("got %q, %v", text, err)
	}
	if out := p.run(exitOK, "export", "--kind", "commits", "--out", file, "--format", "parquet", "--output", "json"); !strings.Contains(out, `"rows": 3`) {
		t.Errorf("got %s", out)
	}
	if text, err = os.ReadFile(file); err != nil || !bytes.HasPrefix(text, []byte("PAR1")) || !bytes.HasSuffix(text, []byte("PAR1")) {
		t.Errorf("got %q, %v", text, err)
	}
	onlyFile(t, file)
	p.run(exitOK, "export", "--kind", "commits", "--out", os.DevNull)
	if info, err := os.Stat(os.DevNull); err != nil || info.Mode().IsRegular() {
		t.Errorf("%s became %v, %v", os.DevNull, info.Mode(), err)
	}
}

// onlyFile demands that nothing lies beside a file.
func onlyFile(t *testing.T, file string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(file))
	if err != nil || len(entries) != 1 || entries[0].Name() != filepath.Base(file) {
		t.Errorf("beside %s: %v, %v", file, entries, err)
	}
}

func TestRefusedExports(t *testing.T) {
	p := newProgram(t, 0)
	for says, args := range map[string][]string{
		"did you mean commits?": {"--kind", "commit"},
		"did you mean parquet?": {"--kind", "commits", "--format", "parkett"},
		"export needs --kind":   {},
		"--since":               {"--kind", "commits", "--since", "today"},
		"--until":               {"--kind", "commits", "--until", "today"},
		"cover all time":        {"--kind", "statistics", "--until", "2026-01-01"},
		"takes no arguments":    {"commits"},
		"no such file":          {"--kind", "commits", "--out", filepath.Join(p.dir, "no", "file")},
	} {
		if out := p.run(exitUsage, append([]string{"export"}, args...)...); out != "" {
			t.Errorf("%v: got %q", args, out)
		}
		p.says(says)
	}
	p.run(exitFailed, "export", "--kind", "commits", "--account", "nobody")
	p.says("nobody")
	p.dir = filepath.Join(t.TempDir(), "mistyped")
	p.run(exitFailed, "export", "--kind", "commits")
	p.says("there is no data folder")
	if _, err := os.Stat(p.dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder was made: %v", err)
	}
}

// breaking serves an export that ends in the middle, after more than is held
// back before it begins.
var breaking = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
	_, err := io.WriteString(w, strings.Repeat(`{"id":1}`+"\n", 20_000))
	if err == nil {
		panic(http.ErrAbortHandler)
	}
})

// TestShortExportIsNoFile breaks off exports of a service elsewhere and of one
// inside the process.
func TestShortExportIsNoFile(t *testing.T) {
	p := newProgram(t, 0)
	server := httptest.NewServer(breaking)
	defer server.Close()
	file := filepath.Join(t.TempDir(), "x.jsonl")
	if err := os.WriteFile(file, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.app.Open = func(context.Context, ServiceOptions) (*Service, error) {
		return &Service{API: breaking, Close: func(context.Context) error { return nil }}, nil
	}
	for _, args := range [][]string{{"--server", server.URL}, nil} {
		p.run(exitFailed, append([]string{"export", "--kind", "commits", "--out", file}, args...)...)
		p.says("broke off")
		if text, err := os.ReadFile(file); err != nil || string(text) != "old" {
			t.Errorf("the file has %.100q, %v", text, err)
		}
		onlyFile(t, file)
		p.run(exitFailed, append([]string{"export", "--kind", "commits"}, args...)...)
		p.says("broke off")
	}
}

func TestExportOfAService(t *testing.T) {
	p := newProgram(t, 0)
	s := apitest.Start(t, apitest.Options{})
	_, run, err := s.Engine.Signup(t.Context(), s.Signup(0))
	if err != nil {
		t.Fatal(err)
	}
	s.Wait(t, run.ID)
	login := s.Signup(0).Login
	if lines := p.run(exitOK, "export", "--kind", "commits", "--server", s.URL); strings.Count(lines, "\n") != 6 {
		t.Errorf("got %s", lines)
	}
	if text := p.run(exitOK, "stats", login, "--server", s.URL); !strings.Contains(text, login+" on github") || !strings.Contains(text, "less ") || strings.Contains(text, "\x1b") {
		t.Errorf("got %s", text)
	}
	if text := p.run(exitOK, "stats", login, "--server", s.URL, "--output", "json"); !strings.Contains(text, `"standings"`) || !strings.Contains(text, `"by_day"`) {
		t.Errorf("got %s", text)
	}
	board := p.run(exitOK, "stats", "--leaderboard", "--by", "commits", "--server", s.URL)
	if !strings.Contains(board, "COMMITS") || !strings.Contains(board, "1     "+login) {
		t.Errorf("got %s", board)
	}
	if text := p.run(exitOK, "stats", "--global", "--server", s.URL); !strings.Contains(text, "accounts                      1\n") || !strings.Contains(text, "LANGUAGE") {
		t.Errorf("got %s", text)
	}
}

func TestRefusedStats(t *testing.T) {
	p := newProgram(t, 0)
	for says, args := range map[string][]string{
		"takes one login":      {},
		"or --global":          {"ann", "--global"},
		"did you mean impact?": {"--leaderboard", "--by", "impakt"},
		"for --leaderboard":    {"ann", "--by", "stars"},
	} {
		p.run(exitUsage, append([]string{"stats"}, args...)...)
		p.says(says)
	}
	p.run(exitFailed, "stats", "ann")
	p.says("no statistics of ann yet")
	if text := p.run(exitOK, "stats", "--leaderboard"); strings.Count(text, "\n") != 1 {
		t.Errorf("got %q", text)
	}
	p.run(exitUsage, "stats", "--leaderboard", "--limit", "5000")
}
