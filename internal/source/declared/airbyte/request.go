package airbyte

import (
	"errors"
	"regexp"
	"strings"
)

// errWindow is what asks for the end of a window of dates.
var errWindow = errors.New("a window of dates needs a beginning that is known")

// template translates a text with Jinja in it.
func (s *stream) template(n node, record bool) (string, error) {
	all, err := pieces(n.text())
	if err != nil {
		return "", err
	}
	var out strings.Builder
	for _, p := range all {
		if !p.made {
			out.WriteString(escaped(p.text))
			continue
		}
		v, err := translate(p.text, s.scopeOf(n, record, 0))
		if err != nil {
			return "", err
		}
		if v.literal != nil {
			out.WriteString(escaped(*v.literal))
			continue
		}
		out.WriteString("{" + v.text + "}")
	}
	return strings.TrimSpace(out.String()), nil
}

func escaped(text string) string {
	return strings.NewReplacer("{", "{{", "}", "}}").Replace(text)
}

// expression translates a text that is one expression.
func (s *stream) expression(n node) (value, error) {
	all, err := pieces(n.text())
	if err != nil {
		return value{}, err
	}
	if len(all) != 1 {
		return value{}, errNotSaid
	}
	return translate(all[0].text, s.scopeOf(n, true, 0))
}

var hosts = regexp.MustCompile(`^https?://[^/]+`)

// hostOf is an address up to its path. An expression that it begins with stands for
// the whole of it.
func hostOf(base string) string {
	from := 0
	if i := strings.Index(base, "://"); i >= 0 && i < len("https://") {
		from = i + len("://")
	}
	if i := outside(base[from:], '/'); i >= 0 {
		return base[:from+i]
	}
	return base
}

// outside is where a character stands that is not part of an expression, -1 for
// nowhere.
func outside(text string, what byte) int {
	depth := 0
	for i := range len(text) {
		switch {
		case text[i] == '{':
			depth++
		case text[i] == '}':
			depth--
		case text[i] == what && depth == 0:
			return i
		}
	}
	return -1
}

// request translates what is asked.
func (s *stream) request(r node) error {
	q := r.member("requester")
	if kind := q.kind(); kind != "HttpRequester" && kind != "" || !q.mapping() {
		return cannot(q, "there is nothing like %s", shorten(cmpOr(kind, "a retriever without a requester")))
	}
	if err := s.address(r, q); err != nil {
		return err
	}
	switch method := strings.ToUpper(q.get("http_method").text()); method {
	case "", "GET":
	case "POST":
		s.post = true
	default:
		return cannot(q.get("http_method"), "a call gets or posts, and does not %s", shorten(method))
	}
	if err := s.parameters(q.get("request_parameters")); err != nil {
		return err
	}
	if err := s.headed(q.get("request_headers")); err != nil {
		return err
	}
	if err := s.posted(q); err != nil {
		return err
	}
	if err := s.authenticate(q.get("authenticator")); err != nil {
		return err
	}
	s.handlers(q.get("error_handler"), 0)
	return nil
}

func (s *stream) address(r, q node) error {
	base, err := s.template(q.get("url_base"), false)
	if err != nil {
		return cannot(q.get("url_base"), "its address: %s", err)
	}
	at := q.get("path")
	if !at.is() {
		at = r.get("path")
	}
	path, err := s.template(at, false)
	if err != nil {
		return cannot(at, "its address: %s", err)
	}
	if one := q.get("url"); one.is() {
		if base, err = s.template(one, false); err != nil {
			return cannot(one, "its address: %s", err)
		}
	}
	base = strings.TrimRight(base, "/")
	switch {
	case hosts.MatchString(path):
		base = hostOf(path)
		path = strings.TrimPrefix(path, base)
	case base == "" && strings.HasPrefix(path, "{"):
		s.path = path
		return nil
	case base == "":
		return cannot(q, "it has no address")
	}
	if i := outside(base, '?'); i >= 0 {
		base, path = base[:i], strings.TrimSuffix(base[i:]+strings.TrimPrefix(path, "/"), "?")
	}
	if !strings.HasPrefix(base, "http") && !strings.HasPrefix(base, "{") {
		return cannot(q, "%s is not the beginning of an address", shorten(base))
	}
	if path == "" || path[0] == '?' {
		// What is asked is the base itself: its last names are the path.
		host := hostOf(base)
		base, path = host, cmpOr(strings.TrimPrefix(base, host), "/")+path
	}
	s.base, s.host = base, hostOf(base)
	s.path = path
	if !strings.HasPrefix(path, "/") && path != "" {
		s.path = "/" + path
	}
	return nil
}

