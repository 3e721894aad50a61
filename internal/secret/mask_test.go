package secret_test

import (
	"strings"
	"testing"

	"sluice/internal/secret"
)

func TestMaskedHidesWhatLooksLikeATokenAndNothingElse(t *testing.T) {
	long := strings.Repeat("a1", 33)
	for text, want := range map[string]string{
		"":                                "",
		"/api/v1/accounts/octocat":        "/api/v1/accounts/octocat",
		"/api/v1/tokens victim (admin)":   "/api/v1/tokens victim (admin)",
		"/api/v1/timers/2026-10-17T00:00": "/api/v1/timers/2026-10-17T00:00",
		"/api/v1/accounts/ghp_abcDEF123/schedule":     "/api/v1/accounts/********/schedule",
		"/api/v1/tokens/sluice_0a1b2c":                "/api/v1/tokens/********",
		"/x/SLUICE_0A1B":                              "/x/SLUICE_0A1B",
		"a github_pat_11AA_bb, and more":              "a ********, and more",
		"login=xghp_abc":                              "********",
		"/api/v1/" + long:                             "/api/v1/********",
		"/api/v1/" + long[:64]:                        "/api/v1/" + long[:64],
		"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc 서울": "******** 서울",
		"\xff ghp_a \xfe":                             "\xff ******** \xfe",
		"heyjude":                                     "heyjude",
	} {
		if got := secret.Masked(text); got != want {
			t.Errorf("Masked(%q) = %q, not %q", text, got, want)
		}
	}
}

func TestNameTellsNamesFromAnythingElse(t *testing.T) {
	for text, want := range map[string]bool{
		"octocat": true, "a-b_c.d": true, "42": true, "timer:1": true, "": false, "two words": false, "a\nb": false, "<b>": false,
		"ghp_abc": false, "sluice_abc": false, "' OR 1=1--": false, strings.Repeat("a", 64): true, strings.Repeat("a", 65): false,
	} {
		if got := secret.Name(text); got != want {
			t.Errorf("Name(%q) = %t", text, got)
		}
	}
}
