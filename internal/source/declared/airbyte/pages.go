package airbyte

import (
	"strconv"
	"strings"
)

// pages translates how pages follow each other.
func (s *stream) pages(n node) error {
	if !n.is() || n.kind() == "NoPagination" {
		return nil
	}
	if kind := n.kind(); kind != "DefaultPaginator" && kind != "" {
		return cannot(n, "there is nothing like %s", shorten(kind))
	}
	strategy, token := n.get("pagination_strategy"), n.get("page_token_option")
	s.page = flow()
	param := token.get("field_name").text()
	into := token.get("inject_into").text()
	switch {
	case token.kind() == "RequestPath" || !token.is():
		param = ""
	case param == "":
		return cannot(token, "the page is told at a place within the body, which cannot be told")
	case into == "header" || into == "body_data":
		return cannot(token, "the page is told in %s, which cannot be told", into)
	case s.post != (into == "body_json"):
		return cannot(token, "a call that posts tells its page in the body of JSON, one that gets in a parameter")
	}
	switch kind := strategy.kind(); kind {
	case "PageIncrement":
		start := strategy.get("start_from_page").text()
		s.page.set("type", "page").set("param", param).put("start", number(start))
		return s.size(n, strategy, "")
	case "OffsetIncrement":
		s.page.set("type", "offset").set("param", param)
		return s.size(n, strategy, "limit")
	case "CursorPagination":
		return s.following(n, strategy, param)
	default:
		return cannot(strategy, "there is nothing like %s", shorten(kind))
	}
}

func number(text string) int {
	n, _ := strconv.Atoi(text)
	return n
}

// size translates how large a page is. An offset needs one: guess names the parameter
// where the manifest does not.
func (s *stream) size(n, strategy node, guess string) error {
	at := strategy.get("page_size")
	size := s.count(at)
	param := n.get("page_size_option").get("field_name").text()
	if into := n.get("page_size_option").get("inject_into").text(); param != "" && into != "request_parameter" && into != "body_json" {
		return cannot(n.get("page_size_option"), "the size of a page is told in %s, which cannot be told", shorten(into))
	}
	for _, name := range s.query.keys {
		if text, _ := s.query.get(name).(string); param == "" && size > 0 && text == strconv.Itoa(size) {
			param = name
		}
	}
	if param == "" && guess != "" {
		param = guess
		s.im.remark(strategy.line(), s.called, "it does not name the parameter of a page's size; %s is taken for it: check that", guess)
	}
	if param == "" {
		return nil
	}
	if size <= 0 {
		if guess == "" && !at.is() {
			return nil
		}
		size = 100
		s.im.remark(strategy.line(), s.called, "it does not say how large a page is; 100 is taken for it: check that")
	}
	s.query.remove(param)
	s.body.remove(param)
	s.page.set("size", flow().put(param, size))
	return nil
}

// count is a number, or the default of the config's value that stands for it.
func (s *stream) count(n node) int {
	if i, err := strconv.Atoi(n.text()); err == nil {
		return i
	}
	v, err := s.expression(n)
	if err != nil {
		return 0
	}
	if name, ok := strings.CutPrefix(v.text, "config."); ok && s.im.config[name] != nil {
		return number(s.im.config[name].value)
	}
	return number(v.text)
}

// following translates a token that an answer names.
func (s *stream) following(n, strategy node, param string) error {
	at := strategy.get("cursor_value")
	root, path, err := s.place(at)
	if err != nil {
		return cannot(at, "the token of the next page: %s", err)
	}
	s.page.set("type", "cursor").set("param", param)
	switch low := strings.ToLower(strings.Join(path, ".")); {
	case root == "headers" && strings.HasPrefix(low, "link"):
		s.page = flow().set("type", "link")
		if len(path) > 1 && path[1] != "next" {
			s.page.set("rel", path[1])
		}
	case root == "headers" && len(path) == 1:
		s.page.set("next", flow().set("header", path[0]))
	case root == "response" && len(path) > 0:
		s.page.set("next", strings.Join(path, "."))
	case root == "last_record" && len(path) > 0 && param != "":
		s.page = flow().set("type", "keyset").set("param", param).set("by", strings.Join(path, "."))
	default:
		return cannot(at, "the token of the next page is made up of %s, which cannot be told", shorten(described(at)))
	}
	if stop := strategy.get("stop_condition"); stop.is() {
		s.stop(stop, path)
	}
	return s.size(n, strategy, "")
}

// place is the place that a text names.
func (s *stream) place(n node) (root string, path []string, err error) {
	all, err := pieces(n.text())
	if err != nil {
		return "", nil, err
	}
	if len(all) != 1 || !all[0].made {
		return "", nil, errNotSaid
	}
	v, err := translate(all[0].text, answered(n))
	if err == nil && v.root == "" {
		err = errNotSaid
	}
	return v.root, v.path, err
}

// answered is what names mean where an answer is at hand.
func answered(n node) scope {
	return scope{name: func(root string, path []string) (value, error) {
		switch root {
		case "response", "headers", "last_record", "last_page_size", "decoded_response":
			return value{text: dotted(root, path), root: root, path: path}, nil
		case "last_records":
			if len(path) > 0 && (path[0] == "-1") {
				path = path[1:]
			}
			return value{text: dotted("last_record", path), root: "last_record", path: path}, nil
		case "parameters":
			if len(path) == 1 && n.params[path[0]].scalar() {
				return literal(n.params[path[0]].text()), nil
			}
		}
		return value{}, errNotSaid
	}}
}

// stop translates when a walk is at its end. Without more it is where there is no
// token.
func (s *stream) stop(n node, token []string) {
	all, err := pieces(n.text())
	if err == nil && len(all) == 1 {
		text := strings.TrimSpace(all[0].text)
		inner, negated := strings.CutPrefix(text, "not ")
		if !negated {
			for _, end := range []string{"== false", "== False", "is false", "== none", "is none", "== None", "== ''", `== ""`} {
				if cut, ok := strings.CutSuffix(text, end); ok {
					inner, negated = cut, true
				}
			}
		}
		v, err := translate(inner, answered(n))
		named := strings.Join(v.path, ".")
		switch {
		case err != nil || !negated || v.root == "":
		case v.root == "headers", v.root == "last_record", named == strings.Join(token, "."), strings.HasPrefix(strings.Join(token, "."), named):
			return
		case v.root == "response":
			s.page.set("more", named)
			return
		}
	}
	s.im.remark(n.line(), s.called, "a walk ends where there is no further token, not by %s", shorten(described(n)))
}
