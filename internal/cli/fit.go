package cli

import (
	"iter"
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// ellipsis stands where something was cut off.
const ellipsis = "…"

const (
	joiner = '\u200d' // makes one picture of two
	emoji  = '\ufe0f' // shows the character before it as a picture, which is wide
)

// clusters takes a line apart into what a terminal shows as one, with the columns
// that takes: a character with the marks on it, pictures that are joined, and
// escape sequences, which take none. Where terminals differ it is the most that any
// takes: a line that is too short does no harm.
func clusters(line string) iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		for line != "" {
			size, columns := cluster(line)
			if !yield(line[:size], columns) {
				return
			}
			line = line[size:]
		}
	}
}

// cluster measures the first one of a line that is not empty.
func cluster(line string) (size, columns int) {
	if line[0] == '\x1b' {
		if end := strings.IndexByte(line, 'm'); end >= 0 {
			return end + 1, 0
		}
		return len(line), 0
	}
	joined := true
	for i, r := range line {
		switch {
		case r == '\x1b':
			return i, columns
		case r == emoji:
			columns += columns & 1
		case r == joiner:
			joined = true
		case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		case !joined:
			return i, columns
		default:
			columns += columnsOf(r)
			joined = false
		}
	}
	return len(line), columns
}

func columnsOf(r rune) int {
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// columnsIn is how many columns a line takes.
func columnsIn(line string) (n int) {
	for _, columns := range clusters(line) {
		n += columns
	}
	return n
}

// clip cuts a line to a terminal's width, with an ellipsis where something is
// missing.
func clip(line string, wide int) string {
	if columnsIn(line) <= wide {
		return line
	}
	var kept strings.Builder
	room, coloured := wide-1, false
	for part, columns := range clusters(line) {
		if room -= columns; room < 0 {
			break
		}
		coloured = coloured || part[0] == '\x1b'
		kept.WriteString(part)
	}
	if wide > 0 {
		kept.WriteString(ellipsis)
	}
	if coloured {
		kept.WriteString("\x1b[0m")
	}
	return kept.String()
}

// column is text in exactly so many columns: cut, or with blanks behind it.
func column(text string, wide int) string {
	text = clip(text, wide)
	return text + strings.Repeat(" ", max(wide-columnsIn(text), 0))
}
