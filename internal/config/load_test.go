package config_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"sluice/internal/config"
	"sluice/internal/domain"
)

func flagSet() (*pflag.FlagSet, *int, *string) {
	f := pflag.NewFlagSet("test", pflag.ContinueOnError)
	return f, f.Int("workers", 16, ""), f.String("data-dir", "here", "")
}

func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sluice.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestPrecedence(t *testing.T) {
	known := []string{"workers", "data-dir", "addr"}
	env := map[string]string{}
	lookup := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	path := file(t, "workers: 3\ndata_dir: from-file\naddr: unused-here\n")

	f, workers, dir := flagSet()
	if err := config.Apply(f, path, lookup, known); err != nil {
		t.Fatal(err)
	}
	if *workers != 3 || *dir != "from-file" {
		t.Errorf("the file gave workers %d, data-dir %q", *workers, *dir)
	}

	env["SLUICE_WORKERS"] = "5"
	f, workers, _ = flagSet()
	if err := config.Apply(f, path, lookup, known); err != nil || *workers != 5 {
		t.Errorf("the environment gave %d (%v), want 5", *workers, err)
	}

	f, workers, _ = flagSet()
	if err := f.Parse([]string{"--workers", "7"}); err != nil {
		t.Fatal(err)
	}
	if err := config.Apply(f, path, lookup, known); err != nil || *workers != 7 {
		t.Errorf("the command line gave %d (%v), want 7", *workers, err)
	}
}

func TestBadInputNamesTheFix(t *testing.T) {
	none := func(string) (string, bool) { return "", false }
	bad := func(string) (string, bool) { return "many", true }
	for name, tc := range map[string]struct {
		text string
		env  func(string) (string, bool)
		want string
	}{
		"unknown key":  {"workes: 3", none, "did you mean workers?"},
		"bad value":    {"workers: lots", none, `"lots" is not valid for --workers`},
		"bad variable": {"", bad, "SLUICE_"},
		"no YAML":      {"workers: [", none, "sluice.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			f, _, _ := flagSet()
			err := config.Apply(f, file(t, tc.text), tc.env, []string{"workers", "data-dir"})
			if err == nil || !strings.Contains(err.Error(), tc.want) || domain.CodeOf(err) != domain.CodeInvalid {
				t.Errorf("got %v, want an error that says %q", err, tc.want)
			}
		})
	}
	f, _, _ := flagSet()
	if err := config.Apply(f, "/nowhere/sluice.yaml", none, nil); err == nil {
		t.Error("a missing file was accepted")
	}
}

// TestNearest: only what is near can have been meant.
func TestNearest(t *testing.T) {
	names := []string{"floor", "zone", "cron", "workers", "output", "parquet", "list", "at"}
	for typed, want := range map[string]string{
		"json": "", "wrokers": "workers", "parkett": "parquet", "lst": "list", "flor": "floor", "outptu": "output", "x": "", "": "", "seconds": "",
	} {
		if got := config.Nearest(typed, names); got != want {
			t.Errorf("%q: got %q, want %q", typed, got, want)
		}
	}
	if got := config.Suggest("wrokers", names); got != "; did you mean workers?" {
		t.Errorf("got %q", got)
	}
}

func TestUnknownVariables(t *testing.T) {
	got := config.UnknownVariables([]string{
		"PATH=/bin", "SLUICE_WROKERS=3", "SLUICE_WORKERS=3", "SLUICE_DATA_DIR=x", "SLUICE_GITHUB_TOKEN=secret", "SLUICE_TEST_SEED=1", "SLUICE_ABCDEFG=secret", "SLUICED=1", "SLUICE_",
	}, []string{"workers", "data-dir"})
	want := []string{"there is no setting SLUICE_", "there is no setting SLUICE_ABCDEFG", "there is no setting SLUICE_WROKERS; did you mean SLUICE_WORKERS?"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}
