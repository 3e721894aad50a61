// Package documents_test types what the documents tell people to type: every
// block of README and docs that is marked sh (each line), or console (the lines
// behind a prompt), from top to bottom of each document, in a copy of the
// repository where nothing was built yet. Other blocks are pictures and forms.
package documents_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	sim "sluice/internal/simulator/github"
	maplesim "sluice/internal/simulator/maplestory"
	"sluice/internal/testkit"
	"sluice/internal/testkit/sluice"
)

func TestMain(m *testing.M) { os.Exit(sluice.Main(m)) }

// patience is for a document as a whole, on a busy machine.
const patience = 10 * time.Minute

// TestDocuments: one command that fails, or that is not there, fails it.
func TestDocuments(t *testing.T) {
	root, err := testkit.Repository()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	typed, built := 0, t.TempDir()
	for _, file := range append([]string{filepath.Join(root, "README.md")}, files...) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		blocks := blocksOf(string(text))
		if len(blocks) == 0 {
			continue
		}
		typed++
		name, err := filepath.Rel(root, file)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			newReader(t, root).types(name, blocks, built)
		})
	}
	if typed < 2 {
		t.Errorf("only %d documents have something to type", typed)
	}
}

// block is what is typed, and the line that it begins in.
type block struct {
	line int
	text string
}

var (
	fence  = regexp.MustCompile("^```(\\w*)$")
	prompt = regexp.MustCompile(`^\$ (.*)$`)
)

func blocksOf(text string) (blocks []block) {
	kind, inside := "", false
	for i, line := range strings.Split(text, "\n") {
		switch match := fence.FindStringSubmatch(line); {
		case match != nil && !inside:
			if kind, inside = match[1], true; kind == "sh" || kind == "console" {
				blocks = append(blocks, block{line: i + 2})
			}
		case match != nil:
			inside = false
		case inside && kind == "sh":
			blocks[len(blocks)-1].text += line + "\n"
		case inside && kind == "console":
			if typed := prompt.FindStringSubmatch(line); typed != nil {
				blocks[len(blocks)-1].text += typed[1] + "\n"
			}
		}
	}
	return blocks
}

// reader is somebody who follows a document, word for word.
type reader struct {
	*testing.T
	folder       string
	env          []string
	replacements *strings.Replacer
}

// newReader has a copy of the repository, upstreams that are simulated, and
// servers of its own where the document names some.
func newReader(t *testing.T, root string) *reader {
	t.Helper()
	r := &reader{T: t, folder: t.TempDir()}
	if err := os.CopyFS(r.folder, tracked{root}); err != nil {
		t.Fatal(err)
	}
	github := sluice.NewUpstream(t, sim.Options{Accounts: 2, Shape: &sim.Shape{
		Repos: sim.Exactly(3), Commits: sim.Between(3, 9), Issues: sim.Between(1, 4), Pulls: sim.Between(1, 3)}})
	game := sluice.SimulateGame(t)
	login, ocid := github.Logins()[0], game.Ocids()[0]
	own := testkit.FreeAddress(t)
	state, redis := testkit.MariaDB(t), testkit.Redis(t)
	if err := os.WriteFile(filepath.Join(r.folder, "state.url"), []byte(state+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.replacements = strings.NewReplacer(
		"octocat", login,
		"SLUICE_GITHUB_TOKEN=…", "SLUICE_GITHUB_TOKEN="+github.Token(login),
		`"token":"…"`, `"token":"`+github.Token(login)+`"`,
		"SLUICE_MAPLESTORY_KEY=…", "SLUICE_MAPLESTORY_KEY="+maplesim.DefaultKey,
		"OCID", ocid,
		"localhost:8090", own, "127.0.0.1:8090", own,
		"redis://127.0.0.1:6379", redis,
	)
	home := t.TempDir()
	r.env = append(sluice.Environment(),
		"HOME="+home, "XDG_CONFIG_HOME="+home, "SLUICE_ADDR="+own, "SLUICE_REDIS_PREFIX="+filepath.Base(home),
		"SLUICE_GITHUB_URL="+github.URL, "SLUICE_MAPLESTORY_URL="+game.URL,
		// The demo would wait for Ctrl-C.
		"SLUICE_EXIT_WHEN_DONE=true",
		// The detector of the tests needs cgo; whoever types has set nothing.
		"CGO_ENABLED=0",
	)
	r.env = append(r.env, cachesOfGo(t)...)
	return r
}

// types gives all that is to be typed to one shell, as a reader would. What one
// builds is in built for others.
func (r *reader) types(name string, blocks []block, built string) {
	r.Helper()
	var script strings.Builder
	script.WriteString("set -euo pipefail\nbuilt=" + built + "\n" + shims)
	for _, b := range blocks {
		fmt.Fprintf(&script, "echo '== %s:%d'\n%s", name, b.line, r.replacements.Replace(b.text))
	}
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	shell := exec.CommandContext(ctx, "bash", "-c", script.String())
	shell.Dir, shell.Env = r.folder, r.env
	// What was started in the background ends with the reader.
	shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	shell.Cancel = func() error { return syscall.Kill(-shell.Process.Pid, syscall.SIGKILL) }
	var out bytes.Buffer
	shell.Stdout, shell.Stderr = &out, &out
	shell.WaitDelay = time.Second
	err := shell.Run()
	_ = syscall.Kill(-shell.Process.Pid, syscall.SIGKILL)
	// Services that were left in the background hold the output open.
	if err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		r.Fatalf("%s: %v\n%s", name, err, out.String())
	}
	sluice.CheckNoSecret(r.T, name, out.String())
	r.Log(out.String())
}

// shims: the tests cannot be among what they type. The first reader builds where
// nothing was built yet; others find there what that one has built, and Go says whether
// it is what they would build: to link it anew for each takes longer than all that they
// type. Everything else is real.
const shims = `
make() {
	case "${1:-}" in
	test | lint | bench | chaos | load) grep -q "^$1:" Makefile && echo "make $1: there is such a target" ;;
	build)
		(
			flock 9
			if [ ! -e bin/sluice ] && [ -e "$built/sluice" ]; then mkdir -p bin && cp -p "$built/sluice" bin/; fi
			command make "$@"
			cp -p bin/sluice "$built/"
		) 9>"$built/lock"
		;;
	*) command make "$@" ;;
	esac
}
`

// tracked is the repository without what was built or fetched in it.
type tracked struct{ root string }

var untracked = []string{".git", ".tools", ".testdata", "bin", "build", "dist", "sluice-data"}

func (f tracked) Open(name string) (fs.File, error) { return os.Open(filepath.Join(f.root, name)) }

func (f tracked) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := os.ReadDir(filepath.Join(f.root, name))
	return slices.DeleteFunc(entries, func(e fs.DirEntry) bool {
		return name == "." && slices.Contains(untracked, e.Name()) || !e.Type().IsRegular() && !e.IsDir()
	}), err
}

// cachesOfGo: building needs no network where everything was fetched before.
func cachesOfGo(t *testing.T) (env []string) {
	t.Helper()
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPROXY", "GOFLAGS", "GOSUMDB"} {
		out, err := exec.CommandContext(t.Context(), "go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		env = append(env, name+"="+strings.TrimSpace(string(out)))
	}
	return env
}
