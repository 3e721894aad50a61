package github

import (
	"strconv"
	"sync"
	"time"
	"unicode/utf8"
)

// buffer builds JSON by appending. It puts the commas where they belong, so
// callers only name keys and values.
type buffer struct{ b []byte }

// keepBuffer bounds what returns to the pool, so that one huge page does not
// stay in memory for ever.
const keepBuffer = 4 << 20

func newBufferPool() *sync.Pool {
	return &sync.Pool{New: func() any { return &buffer{b: make([]byte, 0, 16<<10)} }}
}

// comma separates from the previous element, if there is one.
func (w *buffer) comma() {
	if n := len(w.b); n > 0 {
		switch w.b[n-1] {
		case '{', '[', ':', ',':
		default:
			w.b = append(w.b, ',')
		}
	}
}

// key begins a member of an object; name needs no escaping.
func (w *buffer) key(name string) *buffer {
	w.comma()
	w.b = append(w.b, '"')
	w.b = append(w.b, name...)
	w.b = append(w.b, '"', ':')
	return w
}

func (w *buffer) raw(s string) { w.b = append(w.b, s...) }

func (w *buffer) open(bracket byte) {
	w.comma()
	w.b = append(w.b, bracket)
}

func (w *buffer) close(bracket byte) { w.b = append(w.b, bracket) }

func (w *buffer) int(n int64)      { w.b = strconv.AppendInt(w.b, n, 10) }
func (w *buffer) bool(value bool)  { w.b = strconv.AppendBool(w.b, value) }
func (w *buffer) null()            { w.raw("null") }
func (w *buffer) time(unix int64)  { w.b = appendTime(append(w.b, '"'), unix); w.close('"') }
func (w *buffer) str(value string) { w.b = appendQuoted(w.b, value) }

// timeOrNull writes null for the zero instant.
func (w *buffer) timeOrNull(unix int64) {
	if unix == 0 {
		w.null()
		return
	}
	w.time(unix)
}

// strOrNull writes null for the empty string.
func (w *buffer) strOrNull(value string) {
	if value == "" {
		w.null()
		return
	}
	w.str(value)
}

// join writes a string made of parts that need no escaping, such as a URL.
func (w *buffer) join(parts ...string) {
	w.b = append(w.b, '"')
	for _, p := range parts {
		w.b = append(w.b, p...)
	}
	w.b = append(w.b, '"')
}

func appendTime(b []byte, unix int64) []byte {
	return time.Unix(unix, 0).UTC().AppendFormat(b, time.RFC3339)
}

const hexDigits = "0123456789abcdef"

func appendQuoted(b []byte, s string) []byte {
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 {
				b = append(append(b, s[start:i]...), "\ufffd"...)
				start = i + 1
			}
			i += size
			continue
		}
		b = append(b, s[start:i]...)
		b = appendEscape(b, c)
		i++
		start = i
	}
	b = append(b, s[start:]...)
	return append(b, '"')
}

func appendEscape(b []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(b, '\\', c)
	case '\n':
		return append(b, '\\', 'n')
	case '\r':
		return append(b, '\\', 'r')
	case '\t':
		return append(b, '\\', 't')
	default:
		return append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
	}
}
