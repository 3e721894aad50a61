package trim

import (
	"unicode/utf16"
	"unicode/utf8"
)

// appendText writes a string in its canonical form, quotes included. in is what
// stands between its quotes and is known to be well-formed JSON.
func appendText(out, in []byte, escaped, foreign bool) []byte {
	out = append(out, '"')
	if escaped || foreign && !utf8.Valid(in) {
		out = appendCanonical(out, decodeText(nil, in))
	} else {
		out = append(out, in...)
	}
	return append(out, '"')
}

// decodeText resolves escapes. What is no valid text becomes U+FFFD: stores
// accept nothing else.
func decodeText(out, in []byte) []byte {
	for i := 0; i < len(in); {
		switch c := in[i]; {
		case c == '\\' && in[i+1] == 'u':
			r := decodeUnit(in[i+2:])
			i += 6
			if utf16.IsSurrogate(r) {
				pair := rune(utf8.RuneError)
				if i+6 <= len(in) && in[i] == '\\' && in[i+1] == 'u' {
					pair = utf16.DecodeRune(r, decodeUnit(in[i+2:]))
				}
				if pair != utf8.RuneError {
					i += 6
				}
				r = pair
			}
			out = utf8.AppendRune(out, r)
		case c == '\\':
			out = append(out, decodeEscape(in[i+1]))
			i += 2
		default:
			r, size := utf8.DecodeRune(in[i:])
			out = utf8.AppendRune(out, r)
			i += size
		}
	}
	return out
}

func decodeUnit(in []byte) rune {
	return unhex(in[0])<<12 | unhex(in[1])<<8 | unhex(in[2])<<4 | unhex(in[3])
}

func decodeEscape(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return c
}

// appendCanonical escapes what must be escaped, and nothing else, so that there
// is one way only to write a text.
func appendCanonical(out, text []byte) []byte {
	const hexDigits = "0123456789abcdef"
	for _, c := range text {
		switch {
		case c == '"' || c == '\\':
			out = append(out, '\\', c)
		case c >= ' ':
			out = append(out, c)
		case c == '\b':
			out = append(out, '\\', 'b')
		case c == '\f':
			out = append(out, '\\', 'f')
		case c == '\n':
			out = append(out, '\\', 'n')
		case c == '\r':
			out = append(out, '\\', 'r')
		case c == '\t':
			out = append(out, '\\', 't')
		default:
			out = append(out, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return out
}
