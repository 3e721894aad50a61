package views

import (
	"encoding/hex"
	"fmt"
	"strings"
)

// Dialect is what a database writes differently from others.
type Dialect struct {
	// Quote is a name between its quotation marks.
	Quote func(name string) string
	// kind is a kind as the column kind holds it, and key a number as the column
	// name does.
	kind, key func(string) string
	// text is the text that two columns hold, the second what does not fit into the
	// first; word is one that always fits.
	text func(column, rest string) string
	word func(column string) string
	// afterColon is what follows the first colon of a text, number the number that
	// it is, and unlessEmpty the text, or null.
	afterColon, number, unlessEmpty func(text string) string
	// instant is the time so many microseconds after the beginning of 1970.
	instant func(micros string) string
	// later is the larger of two numbers.
	later func(a, b string) string
}

func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// SQLite has no type for instants: they are texts of one length in UTC, such as
// 2026-01-31T12:00:00.000000Z, which its functions of dates read and which sort as
// the instants do. What is true is 1, and what is not is 0.
func SQLite() *Dialect {
	return &Dialect{
		Quote: quoted,
		kind:  func(kind string) string { return "'" + strings.ReplaceAll(kind, "'", "''") + "'" },
		key:   func(number string) string { return "CAST(" + number + " AS TEXT)" },
		text:  func(column, _ string) string { return column },
		word:  func(column string) string { return column },

		afterColon:  func(text string) string { return "substr(" + text + ", instr(" + text + ", ':') + 1)" },
		number:      func(text string) string { return "CAST(" + text + " AS INTEGER)" },
		unlessEmpty: func(text string) string { return "NULLIF(" + text + ", '')" },
		instant: func(micros string) string {
			// Before 1970 the fraction counts forward as well.
			fraction := "((" + micros + ") % 1000000 + 1000000) % 1000000"
			return "strftime('%Y-%m-%dT%H:%M:%S', ((" + micros + ") - " + fraction + ") / 1000000, 'unixepoch') || printf('.%06dZ', " + fraction + ")"
		},
		later: func(a, b string) string { return "max(" + a + ", " + b + ")" },
	}
}

// What does not fit into the first of two columns leaves a hash at its end.
const (
	nameWidth = 1024
	hashWidth = 32
)

// MySQL has instants as DATETIME(6) in UTC. What is true is 1, and what is not is 0.
func MySQL() *Dialect {
	characters := func(bytes string) string { return "CONVERT(" + bytes + " USING utf8mb4) COLLATE utf8mb4_bin" }
	return &Dialect{
		Quote: func(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" },
		kind:  func(kind string) string { return "X'" + hex.EncodeToString([]byte(kind)) + "'" },
		key:   func(number string) string { return "CAST(" + number + " AS BINARY)" },
		text: func(column, rest string) string {
			return characters(fmt.Sprintf("IF(LENGTH(%s) < %d, %s, CONCAT(LEFT(%s, %d), %s))", column, nameWidth, column, column, nameWidth-hashWidth, rest))
		},
		word: characters,

		afterColon: func(text string) string { return "SUBSTRING(" + text + ", LOCATE(':', " + text + ") + 1)" },
		number:     func(text string) string { return "CAST(" + text + " AS SIGNED)" },
		// It takes spaces for nothing when it compares texts.
		unlessEmpty: func(text string) string { return "CASE WHEN LENGTH(" + text + ") > 0 THEN " + text + " END" },
		instant: func(micros string) string {
			return "TIMESTAMPADD(MICROSECOND, " + micros + ", TIMESTAMP'1970-01-01 00:00:00.000000')"
		},
		later: func(a, b string) string { return "GREATEST(" + a + ", " + b + ")" },
	}
}

// PostgreSQL has types for everything: TIMESTAMPTZ and BOOLEAN.
func PostgreSQL() *Dialect {
	characters := func(bytes string) string { return "convert_from(" + bytes + ", 'UTF8')" }
	return &Dialect{
		Quote: quoted,
		kind:  func(kind string) string { return `'\x` + hex.EncodeToString([]byte(kind)) + `'::bytea` },
		key:   func(number string) string { return "convert_to(" + number + "::text, 'UTF8')" },
		text: func(column, rest string) string {
			return characters(fmt.Sprintf("CASE WHEN octet_length(%s) < %d THEN %s ELSE substring(%s FROM 1 FOR %d) || %s END",
				column, nameWidth, column, column, nameWidth-hashWidth, rest))
		},
		word: characters,

		afterColon: func(text string) string { return "substring(" + text + " FROM position(':' IN " + text + ") + 1)" },
		// One name that is no number must not spoil a whole answer.
		number: func(text string) string {
			return "CASE WHEN " + text + " ~ '^-?[0-9]{1,19}$' THEN CASE WHEN (" + text +
				")::numeric BETWEEN -9223372036854775808 AND 9223372036854775807 THEN (" + text + ")::bigint END END"
		},
		unlessEmpty: func(text string) string { return "NULLIF(" + text + ", '')" },
		instant: func(micros string) string {
			return "TIMESTAMPTZ 'epoch' + (" + micros + ") * INTERVAL '1 microsecond'"
		},
		later: func(a, b string) string { return "GREATEST(" + a + ", " + b + ")" },
	}
}
