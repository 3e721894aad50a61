package github

import (
	"encoding/binary"
	"math/bits"
	"strconv"
	"strings"
	"unsafe"

	"github.com/tidwall/gjson"
)

// Pages are most of what a collection reads, and most of a page are long
// strings that nobody looks at. What follows checks and walks JSON eight bytes
// at a time; gjson decodes the few values that matter.

// maxDepth is how deeply an answer may be nested. GitHub's stay below twenty.
const maxDepth = 100

// wellFormed reports whether body is exactly one JSON value.
func wellFormed(body []byte) bool {
	i := checkValue(body, skipSpace(body, 0), 0)
	return i >= 0 && skipSpace(body, i) == len(body)
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\r' || b[i] == '\t') {
		i++
	}
	return i
}

// checkValue returns where the value at i ends, or -1.
func checkValue(b []byte, i, depth int) int {
	if i >= len(b) || depth > maxDepth {
		return -1
	}
	switch b[i] {
	case '{':
		return checkMembers(b, i+1, depth, '}')
	case '[':
		return checkMembers(b, i+1, depth, ']')
	case '"':
		return stringEnd(b, i+1)
	case 't':
		return checkWord(b, i, "true")
	case 'f':
		return checkWord(b, i, "false")
	case 'n':
		return checkWord(b, i, "null")
	}
	return checkNumber(b, i)
}

// checkMembers checks what stands between brackets; only between braces do
// members have names.
func checkMembers(b []byte, i, depth int, closing byte) int {
	i = skipSpace(b, i)
	if i < len(b) && b[i] == closing {
		return i + 1
	}
	for {
		if closing == '}' {
			if i >= len(b) || b[i] != '"' {
				return -1
			}
			if i = stringEnd(b, i+1); i < 0 {
				return -1
			}
			if i = skipSpace(b, i); i >= len(b) || b[i] != ':' {
				return -1
			}
			i = skipSpace(b, i+1)
		}
		if i = checkValue(b, i, depth+1); i < 0 {
			return -1
		}
		i = skipSpace(b, i)
		switch {
		case i >= len(b):
			return -1
		case b[i] == closing:
			return i + 1
		case b[i] != ',':
			return -1
		}
		i = skipSpace(b, i+1)
	}
}

func checkWord(b []byte, i int, word string) int {
	if len(b)-i < len(word) || string(b[i:i+len(word)]) != word {
		return -1
	}
	return i + len(word)
}

func checkNumber(b []byte, i int) int {
	if i < len(b) && b[i] == '-' {
		i++
	}
	start := i
	i = skipDigits(b, i)
	if i == start || (b[start] == '0' && i > start+1) {
		return -1
	}
	if i < len(b) && b[i] == '.' {
		start = i + 1
		if i = skipDigits(b, start); i == start {
			return -1
		}
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		start = i
		if i = skipDigits(b, i); i == start {
			return -1
		}
	}
	return i
}

func skipDigits(b []byte, i int) int {
	for i < len(b) && b[i] >= '0' && b[i] <= '9' {
		i++
	}
	return i
}

// stringEnd returns where the string ends whose text begins at i, behind its
// closing quote; -1 if it does not end or holds what no string may.
func stringEnd(b []byte, i int) int {
	for {
		for i+8 <= len(b) {
			m := special(binary.LittleEndian.Uint64(b[i:]))
			if m != 0 {
				i += bits.TrailingZeros64(m) >> 3
				break
			}
			i += 8
		}
		for i < len(b) && b[i] != '"' && b[i] != '\\' && b[i] >= ' ' {
			i++
		}
		if i >= len(b) || b[i] < ' ' {
			return -1
		}
		if b[i] == '"' {
			return i + 1
		}
		if i = escapeEnd(b, i+1); i < 0 {
			return -1
		}
	}
}

// special marks, in the top bit of their byte, quotes, backslashes and control
// characters. Marks above the lowest may be false.
func special(w uint64) uint64 {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	quote := w ^ ones*'"'
	slash := w ^ ones*'\\'
	return ((quote-ones)&^quote | (slash-ones)&^slash | (w-ones*' ')&^w) & tops
}

