package secret

import (
	"strings"
	"unicode/utf8"
)

const (
	// mask stands for what may not be seen.
	mask = "********"
	// longestName is what a name has at most; what is longer may be a key.
	longestName = 64
)

// markers are how tokens begin, in just these letters: ours, GitHub's, those of other services that people
// have at hand, and the web's signed ones.
var markers = []string{
	"sluice_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "xoxb-", "xoxp-", "eyJ",
}

// Like reports whether a word looks like a token: it begins as tokens do, or is
// longer than names are.
func Like(word string) bool {
	if len(word) > longestName {
		return true
	}
	for _, marker := range markers {
		if at := strings.Index(word, marker); at >= 0 && len(word) > at+len(marker) && (at == 0 || strings.HasSuffix(marker, "_")) {
			return true
		}
	}
	return false
}

// Masked is a text in which every word that looks like a token is hidden. It is for
// what a caller sent and somebody will read, such as the path of a request.
func Masked(text string) string {
	var out strings.Builder
	for len(text) > 0 {
		end := strings.IndexFunc(text, func(c rune) bool { return !inWord(c) })
		if end < 0 {
			end = len(text)
		}
		if word := text[:end]; Like(word) {
			out.WriteString(mask)
		} else {
			out.WriteString(word)
		}
		text = text[end:]
		if text != "" {
			_, size := utf8.DecodeRuneInString(text)
			out.WriteString(text[:size])
			text = text[size:]
		}
	}
	return out.String()
}

// Name reports whether a text that a caller sent may be named to him as it is: it
// looks like a name, and not like a token.
func Name(text string) bool {
	return text != "" && !Like(text) && !strings.ContainsFunc(text, func(c rune) bool { return !inWord(c) && c != ':' && c != '@' })
}

// inWord are the characters of names and of tokens.
func inWord(c rune) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("_-.+=~", c)
}
