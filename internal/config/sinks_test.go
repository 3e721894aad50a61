package config_test

import (
	"slices"
	"strings"
	"testing"

	"sluice/internal/config"
)

// TestSinks: several sinks stand in one setting, also such as have commas in their
// URLs, and are shown without their passwords.
func TestSinks(t *testing.T) {
	var s config.Sinks
	if err := s.Set("warehouse=postgres://sluice:hidden@db/warehouse?raw=false,topics=kafka://a:1,b:2/prefix,file=sqlite:c.db,other=@/etc/other"); err != nil {
		t.Fatal(err)
	}
	want := config.Sinks{
		{Name: "warehouse", URL: "postgres://sluice:hidden@db/warehouse?raw=false"}, {Name: "topics", URL: "kafka://a:1,b:2/prefix"},
		{Name: "file", URL: "sqlite:c.db"}, {Name: "other", URL: "@/etc/other"},
	}
	if !slices.Equal(s, want) {
		t.Errorf("got %v; want %v", s, want)
	}
	if shown := s.String(); strings.Contains(shown, "hidden") || !strings.Contains(shown, "warehouse=postgres://sluice") {
		t.Errorf("it is shown as %s", shown)
	}
	for _, wrong := range []string{"postgres://db/x", "a b=sqlite:x", "name=nothing"} {
		if err := s.Set(wrong); err == nil {
			t.Errorf("%q is taken", wrong)
		}
	}
}

// TestReadURL: a password on the command line is refused, and not repeated.
func TestReadURL(t *testing.T) {
	if _, err := config.ReadURL("postgres://u:hidden@db/x"); err == nil || strings.Contains(err.Error(), "hidden") {
		t.Errorf("a password is typed: %v", err)
	}
	if got, err := config.ReadURL("postgres://u@db/x"); err != nil || got != "postgres://u@db/x" {
		t.Errorf("got %q, %v", got, err)
	}
}
