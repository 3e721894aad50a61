package ration

import (
	"encoding/base64"
	"strconv"
	"strings"

	"sluice/internal/domain"
)

// A list of structured fields (RFC 9651), as far as the fields of rations need it:
// items with parameters, no inner lists.

// item is a member of a list: its value, and its parameters.
type item struct {
	value  bare
	params map[string]bare
}

// bare is a value: a text (string, token, bytes or display string), a number or a
// boolean.
type bare struct {
	text   string
	number float64
	yes    bool
	kind   bareKind
}

type bareKind uint8

const (
	bareText bareKind = iota + 1
	bareNumber
	bareBoolean
)

var errStructured = domain.Errorf(domain.CodeInvalid, "it is not a list of structured fields (RFC 9651)")

// scanner reads a list from its beginning.
type scanner struct {
	text string
	at   int
}

// mostItems bounds what is read of one header.
const mostItems = 64

// parseList reads a list.
func parseList(text string) ([]item, error) {
	s := &scanner{text: text}
	var items []item
	s.spaces(" ")
	if s.done() {
		return nil, nil
	}
	for {
		one, ok := s.item()
		if !ok || len(items) == mostItems {
			return nil, errStructured
		}
		items = append(items, one)
		s.spaces(" \t")
		if s.done() {
			return items, nil
		}
		if !s.take(',') {
			return nil, errStructured
		}
		s.spaces(" \t")
		if s.done() {
			return nil, errStructured
		}
	}
}

func (s *scanner) done() bool { return s.at >= len(s.text) }

func (s *scanner) peek() byte {
	if s.done() {
		return 0
	}
	return s.text[s.at]
}

func (s *scanner) take(b byte) bool {
	if s.peek() != b || s.done() {
		return false
	}
	s.at++
	return true
}

func (s *scanner) spaces(which string) {
	for !s.done() && strings.IndexByte(which, s.text[s.at]) >= 0 {
		s.at++
	}
}

func (s *scanner) item() (item, bool) {
	value, ok := s.bare()
	if !ok {
		return item{}, false
	}
	one := item{value: value, params: map[string]bare{}}
	for s.take(';') {
		s.spaces(" ")
		name, ok := s.key()
		if !ok || len(one.params) == mostItems {
			return item{}, false
		}
		param := bare{yes: true, kind: bareBoolean}
		if s.take('=') {
			if param, ok = s.bare(); !ok {
				return item{}, false
			}
		}
		one.params[name] = param
	}
	return one, true
}

func (s *scanner) key() (string, bool) {
	from := s.at
	for !s.done() {
		b := s.text[s.at]
		first := lower(b) || b == '*'
		if !first && (s.at == from || !digit(b) && b != '_' && b != '-' && b != '.') {
			break
		}
		s.at++
	}
	return s.text[from:s.at], s.at > from
}

func (s *scanner) bare() (bare, bool) {
	switch b := s.peek(); {
	case s.done():
		return bare{}, false
	case b == '"':
		return s.quoted()
	case b == '-' || digit(b):
		return s.number()
	case b == '?':
		s.at++
		yes := s.peek() == '1'
		if !yes && s.peek() != '0' || s.done() {
			return bare{}, false
		}
		s.at++
		return bare{yes: yes, kind: bareBoolean}, true
	case b == ':':
		return s.bytes()
	case b == '@':
		s.at++
		return s.number()
	case b == '%':
		s.at++
		return s.quoted()
	case lower(b) || b >= 'A' && b <= 'Z' || b == '*':
		return s.token(), true
	}
	return bare{}, false
}

func (s *scanner) quoted() (bare, bool) {
	if !s.take('"') {
		return bare{}, false
	}
	var text strings.Builder
	for !s.done() {
		b := s.text[s.at]
		s.at++
		switch {
		case b == '"':
			return bare{text: text.String(), kind: bareText}, true
		case b == '\\':
			if b = s.peek(); b != '"' && b != '\\' || s.done() {
				return bare{}, false
			}
			s.at++
		case b < 0x20 || b > 0x7e:
			return bare{}, false
		}
		text.WriteByte(b)
	}
	return bare{}, false
}

func (s *scanner) number() (bare, bool) {
	from := s.at
	s.take('-')
	digits, point := 0, -1
	for !s.done() && (digit(s.text[s.at]) || s.text[s.at] == '.' && point < 0 && digits > 0) {
		if s.text[s.at] == '.' {
			point = digits
		} else {
			digits++
		}
		s.at++
	}
	// At most 15 digits; with a point 12 before it, and one to three behind it.
	if digits == 0 || digits > 15 || point > 12 || point >= 0 && (digits == point || digits-point > 3) {
		return bare{}, false
	}
	n, err := strconv.ParseFloat(s.text[from:s.at], 64)
	return bare{number: n, kind: bareNumber}, err == nil
}

func (s *scanner) bytes() (bare, bool) {
	s.at++
	length := strings.IndexByte(s.text[s.at:], ':')
	if length < 0 {
		return bare{}, false
	}
	raw := s.text[s.at : s.at+length]
	s.at += length + 1
	if _, err := base64.StdEncoding.DecodeString(raw); err != nil {
		return bare{}, false
	}
	return bare{text: raw, kind: bareText}, true
}

func (s *scanner) token() bare {
	from := s.at
	for !s.done() && (strings.IndexByte("!#$%&'*+-.^_`|~:/", s.text[s.at]) >= 0 || digit(s.text[s.at]) || lower(s.text[s.at]|0x20)) {
		s.at++
	}
	return bare{text: s.text[from:s.at], kind: bareText}
}

func digit(b byte) bool { return b >= '0' && b <= '9' }

func lower(b byte) bool { return b >= 'a' && b <= 'z' }
