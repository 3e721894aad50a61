package logs_test

import (
	"strings"
	"testing"

	"sluice/internal/logs"
)

func TestAccept(t *testing.T) {
	for _, sane := range []string{"a", "0f8fad5b-d9cb-469f-a165-70867728950e", "A.b_c:9", strings.Repeat("x", 64)} {
		if got := logs.AcceptCorrelation(sane); got != sane {
			t.Errorf("%q became %q", sane, got)
		}
	}
	seen := map[string]bool{}
	for _, odd := range []string{"", "a b", "a\nlevel=ERROR", "ü", `"`, strings.Repeat("x", 65), "a\x00"} {
		got := logs.AcceptCorrelation(odd)
		if got == odd || len(got) != 24 || seen[got] {
			t.Errorf("%q became %q", odd, got)
		}
		seen[got] = true
	}
}
