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

func TestUnseen(t *testing.T) {
	for text, want := range map[string]bool{
		"": true, "\u200b": true, "\u00a0\u2003": true, "\u202e\u2066": true, "\ufeff": true, "\u3164": true, "\u2800": true, "\u200d\ufe0f": true, "\u00ad": true,
		"a": false, "a\u200b": false, "한글": false, "👩\u200d👩": false, "-": false,
	} {
		if got := domain.Unseen(text); got != want {
			t.Errorf("%+q: %v", text, got)
		}
	}
}
