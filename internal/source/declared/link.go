package declared

import (
	"net/http"
	"strings"
)

// linkOf is the target of a relation in the Link headers (RFC 8288).
func linkOf(h http.Header, rel string) string {
	for _, value := range h.Values("Link") {
		for len(value) > 0 {
			open := strings.IndexByte(value, '<')
			if open < 0 {
				break
			}
			end := strings.IndexByte(value[open:], '>')
			if end < 0 {
				break
			}
			target := value[open+1 : open+end]
			value = value[open+end+1:]
			params := value
			if comma := strings.Index(value, ",<"); comma >= 0 {
				params = value[:comma]
			} else if comma := strings.Index(value, ", <"); comma >= 0 {
				params = value[:comma]
			}
			for _, param := range strings.Split(params, ";") {
				name, text, _ := strings.Cut(strings.TrimSpace(strings.TrimRight(param, ", ")), "=")
				if strings.EqualFold(strings.TrimSpace(name), "rel") && relates(text, rel) {
					return target
				}
			}
			value = value[len(params):]
		}
	}
	return ""
}

func relates(text, rel string) bool {
	for _, one := range strings.Fields(strings.Trim(strings.TrimSpace(text), `"`)) {
		if strings.EqualFold(one, rel) {
			return true
		}
	}
	return false
}
