package web

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// InPageWords is how pages say what the API says.
func InPageWords(text string) string { return inPageWords(text) }

// ActionNames are what forms can ask for.
func ActionNames() []string { return slices.Sorted(maps.Keys(actions)) }

var hiddenFields = regexp.MustCompile(`\{\{template "hidden" [^}]*\}\}`)

// Templates are the texts of all pages, with the parts that their forms have.
func Templates() (map[string]string, error) {
	names, err := pageFiles.ReadDir("templates")
	all := map[string]string{}
	for _, n := range names {
		text, err := pageFiles.ReadFile("templates/" + n.Name())
		if err != nil {
			return nil, err
		}
		all[n.Name()] = string(text)
	}
	_, rest, _ := strings.Cut(all["parts.html"], `{{define "hidden"}}`)
	hidden, _, _ := strings.Cut(rest, "{{end}}")
	for name, text := range all {
		all[name] = hiddenFields.ReplaceAllLiteralString(text, hidden)
	}
	return all, err
}
