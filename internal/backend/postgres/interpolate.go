package postgres

import (
	"database/sql/driver"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Several statements in one trip are possible only in PostgreSQL's simple
// protocol, which has no arguments: values become part of the text. This file
// is the only place where that happens.
//
// The text of a statement is the program's own; a value never is. It is safe to
// put a value between single quotation marks, with those inside doubled, as
// long as a backslash means itself (standard_conforming_strings) and bytes are
// UTF-8 (client_encoding): both are set and checked when a session begins, and
// looked at before each statement.

// maxText is the length of the longest statement that a server takes.
const maxText = 1<<30 - 1024

// valueError is the answer to a value that cannot be told to the server.
type valueError struct{ reason string }

// Error implements error.
func (e *valueError) Error() string { return e.reason }

// errText is the answer to a statement that this file does not understand well
// enough to put values into it.
func errText(what string, at int) error {
	return fmt.Errorf("a statement cannot be sent: %s at byte %d of it", what, at)
}

// interpolate writes a statement with its values in place of the question
// marks, and bytes in PostgreSQL's way in place of X'…'.
func interpolate(into *strings.Builder, query string, args []driver.NamedValue) error {
	into.Grow(len(query) + room(args))
	written, next := 0, 0
	for i := 0; i < len(query); {
		switch c := query[i]; c {
		case '?':
			if next == len(args) {
				return errText("there are fewer values than question marks", i)
			}
			into.WriteString(query[written:i])
			if err := writeValue(into, args[next].Value); err != nil {
				return err
			}
			next++
			i++
			written = i
		case '\'':
			end, err := endOfQuote(query, i)
			if err != nil {
				return err
			}
			if isHexadecimal(query, i) {
				digits := query[i+1 : end-1]
				if _, err := hex.DecodeString(digits); err != nil {
					return errText("X'…' without hexadecimal digits", i)
				}
				into.WriteString(query[written : i-1])
				into.WriteString(` '\x`)
				into.WriteString(digits)
				into.WriteString(`'::bytea `)
				written = end
			} else if i > 0 && isName(query[i-1]) {
				return errText("a text with a prefix", i)
			}
			i = end
		case '"', '-', '/', '$', 0:
			end, err := skip(query, i)
			if err != nil {
				return err
			}
			i = end
		default:
			i++
		}
	}
	if next != len(args) {
		return errText(fmt.Sprintf("there are %d values for %d question marks", len(args), next), len(query))
	}
	into.WriteString(query[written:])
	if into.Len() > maxText {
		return &valueError{"the values are too large for one statement"}
	}
	return nil
}

// room is about how much the values add to a statement.
func room(args []driver.NamedValue) (n int) {
	for _, arg := range args {
		switch v := arg.Value.(type) {
		case string:
			n += len(v) + len(v)/16
		case []byte:
			n += 2 * len(v)
		}
		n += 24
	}
	return n
}

// isName reports whether a byte can be part of a name, or of what precedes a
// text: E'…', U&'…'.
func isName(c byte) bool {
	return c == '_' || c == '&' || c == '$' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= utf8.RuneSelf
}

// isHexadecimal reports whether the quotation mark at i begins an X'…'.
func isHexadecimal(query string, i int) bool {
	return i > 0 && (query[i-1] == 'X' || query[i-1] == 'x') && (i == 1 || !isName(query[i-2]))
}

// endOfQuote returns what follows the quoted text, or name, that begins at i.
// Two quotation marks in a row are one that is part of it: to go on after the
// first of them as if another text began is as good.
func endOfQuote(query string, i int) (int, error) {
	n := strings.IndexByte(query[i+1:], query[i])
	if n < 0 {
		return 0, errText("a quotation mark without another", i)
	}
	end := i + 1 + n + 1
	if strings.IndexByte(query[i:end], 0) >= 0 {
		return 0, errText("a zero byte", i)
	}
	return end, nil
}

// skip returns what follows a quoted name or a comment, in which nothing means
// anything, or the byte at i if it begins neither.
func skip(query string, i int) (int, error) {
	rest := query[i:]
	switch {
	case query[i] == '"':
		return endOfQuote(query, i)
	case query[i] == '$':
		return 0, errText("a dollar sign", i)
	case query[i] == 0:
		return 0, errText("a zero byte", i)
	case strings.HasPrefix(rest, "--"):
		// The end of the line may be in another of the joined statements.
		return 0, errText("a comment to the end of the line", i)
	case strings.HasPrefix(rest, "/*"):
		n := strings.Index(rest, "*/")
		if n < 0 || strings.Contains(rest[2:n], "/*") || strings.IndexByte(rest[:n], 0) >= 0 {
			return 0, errText("a comment that does not end, or with another in it", i)
		}
		return i + n + 2, nil
	}
	return i + 1, nil
}

// writeValue writes a value. Spaces keep it apart from what it stands between:
// a minus sign, a letter, another text.
func writeValue(into *strings.Builder, value driver.Value) error {
	into.WriteByte(' ')
	defer into.WriteByte(' ')
	switch v := value.(type) {
	case nil:
		into.WriteString("NULL")
	case string:
		writeText(into, v)
	case []byte:
		writeBytes(into, v)
	case int64:
		writeInt(into, v)
	case bool:
		// As in the tables, which have numbers for this.
		if v {
			into.WriteByte('1')
		} else {
			into.WriteByte('0')
		}
	case float64:
		into.WriteByte('\'')
		into.WriteString(strconv.FormatFloat(v, 'g', -1, 64))
		into.WriteString("'::float8")
	default:
		return errors.New("a value of type " + fmt.Sprintf("%T", value) + " cannot be told to PostgreSQL")
	}
	return nil
}

func writeInt(into *strings.Builder, n int64) {
	switch {
	case n >= 0:
		into.WriteString(strconv.FormatInt(n, 10))
	case n == math.MinInt64:
		// Without its sign it would be too large for the type that it has.
		into.WriteString("'-9223372036854775808'::bigint")
	default:
		into.WriteByte('(')
		into.WriteString(strconv.FormatInt(n, 10))
		into.WriteByte(')')
	}
}

// writeText writes a text. PostgreSQL has no zero byte in texts, and refuses
// what is no UTF-8: both are replaced, as elsewhere.
func writeText(into *strings.Builder, text string) {
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\uFFFD")
	}
	if strings.IndexByte(text, 0) >= 0 {
		text = strings.ReplaceAll(text, "\x00", "\uFFFD")
	}
	into.WriteByte('\'')
	for {
		i := strings.IndexByte(text, '\'')
		if i < 0 {
			break
		}
		into.WriteString(text[:i])
		into.WriteString("''")
		text = text[i+1:]
	}
	into.WriteString(text)
	into.WriteByte('\'')
}

func writeBytes(into *strings.Builder, b []byte) {
	if b == nil {
		into.WriteString("NULL")
		return
	}
	into.WriteString(`'\x`)
	var part [1024]byte
	for len(b) > 0 {
		n := min(len(b), len(part)/2)
		into.Write(part[:hex.Encode(part[:], b[:n])])
		b = b[n:]
	}
	into.WriteString(`'::bytea`)
}
