package declared

import (
	"strings"
	"testing"
)

func compiled(t testing.TB, text string) *expression {
	t.Helper()
	e, err := compile(text, names{"record": map[string]any{}, "config": fixedNames{"url": ""}, "target": ""})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestBounds: expressions end, make little, and reach nothing but what they are given.
func TestBounds(t *testing.T) {
	long := strings.Repeat("x", mostField)
	env := map[string]any{"record": map[string]any{"s": long, "list": []any{long, long}, "n": 7, "at": "2026-11-18T12:00:00Z"}, "target": "acme"}
	for text, want := range map[string]string{
		`target + "/" + string(record.n)`: "acme/7", `epoch(record.at)`: "1795003200", `day(record.at)`: "2026-11-18",
		`record.nothing ?? "none"`: "none", `replace(target, "a", "b")`: "bcme", `join(["a", record.n], "-")`: "a-7",
	} {
		if got, err := compiled(t, text).string(env); err != nil || got != want {
			t.Errorf("%s is %q, %v", text, got, err)
		}
	}
	for _, text := range []string{
		`record.s + record.s`, `replace(record.s, "x", record.s)`, `join(record.list, record.s)`, `record.a.b`, `record.nothing`, `record.list`, `iso("never")`,
	} {
		if got, err := compiled(t, text).string(env); err == nil || len(err.Error()) > 300 {
			t.Errorf("%s is %d characters, %v", text, len(got), err)
		}
	}
	for _, text := range []string{
		`now()`, `repeat("x", 1000000)`, `map(record.list, # + #)`, `reduce(record.list, #acc + #)`, `let x = 1; x`, `env("HOME")`, `file("/etc/passwd")`, `config.other`,
		strings.Repeat("target + ", 200) + "target",
	} {
		if _, err := compile(text, names{"record": map[string]any{}, "config": fixedNames{"url": ""}, "target": ""}); err == nil {
			t.Errorf("%s can be written", shorten(text, 40))
		}
	}
}

// BenchmarkExpression is what one costs.
func BenchmarkExpression(b *testing.B) {
	e := compiled(b, `target + "/" + string(record.n) + (record.open ? "/open" : "/closed")`)
	env := map[string]any{"record": map[string]any{"n": 7, "open": true}, "target": "acme"}
	for b.Loop() {
		if _, err := e.string(env); err != nil {
			b.Fatal(err)
		}
	}
}
