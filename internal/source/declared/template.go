package declared

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// template is a text with expressions in braces. A brace that is meant is written
// twice.
type template struct {
	text  string
	parts []part
}

// part is a piece of text, or an expression.
type part struct {
	text string
	made *expression
}

// parseTemplate reads a template. Braces within an expression's texts and maps are
// counted.
func parseTemplate(text string, known names) (*template, error) {
	t := &template{text: text}
	var plainText strings.Builder
	for i := 0; i < len(text); i++ {
		switch b := text[i]; {
		case (b == '{' || b == '}') && i+1 < len(text) && text[i+1] == b:
			plainText.WriteByte(b)
			i++
		case b == '{':
			end := closing(text, i)
			if end < 0 {
				return nil, fmt.Errorf("the brace at character %d is not closed; a brace that is meant is written twice", i+1)
			}
			made, err := compile(strings.TrimSpace(text[i+1:end]), known)
			if err != nil {
				return nil, err
			}
			if plainText.Len() > 0 {
				t.parts = append(t.parts, part{text: plainText.String()})
				plainText.Reset()
			}
			t.parts = append(t.parts, part{made: made})
			i = end
		case b == '}':
			return nil, fmt.Errorf("the brace at character %d is not opened; a brace that is meant is written twice", i+1)
		default:
			plainText.WriteByte(b)
		}
	}
	if plainText.Len() > 0 || len(t.parts) == 0 {
		t.parts = append(t.parts, part{text: plainText.String()})
	}
	return t, nil
}

// closing finds the brace that closes the one at a place, -1 if there is none.
func closing(text string, from int) int {
	depth, quote := 0, byte(0)
	for i := from; i < len(text); i++ {
		switch b := text[i]; {
		case quote != 0:
			switch b {
			case '\\':
				i++
			case quote:
				quote = 0
			}
		case b == '"' || b == '\'' || b == '`':
			quote = b
		case b == '{':
			depth++
		case b == '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// render makes the text as it is.
func (t *template) render(env map[string]any) (string, error) {
	return t.make(env, func(_ string, value string) string { return value })
}

// address makes an address: what is put into its path or its query is escaped, but
// for what it begins with, which may be an address itself.
func (t *template) address(env map[string]any) (string, error) {
	return t.make(env, func(before, value string) string {
		switch {
		case before == "":
			return value
		case strings.Contains(before, "?"):
			return url.QueryEscape(value)
		}
		return url.PathEscape(value)
	})
}

func (t *template) make(env map[string]any, escape func(before, value string) string) (string, error) {
	if len(t.parts) == 1 && t.parts[0].made == nil {
		return t.parts[0].text, nil
	}
	var all strings.Builder
	for _, p := range t.parts {
		if p.made == nil {
			all.WriteString(p.text)
			continue
		}
		value, err := p.made.string(env)
		if err != nil {
			return "", err
		}
		all.WriteString(escape(all.String(), value))
	}
	return all.String(), nil
}

// value makes what a template of one expression alone stands for, with its type; of
// any other the text.
func (t *template) value(env map[string]any) (any, error) {
	if len(t.parts) == 1 && t.parts[0].made != nil {
		return t.parts[0].made.run(env)
	}
	return t.render(env)
}

// reads adds the fields that it takes of each name.
func (t *template) reads(into map[string][]string) {
	if t == nil {
		return
	}
	for _, p := range t.parts {
		if p.made != nil {
			addReads(into, p.made.reads)
		}
	}
}

func addReads(into, from map[string][]string) {
	for name, fields := range from {
		for _, f := range fields {
			if !slices.Contains(into[name], f) {
				into[name] = append(into[name], f)
			}
		}
	}
}

// uses says whether it speaks of a name.
func (t *template) uses(name string) bool {
	all := map[string][]string{}
	t.reads(all)
	return len(all[name]) > 0
}
