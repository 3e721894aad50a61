package trim

import (
	"encoding/binary"
	"math/bits"
)

// The scanner reads JSON from a buffer that ends with Padding zero bytes: a zero
// is no part of any token, so it stops every loop, and eight bytes can be read
// at once from any position. Every function returns the position after what it
// read, or -1 if that is no JSON.

const (
	// Padding is how many zero bytes follow what is read.
	Padding = 8
	// maxDepth is far beyond what any answer has, and bounds the stack.
	maxDepth = 64

	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

func skipSpace(in []byte, i int) int {
	for in[i] == ' ' || in[i] == '\n' || in[i] == '\r' || in[i] == '\t' {
		i++
	}
	return i
}

// stops marks, with the high bit of each, the bytes of a word at which a string
// must be looked at: quotes, backslashes and control characters. The lowest mark
// is right; those above it may be carry.
func stops(w uint64) uint64 {
	quote, slash := w^ones*'"', w^ones*'\\'
	return ((quote-ones)&^quote | (slash-ones)&^slash | (w-ones*' ')&^w) & highs
}

// skipString reads a string from after its first quote. It tells whether there
// are escapes in it, and whether there is something beyond ASCII.
func skipString(in []byte, i int) (end int, escaped, foreign bool) {
	var seen uint64
	for {
		w := binary.LittleEndian.Uint64(in[i : i+8])
		found := stops(w)
		if found == 0 {
			seen |= w
			i += 8
			continue
		}
		at := bits.TrailingZeros64(found)
		seen |= w & (1<<at - 1)
		i += at >> 3
		switch in[i] {
		case '"':
			return i + 1, escaped, seen&highs != 0
		case '\\':
			escaped = true
			if i = skipEscape(in, i+1); i < 0 {
				return -1, false, false
			}
		default:
			return -1, false, false
		}
	}
}

// skipText is skipString for those who want to know nothing of it.
func skipText(in []byte, i int) int {
	for {
		found := stops(binary.LittleEndian.Uint64(in[i : i+8]))
		if found == 0 {
			i += 8
			continue
		}
		i += bits.TrailingZeros64(found) >> 3
		if in[i] == '"' {
			return i + 1
		}
		if in[i] != '\\' {
			return -1
		}
		if i = skipEscape(in, i+1); i < 0 {
			return -1
		}
	}
}

func skipEscape(in []byte, i int) int {
	switch in[i] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 1
	case 'u':
		for k := 1; k <= 4; k++ {
			if unhex(in[i+k]) < 0 {
				return -1
			}
		}
		return i + 5
	}
	return -1
}

func unhex(c byte) rune {
	switch {
	case c >= '0' && c <= '9':
		return rune(c - '0')
	case c >= 'a' && c <= 'f':
		return rune(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return rune(c-'A') + 10
	}
	return -1
}

func skipValue(in []byte, i, depth int) int {
	switch in[i] {
	case '"':
		return skipText(in, i+1)
	case '{':
		return skipObject(in, i+1, depth+1)
	case '[':
		return skipArray(in, i+1, depth+1)
	case 't':
		return skipWord(in, i, "true")
	case 'f':
		return skipWord(in, i, "false")
	case 'n':
		return skipWord(in, i, "null")
	}
	return skipNumber(in, i)
}

func skipWord(in []byte, i int, word string) int {
	// No word is longer than the padding.
	if string(in[i:i+len(word)]) != word {
		return -1
	}
	return i + len(word)
}

func skipNumber(in []byte, i int) int {
	if in[i] == '-' {
		i++
	}
	if in[i] == '0' {
		i++
	} else if i = skipDigits(in, i); i < 0 {
		return -1
	}
	if in[i] == '.' {
		if i = skipDigits(in, i+1); i < 0 {
			return -1
		}
	}
	if in[i] == 'e' || in[i] == 'E' {
		i++
		if in[i] == '+' || in[i] == '-' {
			i++
		}
		return skipDigits(in, i)
	}
	return i
}

func skipDigits(in []byte, i int) int {
	from := i
	for in[i] >= '0' && in[i] <= '9' {
		i++
	}
	if i == from {
		return -1
	}
	return i
}

func skipObject(in []byte, i, depth int) int {
	if i = skipSpace(in, i); in[i] == '}' {
		return i + 1
	}
	for more := true; more; {
		if in[i] != '"' || depth > maxDepth {
			return -1
		}
		if i = skipText(in, i+1); i < 0 {
			return -1
		}
		if i = skipColon(in, i); i < 0 {
			return -1
		}
		// Most values are texts: they are worth a shorter way.
		if in[i] == '"' {
			i = skipText(in, i+1)
		} else {
			i = skipValue(in, i, depth)
		}
		if i < 0 {
			return -1
		}
		i, more = skipComma(in, i, '}')
	}
	return i
}

func skipArray(in []byte, i, depth int) int {
	if i = skipSpace(in, i); in[i] == ']' {
		return i + 1
	}
	for more := true; more; {
		if depth > maxDepth {
			return -1
		}
		if i = skipValue(in, i, depth); i < 0 {
			return -1
		}
		i, more = skipComma(in, i, ']')
	}
	return i
}

// skipColon reads from after a member's name to its value. A single colon and no
// space is by far the most frequent.
func skipColon(in []byte, i int) int {
	if in[i] == ':' && in[i+1] > ' ' {
		return i + 1
	}
	return skipSpacedColon(in, i)
}

func skipSpacedColon(in []byte, i int) int {
	if i = skipSpace(in, i); in[i] != ':' {
		return -1
	}
	return skipSpace(in, i+1)
}

// skipComma reads from after an element to the next one, or past the bracket
// that ends them all; more tells which.
func skipComma(in []byte, i int, bracket byte) (next int, more bool) {
	if in[i] == ',' && in[i+1] > ' ' {
		return i + 1, true
	}
	return skipSpacedComma(in, i, bracket)
}

func skipSpacedComma(in []byte, i int, bracket byte) (next int, more bool) {
	i = skipSpace(in, i)
	switch in[i] {
	case ',':
		return skipSpace(in, i+1), true
	case bracket:
		return i + 1, false
	}
	return -1, false
}
