package airbyte

import (
	"strings"
)

// auth is how calls show their credential.
type auth struct {
	header, prefix, query string
	bearer, basic         bool
	// oauth is how tokens are had by OAuth2; nil where they are not.
	oauth *object
	// given tells the ways of OAuth2 apart.
	given string
}

func (a auth) is() bool { return a != auth{} }

// key tells credentials apart, "" for none.
func (a auth) key() string {
	switch {
	case a.oauth != nil:
		return "OAuth2 by " + a.given
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
	case a.oauth != nil:
		top.set("auth", flow().set("oauth2", a.oauth))
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
		s.oauth(n)
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

// oauth translates how tokens are had. What cannot be told becomes a token that somebody
// else renews.
func (s *stream) oauth(n node) {
	token, err := s.template(n.get("token_refresh_endpoint"), false)
	grant, credential := "refresh_token", "CLIENT:SECRET:REFRESH"
	if g := n.get("grant_type").text(); g == "client_credentials" || g == "" && !n.get("refresh_token").is() {
		grant, credential = "client_credentials", "CLIENT:SECRET"
	} else if g != "" && g != grant {
		err = errNotSaid
	}
	o := flow().set("token", token).set("grant", grant)
	var scopes []string
	for _, one := range n.get("scopes").items() {
		scopes = append(scopes, one.text())
	}
	o.set("scope", escaped(strings.Join(scopes, " ")))
	params := flow()
	n.get("refresh_request_body").each(func(name string, v node) {
		text, wrong := s.template(v, false)
		if wrong != nil || !v.scalar() {
			err = errNotSaid
			return
		}
		params.set(name, text)
	})
	o.set("params", params)
	n.get("refresh_request_headers").each(func(name string, _ node) {
		if strings.EqualFold(name, "Authorization") {
			o.set("client", "header")
		} else if !strings.EqualFold(name, "Content-Type") && !strings.EqualFold(name, "Accept") {
			err = errNotSaid
		}
	})
	for name, usual := range map[string]string{"access_token_name": "access_token", "client_id_name": "client_id", "client_secret_name": "client_secret", "refresh_token_name": "refresh_token", "grant_type_name": "grant_type"} {
		if other := n.get(name).text(); other != "" && other != usual {
			err = errNotSaid
		}
	}
	if err != nil || token == "" {
		s.auth = auth{bearer: true}
		s.im.remark(n.line(), "", "how tokens are had by OAuth2 cannot be told: the credential is an access token that somebody else renews")
		return
	}
	s.auth = auth{oauth: o, given: grant + " at " + token}
	s.im.remark(n.line(), "", "the credential is %s, where CLIENT is %s and SECRET is %s", credential, described(n.get("client_id")), described(n.get("client_secret")))
	if n.get("refresh_token_updater").is() {
		s.im.remark(n.line(), "", "the upstream gives another refresh token with every token: the last one is kept in memory only")
	}
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
