package ration

import (
	"strings"

	"sluice/internal/domain"
)

// Match says which calls draw on a ration: those of a stream, or those whose path
// below the base has a form, with or without a method in front.
type Match struct {
	Method string
	// Path is compared piece by piece: * is any one piece, ** at the end any number
	// of them. Empty is every path.
	Path   string
	Stream string
}

// ParseMatch reads a pattern such as "/groups/*/projects", "POST /search" or
// "/repos/**".
func ParseMatch(text string) (Match, error) {
	text = strings.TrimSpace(text)
	m := Match{Path: text}
	if method, path, ok := strings.Cut(text, " "); ok {
		m.Method, m.Path = strings.ToUpper(method), strings.TrimSpace(path)
	}
	switch at := strings.Index(m.Path, "**"); {
	case !strings.HasPrefix(m.Path, "/"):
		return m, domain.Errorf(domain.CodeInvalid, "%q is not a path; write it from its first slash, such as /groups/*/projects", text)
	case strings.ContainsAny(m.Path, "?#{} "):
		return m, domain.Errorf(domain.CodeInvalid, "%q has more than a path; what changes is written as *, and a query is not compared", text)
	case at >= 0 && at != len(m.Path)-2:
		return m, domain.Errorf(domain.CodeInvalid, "%q: ** stands for all that follows, and only at the end", text)
	}
	for _, b := range m.Method {
		if b < 'A' || b > 'Z' {
			return m, domain.Errorf(domain.CodeInvalid, "%q does not begin with a method such as GET", text)
		}
	}
	return m, nil
}

// Applies says whether a call is meant. The path has no query.
func (m Match) Applies(method, path, stream string) bool {
	if m.Stream != "" && m.Stream != stream || m.Method != "" && !strings.EqualFold(m.Method, method) {
		return false
	}
	if m.Path == "" {
		return true
	}
	want, have := m.Path, path
	for {
		var wanted, piece string
		var more, left bool
		wanted, want, more = strings.Cut(want, "/")
		if wanted == "**" {
			return true
		}
		piece, have, left = strings.Cut(have, "/")
		if wanted != "*" && wanted != piece || wanted == "*" && piece == "" || more != left {
			// "/a/**" also means "/a".
			return wanted == piece && more && !left && want == "**"
		}
		if !more {
			return true
		}
	}
}

// String is how it is written.
func (m Match) String() string {
	if m.Stream != "" {
		return "the stream " + m.Stream
	}
	return strings.TrimSpace(m.Method + " " + m.Path)
}
