package sources_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sluice/internal/source"
	"sluice/internal/sources"
)

// mayName are the files and folders that may name a source, and why. All others
// go by what sources declare.
var mayName = map[string]string{
	"internal/source/github":           "the room of the source",
	"internal/source/maplestory":       "the room of the source",
	"internal/sources/sources.go":      "where sources are registered, a line each",
	"internal/simulator":               "the simulated upstreams, which know nothing of the collector",
	"internal/verify":                  "compares a collection with the truth of the simulated GitHub",
	"internal/load/world.go":           "load tests have the simulated MapleStory as their upstream",
	"internal/cli/demo.go":             "the demonstration starts the simulated GitHub and collects from it",
	"internal/cli/demorefresh.go":      "the demonstration starts the simulated MapleStory and reads from it",
	"internal/cli/simulate.go":         "the command that serves the simulated GitHub",
	"internal/cli/simmaplestory.go":    "the command that serves the simulated MapleStory",
	"internal/cli/examples.go":         "examples that people type",
	"internal/cli/app.go":              "names the files of the room, which are called after simulated upstreams",
	"internal/cli/load.go":             "points load tests at the simulated MapleStory",
	"internal/testkit":                 "test kit: simulated upstreams and programs that collect from them",
	"internal/httpapi/apitest":         "test kit: an API over the simulated GitHub",
	"internal/state/statetest":         "test kit: any name of a source would do",
	"internal/quota/rate/ratetest":     "test kit: limits as MapleStory has them",
	"internal/refresh/refreshtest":     "test kit: any name of a source would do",
	"internal/proof/api":               "a generated client that collects from the simulated GitHub",
	"internal/notify/notifytest":       "test kit: any name of a source would do",
	"internal/cli/rootpage.go":         "shows how a first collection is typed",
	"internal/httpapi/abouts.go":       "describes operations that are called after sources",
	"internal/httpapi/examples.go":     "shows requests and answers as they are",
	"internal/httpapi/snapshots.go":    "shows a request as it is",
	"internal/httpapi/unconfigured.go": "says which setting is missing",
	"internal/secret/mask.go":          "knows how tokens begin that people have at hand, whatever is collected",
	"bench":                            "measures the program against the simulated upstreams",
}

var (
	named = regexp.MustCompile(`(?i)github|maple_?story`)
	// modules are import paths of other people's packages.
	modules = regexp.MustCompile(`github\.com/`)
)

// TestNobodyElseNamesASource reads every product file of the repository.
func TestNobodyElseNamesASource(t *testing.T) {
	root := filepath.Join("..", "..")
	used := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		if entry.IsDir() && name != "." && strings.HasPrefix(entry.Name(), ".") {
			return fs.SkipDir
		}
		if entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for number, line := range strings.Split(string(text), "\n") {
			if !named.MatchString(modules.ReplaceAllString(line, "")) {
				continue
			}
			if by := allowedBy(name); by != "" {
				used[by] = true
				continue
			}
			t.Errorf("%s:%d names a source: let the source declare what is needed (internal/source/describe.go)\n\t%s", name, number+1, strings.TrimSpace(line))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for place := range mayName {
		if !used[place] {
			t.Errorf("%s names no source any more: take it off the list", place)
		}
	}
}

// allowedBy is the entry of mayName that a file is in; "" if it is in none.
func allowedBy(name string) string {
	for place := range mayName {
		if name == place || strings.HasPrefix(name, place+"/") {
			return place
		}
	}
	return ""
}

// TestRegistrationsAreWhole checks what every source must declare, and that no two
// declare the same.
func TestRegistrationsAreWhole(t *testing.T) {
	var names, settings []string
	for _, r := range sources.All() {
		if r.Name == "" || r.Title == "" || (r.Walks == nil) == (r.Records == nil) {
			t.Errorf("%+v: a source has a name, a title, and either walks or records", r.Description)
		}
		names = append(names, r.Name)
		for _, s := range r.Settings {
			if s.Name == "" || s.Help == "" || s.Use == 0 {
				t.Errorf("%s: the setting %+v is not whole", r.Name, s)
			}
			settings = append(settings, s.Name)
		}
		if r.Needs != "" && !slices.Contains(settings, r.Needs) {
			t.Errorf("%s needs %s, which is not a setting of it", r.Name, r.Needs)
		}
		if r.Hook != nil && !slices.Contains(settings, r.Hook.Setting) {
			t.Errorf("the webhooks of %s are signed by %s, which is not a setting of it", r.Name, r.Hook.Setting)
		}
		for _, k := range r.Kinds {
			if k.Source != r.Name {
				t.Errorf("%s declares the kind %s of %s", r.Name, k.Kind, k.Source)
			}
			for _, c := range k.Columns {
				if c.Doc == "" {
					t.Errorf("nobody says what the column %s of %s is", c.Name, k.Plural)
				}
			}
		}
	}
	for what, list := range map[string][]string{"source": names, "setting": settings} {
		slices.Sort(list)
		if once := slices.Compact(slices.Clone(list)); len(once) != len(list) {
			t.Errorf("a %s is declared twice: %v", what, list)
		}
	}
	if err := sources.Kinds().Check(); err != nil {
		t.Error(err)
	}
	if _, err := source.Quota(sources.Collected(), 0); err != nil {
		t.Error(err)
	}
}

// TestOpenByWhatWasSet: with nothing set everything is opened that needs nothing.
func TestOpenByWhatWasSet(t *testing.T) {
	collected, err := sources.OpenCollected(nil)
	if err != nil || len(collected) != len(sources.Collected()) {
		t.Errorf("opened %d sources: %v", len(collected), err)
	}
	for i, s := range collected {
		if d := s.Describe(); d.Name != s.Name() || d.Name != sources.Collected()[i].Name {
			t.Errorf("%s describes itself as %s", s.Name(), d.Name)
		}
	}
	if keyed, err := sources.OpenKeyed(nil); err != nil || len(keyed) != 0 {
		t.Errorf("opened %d sources without what they need: %v", len(keyed), err)
	}
	set := source.Settings{}
	for _, r := range sources.All() {
		for _, s := range r.Settings {
			set.Field(s)
		}
		if r.Needs != "" {
			set = set.With(r.Needs, "live_0123456789")
		}
	}
	keyed, err := sources.OpenKeyed(set)
	if err != nil || len(keyed) != len(sources.Keyed()) {
		t.Fatalf("opened %d sources: %v", len(keyed), err)
	}
	for _, s := range keyed {
		if err := s.Limits().Check(); err != nil {
			t.Errorf("%s: %v", s.Name(), err)
		}
	}
}

func TestLoginsAreChecked(t *testing.T) {
	if err := sources.CheckLogin("octocat"); err != nil {
		t.Error(err)
	}
	if err := sources.CheckLogin("-"); err == nil {
		t.Error("an impossible login was let through")
	}
}
