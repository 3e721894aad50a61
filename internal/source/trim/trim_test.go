package trim

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"sluice/internal/testkit"
	"strings"
	"testing"
	"unicode/utf16"
)

// trimText trims a text by a root.
func trimText(text []byte, root *Fields) (string, bool) {
	out, ok := new(Trimmer).Trim(append(slices.Clone(text), make([]byte, Padding)...), root)
	return string(out), ok
}

// tree keeps fields; none keep all but the date.
func tree(t testing.TB, fields ...string) *Fields {
	t.Helper()
	if len(fields) == 0 {
		return Without("date")
	}
	root, err := Compile(fields...)
	if err != nil {
		t.Fatal(err)
	}
	return root
}

func TestTrimByExample(t *testing.T) {
	for _, c := range []struct{ fields, in, want string }{
		{"", `{"date":"2026-01-01","b":1,"a":2}`, `{"a":2,"b":1}`},
		{"", `{"x":{"date":"inner ones stay"}}`, `{"x":{"date":"inner ones stay"}}`},
		{"a", `{"b":1,"a":{"z":[3,2,1],"y":null}}`, `{"a":{"y":null,"z":[3,2,1]}}`},
		{"l.n", `{"l":[{"n":1,"m":2},{"m":3},{"n":"x"}]}`, `{"l":[{"n":1},{},{"n":"x"}]}`},
		{"l.n", `{"l":null}`, `{"l":null}`},
		{"l.n", `{"l":[[{"n":1,"k":1}],7]}`, `{"l":[[{"n":1}],7]}`},
		{"l l.n", `{"l":{"n":1,"m":2}}`, `{"l":{"m":2,"n":1}}`},
		{"a", ` { "a" : 1.50e+3 , "b" : -0 } `, `{"a":1.50e+3}`},
		{"a", `{"a":1,"a":2}`, `{"a":2}`},
		{"a b", `{"b":0,"a":1,"b":3,"a":2}`, `{"a":2,"b":3}`},
		{"a_b", `{"a\u005fb":"\u0041\/\ud83d\ude00\ud83d\n\u001f"}`, `{"a_b":"A/😀` + "\ufffd" + `\n\u001f"}`},
		{"a", "{\"a\":\"\xff\"}", `{"a":"` + "\ufffd" + `"}`},
		{"a", `{}`, `{}`},
	} {
		got, ok := trimText([]byte(c.in), tree(t, strings.Fields(c.fields)...))
		if !ok || got != c.want {
			t.Errorf("%s of %s: %q, %v; want %q", c.fields, c.in, got, ok, c.want)
		}
	}
}

