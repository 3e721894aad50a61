package declared

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"

	"sluice/internal/domain"
)

// Mistake is something wrong with a file, and what to do about it.
type Mistake struct {
	Line int `json:"line"`
	// Path is the key that it is about, "" for the file as a whole.
	Path string `json:"path,omitempty"`
	Text string `json:"text"`
	// Remedy is what to write instead.
	Remedy string `json:"remedy,omitempty"`
}

// String is a line for people.
func (m Mistake) String() string {
	text := m.Text
	if m.Path != "" {
		text = m.Path + ": " + text
	}
	if m.Remedy != "" {
		text += "; " + m.Remedy
	}
	return fmt.Sprintf("line %d: %s", m.Line, text)
}

// Mistakes are all that are wrong with a file.
type Mistakes []Mistake

// Err is an error that lists them, nil if there are none.
func (all Mistakes) Err(file string) error {
	if len(all) == 0 {
		return nil
	}
	lines := make([]string, len(all))
	for i, m := range all {
		lines[i] = m.String()
	}
	return domain.Errorf(domain.CodeInvalid, "%s is not a source that can be collected:\n  %s", file, strings.Join(lines, "\n  "))
}

func (all *Mistakes) add(line int, path, remedy, format string, args ...any) {
	*all = append(*all, Mistake{Line: line, Path: path, Text: fmt.Sprintf(format, args...), Remedy: remedy})
}

func (all *Mistakes) sort() {
	slices.SortStableFunc(*all, func(a, b Mistake) int { return cmp.Compare(a.Line, b.Line) })
}

// nearest is the known word that was probably meant, "" if none is near.
func nearest(word string, known []string) string {
	best, least := "", 1+max(2, len(word)/3)
	for _, k := range known {
		if d := levenshtein.ComputeDistance(strings.ToLower(word), strings.ToLower(k)); d < least {
			best, least = k, d
		}
	}
	return best
}

// meant is a remedy for an unknown word.
func meant(word string, known []string) string {
	if k := nearest(word, known); k != "" {
		return fmt.Sprintf("did you mean %q?", k)
	}
	if len(known) == 0 {
		return "there are none"
	}
	return "there are " + strings.Join(known, ", ")
}
