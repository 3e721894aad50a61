package declared

import (
	"net/url"
	"strconv"
	"strings"
)

// settled makes what a template comes to with the file's own values, for any target; ok
// is false where it speaks of anything else, or of a value that must be set.
func (l *loader) settled(t *template) (text string, ok bool) {
	if t == nil {
		return "", false
	}
	reads := map[string][]string{}
	t.reads(reads)
	env := map[string]any{"target": "target"}
	config := map[string]any{}
	for name, fields := range reads {
		if name != "config" && name != "target" {
			return "", false
		}
		for _, field := range fields {
			if name == "config" && l.file.Config[field] == "" {
				return "", false
			}
		}
	}
	for name, value := range l.file.Config {
		config[name] = value
	}
	env["config"] = config
	text, err := t.render(env)
	return text, err == nil
}

// baseAddress checks what addresses begin with.
func (l *loader) baseAddress(n node) {
	text, ok := l.settled(l.file.base)
	if !ok {
		return
	}
	if wrong := baseWrong(text); wrong != "" {
		n.wrong("give an address such as https://api.example.org/v2", "%s", wrong)
	}
}

// baseWrong says what is wrong with an address that others begin with, "" if nothing
// is.
func baseWrong(text string) string {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" && u.Opaque == "":
		return "it is not an address"
	case u.Scheme != "https" && u.Scheme != "http":
		return "only https:// and http:// can be asked"
	case u.User != nil:
		return "a credential does not stand in an address; see auth"
	case u.RawQuery != "" || u.Fragment != "":
		return "parameters do not stand in the base; see query"
	case strings.HasSuffix(u.Host, ":") || strings.Contains(u.Path, "//"):
		return "it has an address within the address; give values that stand for a host without https://"
	case u.Port() != "" && !isPort(u.Port()):
		return "there is no port " + u.Port()
	}
	return ""
}

func isPort(text string) bool {
	n, err := strconv.Atoi(text)
	return err == nil && n > 0 && n < 1<<16
}

// address reads an address of a request: below the base, or at its host.
func (l *loader) address(n node, known names) *template {
	t := l.template(n, known)
	if t == nil || len(t.parts) == 0 {
		return t
	}
	if dotted(t.outline()) {
		n.wrong("write it without . and .. between slashes", "it leads out of its path")
	}
	if t.anyText(func(text string) bool {
		return strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f })
	}) {
		n.wrong("write it on one line", "it has characters that no address can have")
		return t
	}
	begins := t.parts[0]
	if begins.made != nil {
		// What a record or a value of the file names is compared when it is asked.
		return t
	}
	if strings.HasPrefix(begins.text, "/") && !strings.HasPrefix(begins.text, "//") {
		return t
	}
	scheme, rest, whole := strings.Cut(begins.text, "://")
	if !whole || scheme != "https" && scheme != "http" {
		n.wrong("begin with /; what it is below is base", "%q is not an address", shorten(n.text(), 60))
		return t
	}
	host, _, _ := strings.Cut(rest, "/")
	base, ok := l.settled(l.file.base)
	if u, err := url.Parse(base); ok && err == nil && (!strings.EqualFold(host, u.Host) || scheme != u.Scheme) {
		n.wrong("write what is at another host into a file of its own", "it is at %s, and only %s is ever called: a credential must not go elsewhere", host, u.Host)
	}
	return t
}

// dotted says whether a path has a piece that leads out of it, also in the spelling of
// an address.
func dotted(path string) bool {
	path, _, _ = strings.Cut(path, "?")
	for piece := range strings.SplitSeq(path, "/") {
		if plain := strings.ReplaceAll(strings.ToLower(piece), "%2e", "."); plain == "." || plain == ".." {
			return true
		}
	}
	return false
}
