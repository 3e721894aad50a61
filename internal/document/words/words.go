// Package words is how documents are searched, whatever store has them: what a word
// is (this file), how a search is written (query.go), what matches it (match.go) and
// what is shown of a match (snippet.go). It is pure: stores index the words that it
// makes, and everything they find is judged here again, so that all of them answer
// alike.
//
// A word is a run of letters and digits. Case, width and diacritics make no
// difference: "Über" is "uber", "ﬁx" is "fix". In scripts that put no spaces between
// words (Chinese, Japanese, Korean) each character is a word, and what is written
// without a space is a phrase.
package words

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Scheme is the version of what is a word here. An index that was made by another
// one is made anew.
const Scheme = 1

// longest is how many bytes of a word count: what is longer is compared by its
// beginning.
const longest = 128

// Token is a word and where it stands in its text, in bytes.
type Token struct {
	Word       string
	Start, End int
	// Joined says that it is a character of a script without spaces.
	Joined bool
}

// Tokens are the words of a text, in their order.
func Tokens(text string) []Token {
	c := cutter{text: text}
	c.out = make([]Token, 0, len(text)/6+1)
	for at := 0; at < len(text); {
		next := at + 1
		if plain(text, at) {
			c.ascii(text[at], at)
		} else {
			n := norm.NFKC.NextBoundaryInString(text[at:], true)
			next = at + max(n, 1)
			c.segment(at, next)
		}
		at = next
	}
	c.end()
	return c.out
}

// plain says whether a byte is a character of ASCII that nothing is combined with.
func plain(text string, at int) bool {
	return text[at] < utf8.RuneSelf && (at+1 == len(text) || text[at+1] < utf8.RuneSelf)
}

// cutter cuts a text into words.
type cutter struct {
	text string
	out  []Token
	// word is the one under way, from start up to end; start < 0 is none.
	word        []byte
	open        bool
	start, till int
}

func (c *cutter) ascii(b byte, at int) {
	switch {
	case 'A' <= b && b <= 'Z':
		b += 'a' - 'A'
	case 'a' <= b && b <= 'z', '0' <= b && b <= '9':
	default:
		c.end()
		return
	}
	c.begin(at)
	c.word = append(c.word, b)
	c.till = at + 1
}

func (c *cutter) begin(at int) {
	if !c.open {
		c.open, c.start, c.word = true, at, c.word[:0]
	}
}

// segment takes a character with all that is combined with it.
func (c *cutter) segment(from, to int) {
	for _, r := range norm.NFKC.String(c.text[from:to]) {
		switch {
		case joined(r):
			c.end()
			c.out = append(c.out, Token{string(r), from, to, true})
		case unicode.Is(unicode.Mn, r), unicode.Is(unicode.Me, r):
			// A mark on nothing is no word, and on a letter makes no other word.
		case r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.Is(unicode.Mc, r)):
			c.begin(from)
			c.word = appendFolded(c.word, r)
			c.till = to
		default:
			c.end()
		}
	}
}

func (c *cutter) end() {
	if !c.open {
		return
	}
	c.open = false
	word := c.word
	if len(word) > longest {
		word = word[:longest]
		for !utf8.Valid(word) {
			word = word[:len(word)-1]
		}
	}
	if len(word) > 0 {
		c.out = append(c.out, Token{string(word), c.start, c.till, false})
	}
}

// joined says whether a character belongs to a script that puts no spaces between words.
func joined(r rune) bool {
	if r < 0x1100 {
		return false
	}
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) && !unicode.Is(unicode.M, r)
}

// letters are those that are one letter with a stroke, or two in one, and that
// Unicode does not take apart.
var letters = map[rune]string{
	'ß': "ss", 'æ': "ae", 'œ': "oe", 'ø': "o", 'đ': "d", 'ð': "d", 'ħ': "h", 'ı': "i", 'ł': "l", 'ŧ': "t", 'þ': "th", 'ς': "σ",
}

// appendFolded appends a letter without case and diacritics.
func appendFolded(b []byte, r rune) []byte {
	for _, part := range norm.NFKD.String(string(r)) {
		if unicode.Is(unicode.Mn, part) {
			continue
		}
		part = unicode.ToLower(part)
		if other, ok := letters[part]; ok {
			b = append(b, other...)
		} else {
			b = utf8.AppendRune(b, part)
		}
	}
	return b
}

// Index are the words by which a text is found, each once, in order: its words and,
// of scripts without spaces, also each two characters that follow each other.
func Index(texts ...string) []string {
	var all []string
	for _, text := range texts {
		tokens := Tokens(text)
		for i := range tokens {
			all = append(all, tokens[i].Word)
			if i > 0 && tokens[i-1].Joined && tokens[i].Joined {
				all = append(all, tokens[i-1].Word+tokens[i].Word)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Beyond is the first text behind all that begin with a prefix.
func Beyond(prefix string) string {
	return prefix[:len(prefix)-1] + string([]byte{prefix[len(prefix)-1] + 1})
}

// hasPrefix says whether any of sorted words begins with a prefix.
func hasPrefix(sorted []string, prefix string) bool {
	at, _ := slices.BinarySearch(sorted, prefix)
	return at < len(sorted) && strings.HasPrefix(sorted[at], prefix)
}
