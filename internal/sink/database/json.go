package database

import (
	"bytes"
	"strconv"
	"unicode/utf16"
)

// storableJSON is valid JSON without what databases refuse in it: the escape of NUL,
// and halves of surrogate pairs. U+FFFD stands for these.
func storableJSON(raw []byte) []byte {
	if !bytes.Contains(raw, []byte(`\u`)) {
		return raw
	}
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); {
		if raw[i] != '\\' {
			out = append(out, raw[i])
			i++
			continue
		}
		if raw[i+1] != 'u' {
			out = append(out, raw[i], raw[i+1])
			i += 2
			continue
		}
		first := escape(raw[i:])
		switch {
		case utf16.IsSurrogate(first) && utf16.DecodeRune(first, escape(raw[i+6:])) != '\uFFFD':
			out = append(out, raw[i:i+12]...)
			i += 12
		case utf16.IsSurrogate(first) || first == 0:
			out = append(out, `\ufffd`...)
			i += 6
		default:
			out = append(out, raw[i:i+6]...)
			i += 6
		}
	}
	return out
}

// escape is the character that a \uXXXX at the beginning is, -1 if there is none.
func escape(raw []byte) rune {
	if len(raw) < 6 || raw[0] != '\\' || raw[1] != 'u' {
		return -1
	}
	n, err := strconv.ParseUint(string(raw[2:6]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(n)
}
