package airbyte

import (
	"strings"
)

// auth is how calls show their credential.
type auth struct {
	header, prefix, query string
	bearer, basic         bool
}

func (a auth) is() bool { return a != auth{} }

// key tells credentials apart, "" for none.
func (a auth) key() string {
	switch {
	case a.bearer:
		return "bearer"
	case a.basic:
		return "basic"
	case a.query != "":
		return "the parameter " + a.query
	case a.header != "":
		return "the header " + a.header + " " + a.prefix
	}
	return "none"
}

func (a auth) write(top *object) {
	switch {
	case a.bearer:
		top.set("auth", "bearer")
	case a.basic:
		top.set("auth", "basic")
	case a.is():
		top.set("auth", flow().set("header", a.header).set("prefix", a.prefix).set("query", a.query))
	}
}

// secret finds out whether a text is a secret of the config, with what stands before
// it.
func (s *stream) secret(n node) (name, prefix string, ok bool) {
	all, err := pieces(n.text())
	if err != nil || len(all) == 0 || len(all) > 2 || !all[len(all)-1].made {
		return "", "", false
	}
	if len(all) == 2 {
		prefix = all[0].text
	}
	made := ""
	_, err = translate(all[len(all)-1].text, scope{name: func(root string, path []string) (value, error) {
		if root != "config" || len(path) == 0 || made != "" {
			return value{}, errNotSaid
		}
		if name, set := s.im.setting(path); set.secret {
			made = name
			return value{text: "config." + name, root: "config"}, nil
		}
		return value{}, errNotSaid
	}})
	return made, prefix, err == nil && made != "" && !all[0].made == (len(all) == 2)
}

// authenticate translates how calls show their credential.
func (s *stream) authenticate(n node) error {
	switch kind := n.kind(); kind {
	case "", "NoAuth":
		return nil
	case "BearerAuthenticator":
		s.auth = auth{bearer: true}
	case "BasicHttpAuthenticator":
		s.auth = auth{basic: true}
		s.im.remark(n.line(), "", "the credential is NAME:PASSWORD, where NAME is %s and PASSWORD is %s", described(n.get("username")), described(n.get("password")))
	case "ApiKeyAuthenticator":
		return s.apiKey(n)
	case "OAuthAuthenticator":
		s.auth = auth{bearer: true}
		s.im.remark(n.line(), "", "OAuth2 is not there: the credential is an access token that somebody else renews")
	case "SelectiveAuthenticator":
		return s.choose(n)
	case "SessionTokenAuthenticator":
		s.im.remark(n.line(), "", "signing in for a session is not there: the credential is a token of a session that somebody else begins")
		if use := n.get("request_authentication"); use.kind() == "ApiKey" {
			return s.apiKey(use)
		}
		s.auth = auth{bearer: true}
	default:
		return cannot(n, "a credential by %s cannot be told", shorten(kind))
	}
	return nil
}

func described(n node) string {
	if n.text() == "" {
		return "empty"
	}
	return strings.TrimSpace(strings.NewReplacer("{{", "", "}}", "").Replace(shorten(n.text())))
}

func (s *stream) apiKey(n node) error {
	a := auth{header: n.get("header").text()}
	if into := n.get("inject_into"); into.is() {
		name := into.get("field_name").text()
		switch place := into.get("inject_into").text(); place {
		case "header":
			a = auth{header: name}
		case "request_parameter":
			a = auth{query: name}
		default:
			return cannot(into, "a credential that goes into %s cannot be told", shorten(place))
		}
	}
	all, err := pieces(n.get("api_token").text())
	switch {
	case err != nil || len(all) > 2 || len(all) == 2 && (all[0].made || a.query != ""):
		return cannot(n, "its credential is made up of several parts")
	case len(all) == 2:
		a.prefix = all[0].text
	}
	if a.header == "" && a.query == "" {
		return cannot(n, "it does not say where the credential goes")
	}
	s.auth = a
	return nil
}

// choose takes the first of several credentials that can be told, one that does not
// need OAuth2 if there is one.
func (s *stream) choose(n node) error {
	best, rank := "", 0
	n.get("authenticators").each(func(name string, one node) {
		r := 0
		switch one.kind() {
		case "BearerAuthenticator", "ApiKeyAuthenticator", "BasicHttpAuthenticator", "NoAuth":
			r = 2
		case "OAuthAuthenticator", "SessionTokenAuthenticator":
			r = 1
		}
		if r > rank {
			best, rank = name, r
		}
	})
	if best == "" {
		return cannot(n, "none of its credentials can be told")
	}
	s.im.remark(n.line(), "", "of several credentials %s is taken", best)
	return s.authenticate(n.get("authenticators").member(best))
}
