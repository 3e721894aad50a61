//go:build keep

package versions_test

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/internal/testkit/sluice"
)

// Answers of the API.
type (
	runAnswer struct {
		ID     int
		Status string
	}
	// Earlier versions had a name of its own for each list.
	runsAnswer    struct{ Items, Runs []runAnswer }
	lettersAnswer struct{ Items, Letters []struct{ Source string } }
)

// TestKeep makes what testdata keeps, by an earlier version of the program:
// scripts/keep-data says which.
func TestKeep(t *testing.T) {
	program, folder := os.Getenv("SLUICE_TEST_KEEP_PROGRAM"), os.Getenv("SLUICE_TEST_KEEP_FOLDER")
	if program == "" || folder == "" {
		t.Fatal("SLUICE_TEST_KEEP_PROGRAM and SLUICE_TEST_KEEP_FOLDER are not set: see scripts/keep-data")
	}
	wanted := strings.Fields(os.Getenv("SLUICE_TEST_KEEP_KINDS"))
	for _, k := range kinds {
		if name, _, _ := strings.Cut(k.name, "."); slices.Contains(wanted, name) {
			t.Run(name, func(t *testing.T) { keep(t, k, program, folder) })
		}
	}
}

// keep lets a program work and kills it in the middle.
func keep(t *testing.T, k kind, program, folder string) {
	u, g := upstream(t, 6, time.Minute), sluice.SimulateGame(t)
	present := sluice.Binary
	sluice.Binary = program
	defer func() { sluice.Binary = present }()
	p := newPlace(t, k, t.TempDir())
	s := p.up(u, g, "--maplestory-per-second", "2")
	setTimers(s)
	var c content
	c.takeSnapshots(s, g)
	c.collect(s, u)
	c.askForMore(s, g, k)
	if err := s.Cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = s.Wait()
	file := filepath.Join(folder, k.name)
	if k.shared {
		dump(t, file, p.sql.URL())
	} else {
		pack(t, file, p.dir)
	}
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(contentFile(file), append(text, '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Logf("kept %+v", c)
}

func setTimers(s *sluice.Service) {
	s.T.Helper()
	soon := time.Now().Add(2 * time.Minute)
	set(s, timerFired, time.Now(), "")
	set(s, timerSoon, soon, "")
	set(s, timerHooked, soon, "http://127.0.0.1:9/hook")
	set(s, timerLater, farFuture, "")
	set(s, timerCanceled, soon, "")
	if status, text := s.Call(http.MethodDelete, "/api/v1/timers/"+timerCanceled, ""); status != http.StatusOK {
		s.T.Fatalf("cancel a timer: %d %s", status, text)
	}
	await(s, "/api/v1/timers/"+timerFired, func(a timerAnswer) bool { return a.Status == "COMPLETED" })
}

// takeSnapshots refreshes some characters, and one that does not exist.
func (c *content) takeSnapshots(s *sluice.Service, g *sluice.Game) {
	s.T.Helper()
	c.Snapshots = g.Ocids()[:3]
	for _, ocid := range c.Snapshots {
		await(s, "/api/v1/snapshots/maplestory/"+ocid, func(a snapshotAnswer) bool { return a.Freshness == "FRESH" })
	}
	c.Letter = "nobody"
	s.Get("/api/v1/snapshots/maplestory/" + c.Letter)
	await(s, "/api/v1/dlq", func(a lettersAnswer) bool { return len(a.Letters)+len(a.Items) == 1 })
}

// collect collects the accounts as far as their calls allow, and begins with
// the last.
func (c *content) collect(s *sluice.Service, u *sluice.Upstream) {
	s.T.Helper()
	logins := u.Logins()
	last := logins[len(logins)-1]
	for _, login := range logins[:len(logins)-1] {
		s.Signup(login, u.Token(login))
	}
	for calls := -1; calls != u.Audit().Calls; <-time.After(3 * time.Second) {
		calls = u.Audit().Calls
	}
	before := u.Audit().Calls
	s.Signup(last, u.Token(last))
	for u.Audit().Calls < before+3 {
		<-time.After(time.Millisecond)
	}
	runs := sluice.Decode[runsAnswer](s.T, s.Get("/api/v1/runs"))
	for _, run := range append(runs.Runs, runs.Items...) {
		if run.Status == "COMPLETED" {
			c.Completed = append(c.Completed, run.ID)
		} else {
			c.Unfinished = append(c.Unfinished, run.ID)
		}
	}
	if len(c.Completed) == 0 || len(c.Unfinished) < 2 {
		s.T.Fatalf("the accounts' calls are too few or too many: %+v", c)
	}
}

// askForMore asks for refreshes that cannot be made any more.
func (c *content) askForMore(s *sluice.Service, g *sluice.Game, k kind) {
	s.T.Helper()
	more := g.Ocids()[10:20]
	body, err := json.Marshal(map[string]any{"source": "maplestory", "keys": more, "priority": "LOW"})
	if err != nil {
		s.T.Fatal(err)
	}
	if status, text := s.Call(http.MethodPost, "/api/v1/refresh", string(body)); status != http.StatusAccepted {
		s.T.Fatalf("refresh: %d %s", status, text)
	}
	if !k.shared {
		c.Waiting = more
	}
}

// pack keeps the files of a data folder.
func pack(t *testing.T, file, dir string) {
	t.Helper()
	save(t, file, func(w io.Writer) error {
		archive := tar.NewWriter(w)
		return errors.Join(archive.AddFS(os.DirFS(dir)), archive.Close())
	})
}

// dump keeps a database as statements. The programs that do it come with the
// servers.
func dump(t *testing.T, file, url string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "pg_dump", "--inserts", "--no-owner", "--no-privileges", "--dbname", url)
	if address, ok := strings.CutPrefix(url, "mysql://root@"); ok {
		host, name, _ := strings.Cut(address, "/")
		host, port, _ := strings.Cut(host, ":")
		command = exec.CommandContext(t.Context(), "mariadb-dump", "--no-defaults", "--user=root", "--host="+host, "--port="+port, "--hex-blob", "--skip-dump-date", name)
	}
	var complaints strings.Builder
	command.Stderr = &complaints
	text, err := command.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, complaints.String())
	}
	save(t, file, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// save writes a compressed file.
func save(t *testing.T, file string, write func(io.Writer) error) {
	t.Helper()
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewWriterLevel(f, gzip.BestCompression)
	if err == nil {
		err = errors.Join(write(z), z.Close())
	}
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

// set sets a timer.
func set(s *sluice.Service, id string, at time.Time, webhook string) {
	s.T.Helper()
	spec := map[string]any{"id": id, "at": at, "payload": map[string]string{"of": id}}
	if webhook != "" {
		spec["webhook"] = webhook
	}
	body, err := json.Marshal(spec)
	if err != nil {
		s.T.Fatal(err)
	}
	if status, text := s.Call(http.MethodPost, "/api/v1/timers", string(body)); status != http.StatusCreated {
		s.T.Fatalf("set the timer %s: %d %s", id, status, text)
	}
}

// await asks until an answer is as it must become. Earlier versions of the program
// have no streams of events to wait for.
func await[T any](s *sluice.Service, path string, good func(T) bool) T {
	s.T.Helper()
	for deadline := time.Now().Add(sluice.Patience); ; {
		v := sluice.Decode[T](s.T, s.Get(path))
		if good(v) {
			return v
		}
		if time.Now().After(deadline) {
			s.T.Fatalf("GET %s still answers %+v\n%s", path, v, s.Stderr.Text())
		}
		<-time.After(50 * time.Millisecond)
	}
}
