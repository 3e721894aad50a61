package words

import (
	"slices"
	"strings"
)

// Text is a text that is taken apart once and asked often.
type Text struct {
	Text   string
	Tokens []Token
}

// NewTexts takes texts apart.
func NewTexts(texts ...string) []Text {
	out := make([]Text, len(texts))
	for i, text := range texts {
		out[i] = Text{text, Tokens(text)}
	}
	return out
}

// Matches says whether a document of these texts is what a search looks for: every
// term is in one of them, and none of those that are excluded is in any.
func (q Query) Matches(texts []Text) bool {
	in := func(t Term) bool {
		return slices.ContainsFunc(texts, func(text Text) bool { return t.next(text.Tokens, 0) >= 0 })
	}
	for _, t := range q.All {
		if !in(t) {
			return false
		}
	}
	return !slices.ContainsFunc(q.None, in)
}

// next is where the term stands next from a word on, -1 if nowhere.
func (t *Term) next(tokens []Token, from int) int {
	for i := from; i+len(t.Words) <= len(tokens); i++ {
		if t.at(tokens[i:]) {
			return i
		}
	}
	return -1
}

func (t *Term) at(tokens []Token) bool {
	last := len(t.Words) - 1
	for i, word := range t.Words {
		if tokens[i].Word == word || t.Prefix && i == last && !tokens[i].Joined && strings.HasPrefix(tokens[i].Word, word) {
			continue
		}
		return false
	}
	return true
}

// Satisfies says whether a document that is indexed by these sorted words has what is
// needed: what an index answers by, in memory.
func (n Need) Satisfies(sorted []string) bool {
	has := func(word string) bool {
		_, found := slices.BinarySearch(sorted, word)
		return found
	}
	for _, word := range n.Has {
		if !has(word) {
			return false
		}
	}
	for _, prefix := range n.Begins {
		if !hasPrefix(sorted, prefix) {
			return false
		}
	}
	return !slices.ContainsFunc(n.Lacks, has)
}
