package github

import (
	"net/url"
	"strconv"
	"strings"
)

// linkRel returns the address that a Link header gives for a relation, such as
// next; empty if there is none.
func linkRel(header, rel string) string {
	for header != "" {
		open := strings.IndexByte(header, '<')
		end := strings.IndexByte(header, '>')
		if open < 0 || end < open {
			return ""
		}
		address := header[open+1 : end]
		header = header[end+1:]
		attributes := header
		if next := strings.IndexByte(header, '<'); next >= 0 {
			attributes = header[:next]
		}
		if hasRel(attributes, rel) {
			return address
		}
	}
	return ""
}

func hasRel(attributes, rel string) bool {
	for attribute := range strings.FieldsFuncSeq(attributes, func(r rune) bool { return r == ';' || r == ',' }) {
		name, value, _ := strings.Cut(strings.TrimSpace(attribute), "=")
		if !strings.EqualFold(strings.TrimSpace(name), "rel") {
			continue
		}
		for word := range strings.FieldsSeq(strings.Trim(strings.TrimSpace(value), `"`)) {
			if strings.EqualFold(word, rel) {
				return true
			}
		}
	}
	return false
}

// pageNumber returns the page parameter of an address, 0 if it has none.
func pageNumber(address string) int {
	u, err := url.Parse(address)
	if err != nil {
		return 0
	}
	n, err := strconv.Atoi(u.Query().Get("page"))
	if err != nil {
		return 0
	}
	return max(n, 0)
}
