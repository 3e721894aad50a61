package words

import (
	"strings"
	"unicode/utf8"

	"sluice/internal/domain"
)

const (
	// maxQuery and maxTerms bound what a search may be, and minPrefix is how many
	// characters are needed in front of a star.
	maxQuery  = 1024
	maxTerms  = 32
	minPrefix = 2
)

// Query is a search: all of its terms must be found, and none of those that it
// excludes.
type Query struct{ All, None []Term }

// Term is a word, or several that follow each other in one text.
type Term struct {
	Words []string
	// joined says which of them belong to a script without spaces.
	joined []bool
	// Prefix says that the last one may go on.
	Prefix bool
}

// Parse reads a search as people write it: words, "phrases", -excluded, prefix*. An
// error is of code invalid and says what is wrong.
func Parse(text string) (q Query, err error) {
	if len(text) > maxQuery {
		return q, domain.Errorf(domain.CodeInvalid, "a search has up to %d bytes; this one has %d", maxQuery, len(text))
	}
	for rest := strings.TrimSpace(text); rest != ""; rest = strings.TrimSpace(rest) {
		var term Term
		excluded := strings.HasPrefix(rest, "-")
		if excluded {
			rest = rest[1:]
		}
		if term, rest, err = cutTerm(rest); err != nil {
			return Query{}, err
		}
		switch {
		case len(term.Words) == 0:
		case excluded:
			q.None = append(q.None, term)
		default:
			q.All = append(q.All, term)
		}
	}
	switch n := len(q.All) + len(q.None); {
	case len(q.All) == 0:
		return Query{}, domain.Errorf(domain.CodeInvalid, "a search needs a word that is to be found; got %q", text)
	case n > maxTerms:
		return Query{}, domain.Errorf(domain.CodeInvalid, "a search has up to %d terms; this one has %d", maxTerms, n)
	}
	return q, nil
}

// cutTerm cuts the first term off.
func cutTerm(text string) (t Term, rest string, err error) {
	if phrase, quoted := strings.CutPrefix(text, `"`); quoted {
		inside, rest, closed := strings.Cut(phrase, `"`)
		if !closed {
			return t, "", domain.Errorf(domain.CodeInvalid, "a quotation mark of the search is not closed: %q", text)
		}
		return newTerm(inside), rest, nil
	}
	end := strings.IndexFunc(text, func(r rune) bool { return r == '"' || strings.ContainsRune(" \t\r\n\v\f\u0085\u00a0\u3000", r) })
	if end < 0 {
		end = len(text)
	}
	word, rest := text[:end], text[end:]
	t = newTerm(word)
	last := len(t.Words) - 1
	if last < 0 || !strings.HasSuffix(word, "*") || t.joined[last] {
		return t, rest, nil
	}
	if utf8.RuneCountInString(t.Words[last]) < minPrefix {
		return t, "", domain.Errorf(domain.CodeInvalid, "a star needs at least %d characters in front of it; got %q", minPrefix, word)
	}
	t.Prefix = true
	return t, rest, nil
}

func newTerm(text string) (t Term) {
	for _, token := range Tokens(text) {
		t.Words, t.joined = append(t.Words, token.Word), append(t.joined, token.Joined)
	}
	return t
}

// Need is what an index can tell of a document that matches: it has each of the words
// Has, a word that begins with each of Begins, and none of the words Lacks. What has
// all that may match, and what has not does not.
type Need struct{ Has, Begins, Lacks []string }

// Need is what the index is asked for.
func (q Query) Need() (n Need) {
	for _, t := range q.All {
		has, begins := t.need()
		n.Has = append(n.Has, has...)
		if begins != "" {
			n.Begins = append(n.Begins, begins)
		}
	}
	for _, t := range q.None {
		if len(t.Words) == 1 && !t.Prefix {
			n.Lacks = append(n.Lacks, t.Words[0])
		}
	}
	return Need{unique(n.Has), unique(n.Begins), unique(n.Lacks)}
}

func (t *Term) need() (has []string, begins string) {
	for i, word := range t.Words {
		follows := i+1 < len(t.Words) && t.joined[i] && t.joined[i+1]
		after := i > 0 && t.joined[i-1] && t.joined[i]
		switch {
		case follows:
			has = append(has, word+t.Words[i+1])
		case after:
			// The pair before has it.
		case t.Prefix && i == len(t.Words)-1:
			begins = word
		default:
			has = append(has, word)
		}
	}
	return has, begins
}

func unique(texts []string) (out []string) {
	seen := map[string]bool{}
	for _, text := range texts {
		if !seen[text] {
			seen[text] = true
			out = append(out, text)
		}
	}
	return out
}
