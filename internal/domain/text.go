package domain

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Printable makes text that somebody else chose fit to be shown in a line: what
// would move a terminal's cursor, begin a line or turn the direction of writing is
// written as an escape, such as \n or \u202e. Other text is returned as it is.
func Printable(text string) string { return escape(text, unprintable) }

// PrintableLines is Printable for what may have several lines.
func PrintableLines(text string) string {
	return escape(text, func(r rune) bool { return r != '\n' && unprintable(r) })
}

// PrintableJSON is the same JSON, with what encoding/json leaves in strings as it is
// and a terminal would obey escaped.
func PrintableJSON(text string) string {
	if strings.IndexFunc(text, unprintableInJSON) < 0 {
		return text
	}
	var out strings.Builder
	for _, r := range text {
		if !unprintableInJSON(r) {
			out.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			out.WriteString(`\u` + strconv.FormatUint(uint64(unit)+0x10000, 16)[1:])
		}
	}
	return out.String()
}

func unprintableInJSON(r rune) bool { return r != '\n' && r != '\r' && r != '\t' && unprintable(r) }

// Unseen says whether a text has nothing that is seen: spaces, joiners, marks of
// direction and fillers alone.
func Unseen(text string) bool {
	const hangulFiller, halfwidthFiller, brailleBlank = '\u3164', '\uffa0', '\u2800'
	return strings.TrimFunc(text, func(r rune) bool {
		return unprintable(r) || unicode.In(r, unicode.Cf, unicode.Z, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) ||
			r == hangulFiller || r == halfwidthFiller || r == brailleBlank
	}) == ""
}

func escape(text string, hide func(rune) bool) string {
	if utf8.ValidString(text) && strings.IndexFunc(text, hide) < 0 {
		return text
	}
	var out strings.Builder
	for i, r := range text {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(text[i:], "\uFFFD"):
			out.WriteString(`\x` + strconv.FormatUint(uint64(text[i])+0x100, 16)[1:])
		case hide(r):
			quoted := strconv.QuoteRuneToASCII(r)
			out.WriteString(quoted[1 : len(quoted)-1])
		default:
			out.WriteRune(r)
		}
	}
	return out.String()
}

// unprintable says whether a character does something instead of being seen. The
// joiners of scripts and emoji are harmless.
func unprintable(r rune) bool {
	const nonJoiner, joiner = '\u200c', '\u200d'
	if r == nonJoiner || r == joiner {
		return false
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}
