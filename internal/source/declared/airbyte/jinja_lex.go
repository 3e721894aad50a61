package airbyte

import (
	"fmt"
	"strings"
	"unicode"
)

// token is a piece of an expression of Jinja.
type token struct {
	kind rune // 'n' name, 's' text, 'd' number, 'o' operator, 0 the end
	text string
}

const mostExpression = 4000

// lex splits an expression.
func lex(text string) ([]token, error) {
	if len(text) > mostExpression {
		return nil, fmt.Errorf("it has more than %d characters", mostExpression)
	}
	var all []token
	in := []rune(text)
	for i := 0; i < len(in); {
		switch r := in[i]; {
		case unicode.IsSpace(r):
			i++
		case r == '\'' || r == '"':
			value, end, err := quoted(in, i)
			if err != nil {
				return nil, err
			}
			all = append(all, token{'s', value})
			i = end
		case unicode.IsDigit(r):
			end := i
			for end < len(in) && (unicode.IsDigit(in[end]) || in[end] == '.' && end+1 < len(in) && unicode.IsDigit(in[end+1])) {
				end++
			}
			all = append(all, token{'d', string(in[i:end])})
			i = end
		case r == '_' || unicode.IsLetter(r):
			end := i
			for end < len(in) && (in[end] == '_' || unicode.IsLetter(in[end]) || unicode.IsDigit(in[end])) {
				end++
			}
			all = append(all, token{'n', string(in[i:end])})
			i = end
		default:
			n := 1
			if i+1 < len(in) && strings.Contains("== != <= >= // **", string(in[i:i+2])) && in[i+1] != ' ' {
				n = 2
			}
			all = append(all, token{'o', string(in[i : i+n])})
			i += n
		}
	}
	return append(all, token{}), nil
}

func quoted(in []rune, from int) (string, int, error) {
	var all strings.Builder
	for i := from + 1; i < len(in); i++ {
		switch {
		case in[i] == '\\' && i+1 < len(in):
			i++
			if in[i] == 'n' {
				all.WriteRune('\n')
				continue
			}
			all.WriteRune(in[i])
		case in[i] == in[from]:
			return all.String(), i + 1, nil
		default:
			all.WriteRune(in[i])
		}
	}
	return "", 0, fmt.Errorf("a text in it is not closed")
}

// piece is a part of a text: as it is, or an expression.
type piece struct {
	text string
	made bool
}

// pieces splits a text at its {{ … }}.
func pieces(text string) ([]piece, error) {
	var all []piece
	for text != "" {
		begin := strings.Index(text, "{{")
		if s := strings.Index(text, "{%"); s >= 0 && (begin < 0 || s < begin) {
			return nil, fmt.Errorf("it has statements ({%% … %%})")
		}
		if begin < 0 {
			return append(all, piece{text: text}), nil
		}
		if begin > 0 {
			all = append(all, piece{text: text[:begin]})
		}
		length := strings.Index(text[begin:], "}}")
		if length < 0 {
			return nil, fmt.Errorf("{{ is not closed")
		}
		inner := text[begin+2 : begin+length]
		all = append(all, piece{text: strings.TrimSpace(strings.Trim(inner, "-")), made: true})
		text = text[begin+length+2:]
	}
	return all, nil
}
