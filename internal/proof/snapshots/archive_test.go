package snapshots_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sluice/internal/backend/sqlite"
	"sluice/internal/refresh"
	"sluice/internal/testkit/fakebucket"
	"sluice/internal/testkit/sluice"
)

// oldValues puts values of the given ages in days into a data folder, as a
// service would have left them, and returns their days.
func oldValues(t *testing.T, dir string, ages ...int) (days []string) {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlite.Options{Dir: dir, Holder: "a test"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}()
	store, err := sqlite.NewSnapshots(db, refresh.TierOptions{})
	if err != nil {
		t.Fatal(err)
	}
	noon := time.Now().UTC().Truncate(24 * time.Hour).Add(12 * time.Hour)
	for i, age := range ages {
		body := fmt.Appendf(nil, `{"level":%d}`, i)
		at := noon.AddDate(0, 0, -age)
		days = append(days, at.Format(time.DateOnly))
		_, err := store.Save(t.Context(), []refresh.Refreshed{{
			Entity: refresh.Entity{Source: "maplestory", Key: "item-equipment:abc"}, Version: int64(i + 1), At: at, Body: body, Hash: sha256.Sum256(body),
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	return days
}

type archiveListJSON struct {
	Items []struct {
		Day, Source string
		Files, Rows int
		ColdFiles   int `json:"cold_files"`
	}
}

// TestArchiveCommands: from values that are old in the store to files, and back,
// in a folder and in a bucket.
func TestArchiveCommands(t *testing.T) {
	g := sluice.SimulateGame(t)
	s3 := fakebucket.StartS3(t)
	for name, place := range map[string]string{"folder": filepath.Join(t.TempDir(), "archive"), "s3": s3.Place("&prefix=sluice")} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			days := oldValues(t, dir, 200, 40, 1)
			s := g.Play(dir, "--archive", place)
			run := func(code int, args ...string) sluice.Answer {
				t.Helper()
				return sluice.Run(t, nil, append([]string{"archive", "--server", s.URL}, args...)...).Expect(t, code)
			}
			says := func(a sluice.Answer, texts ...string) {
				t.Helper()
				for _, text := range texts {
					if !strings.Contains(a.Out+a.Err, text) {
						t.Errorf("it does not say %q:\n%s%s", text, a.Out, a.Err)
					}
				}
			}
			if list := sluice.Decode[archiveListJSON](t, run(0, "list", "--output", "json").Out); len(list.Items) != 0 {
				t.Errorf("listed %+v before anything was archived", list)
			}
			says(run(0, "run"), "2 values archived in 2 new files", "1 file moved to cold storage")
			list := sluice.Decode[archiveListJSON](t, run(0, "list", "--output", "json").Out)
			if len(list.Items) != 2 || list.Items[0].Day != days[0] || list.Items[0].ColdFiles != 1 || list.Items[1].Day != days[1] || list.Items[1].ColdFiles != 0 {
				t.Errorf("listed %+v", list)
			}
			one := run(0, "list", "--from", days[1], "--to", days[2])
			says(one, "DAY", days[1])
			if strings.Contains(one.Out, days[0]) {
				t.Errorf("listed %s", one.Out)
			}
			says(run(0, "verify"), "read back: 2 files, 2 rows, ")
			says(run(0, "verify", days[0]), "read back: 1 file, 1 row, ")
			says(run(0, "export", "abc"), `"level":0`, `"level":1`, "\n")
			says(run(0, "restore", "abc", "--day", days[1]), "1 value put back")
			says(run(0, "run"), "1 value archived in 0 new files")
			run(2, "restore")
			run(2, "verify", "monday")
			run(2, "list", "--day", days[0], "--to", days[1])
			s.Signal(syscall.SIGTERM)
			ended := s.Ends().Expect(t, 0)
			if text := ended.Out + ended.Err; strings.Contains(text, fakebucket.Secret) || strings.Contains(text, fakebucket.KeyID) {
				t.Errorf("it shows the bucket's keys:\n%s", text)
			}
			// Without a service a command does its work itself.
			own := []string{"archive", "verify", "--data-dir", dir, "--archive", place}
			sluice.Run(t, []string{"SLUICE_MAPLESTORY_KEY=k", "SLUICE_MAPLESTORY_URL=" + g.URL}, own...).Expect(t, 0, "read back: 2 files, 2 rows, ")
		})
	}
}

// TestDamageIsFoundInTheArchive: by a command that fails and names the file.
func TestDamageIsFoundInTheArchive(t *testing.T) {
	g := sluice.SimulateGame(t)
	dir, place := t.TempDir(), t.TempDir()
	days := oldValues(t, dir, 41, 40)
	s := g.Play(dir, "--archive", place)
	sluice.Run(t, nil, "archive", "run", "--server", s.URL).Expect(t, 0)
	files, err := filepath.Glob(filepath.Join(place, "history", "*", "day="+days[1], "part-*.parquet"))
	if err != nil || len(files) != 1 {
		t.Fatalf("there are %v, %v", files, err)
	}
	if err := os.Truncate(files[0], 100); err != nil {
		t.Fatal(err)
	}
	sluice.Run(t, nil, "archive", "verify", days[0], "--server", s.URL).Expect(t, 0)
	a := sluice.Run(t, nil, "archive", "verify", "--server", s.URL).Expect(t, 1, "1 of 2 files damaged")
	if strings.TrimSpace(a.Out) != "history/source=maplestory/day="+days[1]+"/"+filepath.Base(files[0]) {
		t.Errorf("it names %s", a.Out)
	}
	sluice.Run(t, nil, "archive", "restore", "--day", days[1], "--server", s.URL).Expect(t, 1, "is damaged")
}

// TestArchiveIsOptional: without one, every command says how to have one; and a
// bucket that is named wrongly is refused at once.
func TestArchiveIsOptional(t *testing.T) {
	g := sluice.SimulateGame(t)
	s := g.Play(t.TempDir())
	for _, args := range [][]string{{"list"}, {"verify"}, {"run"}, {"restore", "abc"}, {"export", "abc"}} {
		sluice.Run(t, nil, append(append([]string{"archive"}, args...), "--server", s.URL)...).Expect(t, 1, "--archive")
	}
	up := []string{"up", "--addr", "127.0.0.1:0", "--data-dir", t.TempDir(), "--archive"}
	for place, says := range map[string]string{"s3://key:swordfish@bucket": "AWS_ACCESS_KEY_ID", "nosuch://bucket": "the archive's address"} {
		a := sluice.Run(t, []string{"SLUICE_MAPLESTORY_KEY=k"}, append(up, place)...).Expect(t, 2, says)
		if strings.Contains(a.Err, "swordfish") {
			t.Errorf("it shows a secret: %s", a.Err)
		}
	}
}

// TestAWrongBucketIsKnownAtOnce, not at the hour of the day when it is used.
func TestAWrongBucketIsKnownAtOnce(t *testing.T) {
	g := sluice.SimulateGame(t)
	s3 := fakebucket.StartS3(t)
	s := g.Play(t.TempDir(), "--archive", "s3://another?endpoint="+s3.URL)
	s.Says("bucket does not exist")
}