func TestTrimRefusesWhatIsNoObject(t *testing.T) {
	deep := strings.Repeat(`{"b":`, maxDepth+1) + "1" + strings.Repeat("}", maxDepth+1)
	for _, in := range []string{
		"", " ", "null", "[]", `"x"`, "1", "{", `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1,}`, `{,}`, `{"a":01}`, `{"a":1.}`,
		`{"a":+1}`, `{"a":.5}`, `{"a":1e}`, `{"a":tru}`, `{"a":nul`, `{"a":[1,]}`, `{"a":[1 2]}`, `{"a":"\x"}`, `{"a":"\u12g4"}`,
		`{"a":"\u12`, `{"a":"\`, "{\"a\":\"\n\"}", "{\"a\":\"\x00\"}", `{"a":1}}`, `{"a":1}{}`, `{"a":1} x`, `{a:1}`, `{"a" 1}`,
		"<html></html>", "{\"a\":1}\x00", deep,
	} {
		// Whether the broken place is kept or skipped must not matter.
		for _, field := range []string{"a", "b", "z"} {
			if got, ok := trimText([]byte(in), tree(t, field)); ok {
				t.Errorf("%q was accepted as %q", in, got)
			}
		}
	}
}

func testSeed(t *testing.T) *rand.Rand {
	seed := testkit.Seed(t)
	return rand.New(rand.NewPCG(seed, seed))
}

// pair is a member of an object whose order is free.
type pair struct {
	name  string
	value any
}

var someNames = []string{"a", "b", "ab", "item_name", "date", "이름", "x\"y", "tab\there", "z", ""}

func randomValue(r *rand.Rand, depth int) any {
	switch n := r.IntN(8); {
	case n < 2 && depth > 0:
		return randomObject(r, depth)
	case n < 4 && depth > 0:
		list := make([]any, r.IntN(4))
		for i := range list {
			list[i] = randomValue(r, depth-1)
		}
		return list
	case n == 4:
		return json.Number([]string{"0", "-1", "1.50", "1e5", "12345678901234567890", "-0.0", "3E-2"}[r.IntN(7)])
	case n == 5:
		return []any{nil, true, false}[r.IntN(3)]
	}
	var text strings.Builder
	for range r.IntN(30) {
		text.WriteRune([]rune{'a', 'Z', '"', '\\', '/', '\n', '\x01', '가', '😀', '\u2028', ' ', '\x7f', 'é', '<'}[r.IntN(14)])
	}
	return text.String()
}

func randomObject(r *rand.Rand, depth int) []pair {
	var out []pair
	for _, at := range r.Perm(len(someNames))[:r.IntN(len(someNames))] {
		out = append(out, pair{someNames[at], randomValue(r, depth-1)})
	}
	return out
}

// write puts a value down in one of its many forms.
func write(r *rand.Rand, out *bytes.Buffer, value any) {
	space := func() { out.WriteString([]string{"", "", " ", "\n\t", "\r\n  "}[r.IntN(5)]) }
	space()
	switch v := value.(type) {
	case []pair:
		out.WriteByte('{')
		for i, at := range r.Perm(len(v)) {
			if i > 0 {
				out.WriteByte(',')
			}
			write(r, out, v[at].name)
			out.WriteByte(':')
			write(r, out, v[at].value)
		}
		space()
		out.WriteByte('}')
	case []any:
		out.WriteByte('[')
		for i := range v {
			if i > 0 {
				out.WriteByte(',')
			}
			write(r, out, v[i])
		}
		space()
		out.WriteByte(']')
	case string:
		writeText(r, out, v)
	case json.Number:
		out.WriteString(v.String())
	default:
		fmt.Fprint(out, map[any]string{nil: "null", true: "true", false: "false"}[v])
	}
	space()
}

func writeText(r *rand.Rand, out *bytes.Buffer, text string) {
	out.WriteByte('"')
	for _, c := range text {
		switch {
		case c == '/' && r.IntN(2) == 0:
			out.WriteString(`\/`)
		case c == '\n' && r.IntN(2) == 0:
			out.WriteString(`\n`)
		case c < ' ' || c == '"' || c == '\\' || r.IntN(5) == 0:
			for _, unit := range utf16.Encode([]rune{c}) {
				fmt.Fprintf(out, []string{`\u%04x`, `\u%04X`}[r.IntN(2)], unit)
			}
		default:
			out.WriteRune(c)
		}
	}
	out.WriteByte('"')
}

// reference is the plain way to the canonical form: read all, prune, sort.
func reference(out *bytes.Buffer, value any, n *Fields) {
	switch v := value.(type) {
	case map[string]any:
		type written struct{ name, text string }
		var members []written
		for name, inner := range v {
			if kept := n.find([]byte(name)); kept != nil {
				var text bytes.Buffer
				reference(&text, inner, kept)
				members = append(members, written{quoted(name), text.String()})
			}
		}
		slices.SortFunc(members, func(a, b written) int {
			return cmp.Compare(strings.Trim(a.name, `"`), strings.Trim(b.name, `"`))
		})
		out.WriteByte('{')
		for i, m := range members {
			if i > 0 {
				out.WriteByte(',')
			}
			out.WriteString(m.name + ":" + m.text)
		}
		out.WriteByte('}')
	case []any:
		out.WriteByte('[')
		for i := range v {
			if i > 0 {
				out.WriteByte(',')
			}
			reference(out, v[i], n)
		}
		out.WriteByte(']')
	case string:
		out.WriteString(quoted(v))
	case json.Number:
		out.WriteString(v.String())
	default:
		fmt.Fprint(out, map[any]string{nil: "null", true: "true", false: "false"}[v])
	}
}

// quoted writes a text as encoding/json does, but for what that escapes for the
// sake of browsers.
func quoted(text string) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(text)
	return strings.NewReplacer(`\\`, `\\`, `\u2028`, "\u2028", `\u2029`, "\u2029").Replace(strings.TrimSpace(out.String()))
}

func decode(t *testing.T, text []byte) any {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	return value
}

// Two writings of one value have one canonical form, and it is the one that the
// plain way leads to.
func TestCanonicalFormIsOfTheValueAlone(t *testing.T) {
	r := testSeed(t)
	roots := []*Fields{tree(t), tree(t, "a", "item_name", "b.a", "b.이름", "ab.a.b.z"), tree(t, "z.z")}
	for range 1_000 {
		value := randomObject(r, 5)
		var one, two bytes.Buffer
		write(r, &one, value)
		write(r, &two, value)
		for _, root := range roots {
			first, ok1 := trimText(one.Bytes(), root)
			second, ok2 := trimText(two.Bytes(), root)
			var want bytes.Buffer
			reference(&want, decode(t, one.Bytes()), root)
			if !ok1 || !ok2 || first != want.String() || sha256.Sum256([]byte(first)) != sha256.Sum256([]byte(second)) {
				t.Fatalf("%s\n%s\n%s\ntwo writings became (%v, %v), want the third:\n%s\n%s\n%s", one.Bytes(), two.Bytes(), "", ok1, ok2, first, second, want.Bytes())
			}
		}
	}
}

// FuzzTrim compares with encoding/json on whatever comes.
func FuzzTrim(f *testing.F) {
	for _, s := range []string{`{"a":1}`, `{"a":"\u00e9\ud800","b":[{"a":[]}]}`, `{"a":1,"a":{"a":2}}`, ` {"a" :-0.1e+5}`, `{"a":"x`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if strings.Count(string(text), "{")+strings.Count(string(text), "[") > maxDepth {
			// Nested too deeply, perhaps: the two may differ about that alone.
			return
		}
		isObject := json.Valid(text) && bytes.HasPrefix(bytes.TrimSpace(text), []byte("{"))
		for _, root := range []*Fields{tree(t), tree(t, "a.b", "b")} {
			got, ok := trimText(text, root)
			if ok != isObject {
				t.Fatalf("%q: accepted %v, encoding/json %v", text, ok, isObject)
			}
			if !ok {
				continue
			}
			var want bytes.Buffer
			reference(&want, decode(t, text), root)
			if got != want.String() {
				t.Fatalf("%q became %s, want %s", text, got, want.Bytes())
			}
			if again, _ := trimText([]byte(got), root); again != got {
				t.Fatalf("%s trimmed again became %s", got, again)
			}
		}
	})
}
