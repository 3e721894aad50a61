package domain_test

import (
	"testing"

	"sluice/internal/domain"
)

func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"octocat":                  "octocat",
		`C:\new`:                   `C:\new`,
		"한국어 ☃ 👩\u200d💻":           "한국어 ☃ 👩\u200d💻",
		"a\nb\r\tc":                `a\nb\r\tc`,
		"\x1b[2J\x7f\x00":          `\x1b[2J\x7f\x00`,
		"\u009b2J \u0085":          `\u009b2J \u0085`,
		"abc\u202edef\u2066\u200f": `abc\u202edef\u2066\u200f`,
		"line\u2028end\ufeff":      `line\u2028end\ufeff`,
		"\xff\xc3(":                `\xff\xc3(`,
		"\uFFFD stays":             "\uFFFD stays",
	} {
		if got := domain.Printable(text); got != want {
			t.Errorf("Printable(%q) is %q, want %q", text, got, want)
		}
		if again := domain.Printable(want); again != want {
			t.Errorf("Printable(%q) is %q: what is printable changes", want, again)
		}
	}
	if got, want := domain.PrintableLines("two\nlines\x1b"), "two\nlines\\x1b"; got != want {
		t.Errorf("PrintableLines is %q, want %q", got, want)
	}
}