func (s *stream) parameters(n node) error {
	if n.scalar() {
		text, err := s.template(n, false)
		if err != nil {
			return cannot(n, "its parameters: %s", err)
		}
		s.path += "?" + strings.TrimPrefix(text, "?")
		return nil
	}
	var first error
	n.each(func(name string, v node) {
		if first == nil {
			first = s.parameterOf(name, v)
		}
	})
	return first
}

func (s *stream) parameterOf(name string, v node) error {
	if !v.scalar() {
		if v.is() {
			return cannot(v, "the parameter %s is not a text", name)
		}
		return nil
	}
	if config, prefix, ok := s.secret(v); ok && !s.auth.is() && prefix == "" {
		s.auth = auth{query: name}
		s.im.remark(v.line(), s.called, "config.%s in the parameter %s is taken for the credential", config, name)
		return nil
	}
	text, err := s.template(v, false)
	switch {
	case errors.Is(err, errWindow):
		s.im.remark(v.line(), s.called, "the parameter %s is left out, every walk goes up to now: %s", name, err)
	case err != nil && strings.Contains(v.text(), "next_page_token"):
		s.im.remark(v.line(), s.called, "the parameter %s is left out: it says which page, as page does", name)
	case err != nil:
		return cannot(v, "the parameter %s: %s", name, err)
	case text != "":
		s.query.put(name, text)
	}
	return nil
}

func (s *stream) headed(n node) error {
	var first error
	n.each(func(name string, v node) {
		if low := strings.ToLower(name); first != nil || low == "accept" || low == "content-type" || low == "user-agent" {
			return
		}
		if config, prefix, ok := s.secret(v); ok && !s.auth.is() {
			s.auth = auth{header: name, prefix: prefix}
			s.im.remark(v.line(), s.called, "config.%s in the header %s is taken for the credential", config, name)
			return
		}
		text, err := s.template(v, false)
		if err != nil {
			first = cannot(v, "the header %s: %s", name, err)
			return
		}
		if text != "" {
			s.headers.put(name, text)
		}
	})
	return first
}

// posted translates a body of JSON.
func (s *stream) posted(q node) error {
	n := q.get("request_body_json")
	if body := q.get("request_body"); body.is() {
		if kind := body.kind(); kind != "RequestBodyJsonObject" && kind != "RequestBodyGraphQL" {
			return cannot(body, "a body that is %s cannot be told, only one of JSON", shorten(kind))
		}
		n = body.get("value")
	}
	if data := q.get("request_body_data"); data.is() {
		return cannot(data, "a body that is a form cannot be told, only one of JSON")
	}
	if n.scalar() {
		return cannot(n, "its body is one text, and not an object")
	}
	var first error
	n.each(func(name string, v node) {
		if first != nil || !v.is() {
			return
		}
		text, err := s.template(v, false)
		switch {
		case !v.scalar():
			first = cannot(v, "its body has objects or lists within it (%s), which cannot be told", name)
		case errors.Is(err, errWindow):
			s.im.remark(v.line(), s.called, "%s of the body is left out: %s", name, err)
		case err != nil:
			first = cannot(v, "%s of the body: %s", name, err)
		case v.bare():
			s.body.put(name, "{"+v.text()+"}")
		default:
			s.body.put(name, text)
		}
	})
	return first
}