func escapeEnd(b []byte, i int) int {
	if i >= len(b) {
		return -1
	}
	switch b[i] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 1
	case 'u':
		if len(b)-i < 5 {
			return -1
		}
		for _, c := range b[i+1 : i+5] {
			if (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'f') {
				return -1
			}
		}
		return i + 5
	}
	return -1
}

// share gives bytes the form of a string without copying them. Bodies are never
// written to once they are read, which is what makes this sound.
func share(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// view is the whole of a body that was found well formed.
func view(body []byte) gjson.Result { return valueOf(body, 0, len(body)) }

// valueOf makes the value at [i, end) of a body, which its Index refers to. A
// string stays as it is written; see text.
func valueOf(body []byte, i, end int) gjson.Result {
	raw := share(body[i:end])
	v := gjson.Result{Raw: raw, Index: i}
	switch raw[0] {
	case '{', '[':
		v.Type = gjson.JSON
	case '"':
		v.Type, v.Str = gjson.String, raw[1:len(raw)-1]
	case 't':
		v.Type = gjson.True
	case 'f':
		v.Type = gjson.False
	case 'n':
		v.Type = gjson.Null
	default:
		v.Type, v.Num = gjson.Number, numberOf(raw)
	}
	return v
}

func numberOf(raw string) float64 {
	const exact = 15 // digits that a float64 holds for certain
	n := 0
	for i := range len(raw) {
		if raw[i] < '0' || raw[i] > '9' || i == exact {
			// It is a number, so at worst it is out of range.
			f, _ := strconv.ParseFloat(raw, 64)
			return f
		}
		n = 10*n + int(raw[i]-'0')
	}
	return float64(n)
}

// text copies a string out of its body, and undoes its escapes, except that NUL is
// replaced: not every database has texts that hold it.
func text(v gjson.Result) string {
	if v.Type != gjson.String {
		return v.String()
	}
	if strings.IndexByte(v.Raw, '\\') >= 0 {
		return strings.ReplaceAll(gjson.Parse(v.Raw).Str, "\x00", "\uFFFD")
	}
	return strings.Clone(v.Str)
}

// members walks the object at i, checking it, and calls fn for each member. It
// returns where the object ends, -1 if it is not well formed. Any other value
// has no members.
func members(body []byte, i int, fn func(name string, v gjson.Result)) int {
	if i >= len(body) || body[i] != '{' {
		return checkValue(body, i, 0)
	}
	i = skipSpace(body, i+1)
	if i < len(body) && body[i] == '}' {
		return i + 1
	}
	for {
		if i >= len(body) || body[i] != '"' {
			return -1
		}
		end := stringEnd(body, i+1)
		if end < 0 {
			return -1
		}
		name := share(body[i+1 : end-1])
		if i = skipSpace(body, end); i >= len(body) || body[i] != ':' {
			return -1
		}
		i = skipSpace(body, i+1)
		if end = checkValue(body, i, 1); end < 0 {
			return -1
		}
		fn(name, valueOf(body, i, end))
		if i = skipSpace(body, end); i >= len(body) || (body[i] != ',' && body[i] != '}') {
			return -1
		}
		if body[i] == '}' {
			return i + 1
		}
		i = skipSpace(body, i+1)
	}
}

// elements walks the list at i and lets fn walk each element: fn is given where
// the element begins and returns where it ends, -1 to stop. elements returns
// where the list ends, -1 if it is not well formed or was stopped.
func elements(body []byte, i int, fn func(i int) (end int)) int {
	if i >= len(body) || body[i] != '[' {
		return -1
	}
	i = skipSpace(body, i+1)
	if i < len(body) && body[i] == ']' {
		return i + 1
	}
	for {
		end := fn(i)
		if end < 0 {
			return -1
		}
		if i = skipSpace(body, end); i >= len(body) || (body[i] != ',' && body[i] != ']') {
			return -1
		}
		if body[i] == ']' {
			return i + 1
		}
		i = skipSpace(body, i+1)
	}
}
