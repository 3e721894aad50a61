package github

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

var scanSeeds = []string{
	`{}`, `[]`, ` [1, -2.5e+3,true,false,null] `, `{"a":{"b":[{"c":"d"}]},"e":"f"}`, `"\u00e9\n\\\"\/"`, `0`, `-0`, `1E5`,
	``, ` `, `{`, `[1,]`, `{"a"}`, `{"a":1,}`, `01`, `-`, `1.`, `1e`, `"`, `"\x"`, `"\u12g4"`, "\"a\nb\"", `nul`, `truee`, `[] []`, `{"a":1 "b":2}`, `[1 2]`, `{1:2}`,
	`"aaaaaaaaaaaaaaaaaaaaaaaa\"bbbbbbbbbbbbbbbbbb"`, "\"aaaaaaaaaaaaaaaa\x01aaaaaaaaaa\"", `"ééééééééééééééééééé"`, "\"\xff\xfe\"",
}

// FuzzScan holds the scanner against encoding/json.
func FuzzScan(f *testing.F) {
	for _, seed := range scanSeeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		want := json.Valid(body) && nesting(body) <= maxDepth
		if got := wellFormed(body); got != want {
			t.Fatalf("well formed: %t, want %t: %q", got, want, body)
		}
	})
}

// nesting is how deeply valid JSON is nested.
func nesting(body []byte) int {
	depth, deepest := 0, 0
	for i := 0; i < len(body); i++ {
		switch body[i] {
		case '"':
			i = stringEnd(body, i+1) - 1
		case '{', '[':
			depth++
			deepest = max(deepest, depth)
		case '}', ']':
			depth--
		}
		if i < 0 {
			return deepest
		}
	}
	return deepest
}

func TestDeepNestingIsRefused(t *testing.T) {
	for depth, want := range map[int]bool{maxDepth: true, maxDepth + 2: false, 1 << 20: false} {
		body := []byte(strings.Repeat("[", depth) + strings.Repeat("]", depth))
		if got := wellFormed(body); got != want {
			t.Errorf("depth %d: well formed %t, want %t", depth, got, want)
		}
	}
}

func TestNumbers(t *testing.T) {
	body := []byte(`{"a":0,"b":42,"c":-7,"d":1.5e3,"e":123456789012345,"f":9007199254740993,"g":1e999}`)
	got := map[string]int64{}
	members(body, 0, func(name string, v gjson.Result) { got[name] = v.Int() })
	for name, want := range map[string]int64{"a": 0, "b": 42, "c": -7, "d": 1500, "e": 123456789012345, "f": 9007199254740993} {
		if got[name] != want {
			t.Errorf("%s: %d, want %d", name, got[name], want)
		}
	}
}

func TestTextUndoesEscapes(t *testing.T) {
	body := []byte(`{"plain":"abc","escaped":"a\"b\u00e9","number":12,"none":null}`)
	got := map[string]string{}
	members(body, 0, func(name string, v gjson.Result) { got[name] = text(v) })
	for name, want := range map[string]string{"plain": "abc", "escaped": `a"bé`, "number": "12", "none": ""} {
		if got[name] != want {
			t.Errorf("%s: %q, want %q", name, got[name], want)
		}
	}
}
