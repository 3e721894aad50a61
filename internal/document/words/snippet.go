package words

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Range is a part of a text, in characters: Start is the first, End the one behind it.
type Range struct{ Start, End int }

// Snippet is a part of a text, and what matches in it.
type Snippet struct {
	Text  string
	Marks []Range
}

// lead is how many words stand in front of the first match of a snippet.
const lead = 6

// Snippet cuts about so many characters around the first match out of a text; ok is
// false if nothing matches there. Marks do not overlap and are in order.
func (q Query) Snippet(t Text, characters int) (s Snippet, ok bool) {
	spans := q.spans(t.Tokens)
	if len(spans) == 0 {
		return Snippet{Text: head(t.Text, characters)}, false
	}
	first := max(0, spans[0].Start-lead)
	from := t.Tokens[first].Start
	if first == 0 {
		from = 0
	}
	s.Text = head(t.Text[from:], characters)
	// A match that is longer than a snippet is marked as far as it is shown.
	to := from + len(s.Text)
	for _, span := range spans {
		start, end := t.Tokens[span.Start].Start, min(t.Tokens[span.End-1].End, to)
		if start >= end {
			break
		}
		at := utf8.RuneCountInString(t.Text[from:start])
		s.Marks = append(s.Marks, Range{at, at + utf8.RuneCountInString(t.Text[start:end])})
	}
	return s, true
}

// spans are where the terms of a search stand, in words, joined where they overlap.
func (q Query) spans(tokens []Token) (spans []Range) {
	for _, t := range q.All {
		for at := t.next(tokens, 0); at >= 0; at = t.next(tokens, at+1) {
			spans = append(spans, Range{at, at + len(t.Words)})
		}
	}
	slices.SortFunc(spans, func(a, b Range) int { return cmp.Or(a.Start-b.Start, a.End-b.End) })
	var out []Range
	for _, span := range spans {
		if last := len(out) - 1; last >= 0 && span.Start < out[last].End {
			out[last].End = max(out[last].End, span.End)
		} else {
			out = append(out, span)
		}
	}
	return out
}

// head is the beginning of a text, of so many characters at most, which ends with a
// whole word if that makes it little shorter.
func head(text string, characters int) string {
	n := 0
	for at := range text {
		if n++; n <= characters {
			continue
		}
		text = text[:at]
		if space := strings.LastIndexAny(text, " \t\r\n"); space > at*3/4 {
			text = text[:space]
		}
		return text
	}
	return text
}
