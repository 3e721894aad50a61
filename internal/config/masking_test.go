package config

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestNoSettingShowsAPasswordInAURL: whichever setting somebody writes a URL into.
func TestNoSettingShowsAPasswordInAURL(t *testing.T) {
	c, from, typed := place{T: t}.load()
	for _, s := range Settings() {
		if field, text := s.field(c).(*string); text && s.Name != "config" {
			*field = "https://key:swordfish@host/path?token=swordfish"
		}
	}
	if err := c.Notify.Set("[{name: a, type: webhook, url: 'https://key:swordfish@host/x?token=swordfish'}, {name: b, type: slack, url: 'https://host/swordfish'}]"); err != nil {
		t.Fatal(err)
	}
	for _, e := range c.Explain(from, typed) {
		if strings.Contains(e.Value, "swordfish") {
			t.Errorf("%s shows %s", e.Name, e.Value)
		}
	}
}

// TestWhatAServiceWouldRefuseIsFound: settings that are good as they stand and
// cannot be used.
func TestWhatAServiceWouldRefuseIsFound(t *testing.T) {
	empty := write(t, filepath.Join(t.TempDir(), "empty"), "")
	hook := func(url, secret string) string {
		return "notify:\n  - {name: ops, type: webhook, url: '" + url + "', secret: '" + secret + "'}\n"
	}
	for text, says := range map[string]string{
		hook("https://example.com", "$NOSUCH_VARIABLE"):                "NOSUCH_VARIABLE is not set",
		hook("https://example.com", "@/nonexistent"):                   "/nonexistent",
		hook("https://example.com", "@"+empty):                         "is empty",
		hook("$NOSUCH_VARIABLE", "@"+empty):                            "url of target ops",
		hook("https://me:swordfish@example.com", "@"+empty):            "password in its url",
		"github-url: https://api.github.com?token=swordfish\n":         "--github-url",
		"github-url: https://me:swordfish@api.github.com\n":            "--github-url",
		"maplestory-url: https://open.api.nexon.com?token=swordfish\n": "--maplestory-url",
		"archive: s3://KEY:swordfish@bucket\n":                         "--archive",
	} {
		file := write(t, filepath.Join(t.TempDir(), "sluice.yaml"), text)
		err := place{T: t, args: []string{"--config", file}}.check()
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "swordfish") {
			t.Errorf("%s is told as %v", text, err)
		}
	}
}
