package declared

import (
	"strings"
	"time"

	"sluice/internal/ration"
)

// auth is how a call shows its credential.
type auth struct {
	// header, with prefix, or query holds it; basic says that it is name:password.
	header, prefix, query string
	basic                 bool
	// login gives tokens for the credential; nil where it is shown itself.
	login *login
	// when is whether it is this one, of several; nil if it is in any case.
	when *expression
}

// login is a call that gives a token for a credential.
type login struct {
	url *template
	// grant is that of OAuth2, "" for a session.
	grant string
	// inHeader says that a client shows itself by Authorization: Basic.
	inHeader bool
	// fields are posted, as an object of JSON for a session and as a form for OAuth2.
	fields, headers []pair
	token           place
	expires         ration.Field
	lasts           time.Duration
	// parts is how many parts the credential has at least.
	parts int
}

// The grants of OAuth2.
const (
	grantClient  = "client_credentials"
	grantRefresh = "refresh_token"
)

func (a *auth) none() bool { return a.header == "" && a.query == "" }

// wants says of how many parts the credential is at least.
func (a *auth) wants() int {
	switch {
	case a.login != nil:
		return a.login.parts
	case a.basic:
		return 2
	}
	return 1
}

// written is how the credential is written, for people.
func (a *auth) written() string {
	switch {
	case a.login != nil && a.login.grant == grantClient:
		return "CLIENT:SECRET"
	case a.login != nil && a.login.grant == grantRefresh:
		return "CLIENT:SECRET:REFRESH"
	}
	return "NAME:PASSWORD"
}

func (l *loader) auths(n node) {
	all := n.get("one_of").items()
	if len(all) == 0 {
		l.file.auths = []auth{l.auth(n)}
		return
	}
	for _, name := range authKeys() {
		if other := n.get(name.name); other.is() {
			other.wrong("write it as one of them", "one_of has all ways")
		}
	}
	for i, one := range all {
		a := l.auth(one)
		known := names{"config": l.names()["config"], "parts": 0}
		if a.when = l.condition(one.get("if"), known); a.when == nil && i < len(all)-1 && !one.get("if").is() {
			one.wrong("give if, or put it last", "it always holds, so that those behind it never do")
		}
		l.file.auths = append(l.file.auths, a)
	}
}

func (l *loader) auth(n node) auth {
	word := n.text()
	if typ := n.get("type"); typ.is() {
		word = typ.text()
		if n.get("header").is() || n.get("query").is() || n.get("oauth2").is() || n.get("session").is() {
			typ.wrong("leave it out, or leave out the others", "type says all that there is to say")
		}
	}
	switch {
	case word == "bearer":
		return auth{header: "Authorization", prefix: "Bearer "}
	case word == "basic":
		return auth{header: "Authorization", prefix: "Basic ", basic: true}
	case word != "" || !n.is():
		return auth{}
	}
	a := auth{header: n.get("header").text(), prefix: n.get("prefix").text(), query: n.get("query").text()}
	a.login = l.login(n)
	if a.login != nil && a.login.grant != "" && a.none() {
		a.header, a.prefix = "Authorization", "Bearer "
	}
	switch {
	case a.header != "" && a.query != "" || a.none():
		n.wrong("give header: NAME, or query: NAME where there is no header for it", "it must say where the credential goes")
	case a.prefix != "" && a.header == "":
		n.wrong("leave it out", "a prefix is for a header")
	case a.header != "" && !headerName(a.header):
		n.wrong("give one such as Authorization or X-Api-Key", "%q cannot be a header", a.header)
	}
	if unsendable(a.prefix) {
		n.get("prefix").wrong("write it on one line", "it has characters that no header can hold")
	}
	return a
}

// login reads how a token is had, nil if there is none.
func (l *loader) login(n node) *login {
	oauth, session := n.get("oauth2"), n.get("session")
	if oauth.is() && session.is() {
		session.wrong("leave one of them out", "a token comes by OAuth2 or by signing in")
	}
	known := names{"config": l.names()["config"], "target": ""}
	switch {
	case oauth.is():
		in := &login{
			url: l.template(oauth.get("token"), known), grant: oauth.get("grant").text(), inHeader: oauth.get("client").text() == "header",
			token: place{body: "access_token"}, expires: ration.Field{Body: "expires_in", As: ration.Delta}, lasts: oauth.get("lasts").duration(), parts: 2,
		}
		if in.grant == grantRefresh {
			in.parts = 3
		}
		if scope := oauth.get("scope"); scope.is() {
			in.fields = append(in.fields, pair{"scope", l.template(scope, known)})
		}
		oauth.get("params").each(func(name string, value node) { in.fields = append(in.fields, pair{name, l.template(value, known)}) })
		return in
	case session.is():
		withSecret := known.with(names{"secret": "", "name": "", "password": ""})
		in := &login{url: l.template(session.get("post"), known), token: l.place(session.get("token")), lasts: session.get("lasts").duration(), parts: 1}
		session.get("body").each(func(name string, value node) {
			in.fields = append(in.fields, pair{name, l.template(value, withSecret)})
		})
		session.get("headers").each(func(name string, value node) {
			in.headers = append(in.headers, pair{name, l.header(name, value, withSecret)})
		})
		if e := session.get("expires"); e.is() {
			in.expires = ration.Field{Header: e.get("header").text(), Body: l.path(e.get("body")), As: ration.Form(e.get("as").text())}
		}
		l.secrets(in, session)
		return in
	}
	return nil
}

// secrets finds out of how many parts the credential of a session is.
func (l *loader) secrets(in *login, n node) {
	reads := map[string][]string{}
	for _, p := range append(append([]pair{}, in.fields...), in.headers...) {
		p.made.reads(reads)
	}
	if len(reads["name"])+len(reads["password"]) > 0 {
		in.parts = 2
	}
	if len(reads["name"])+len(reads["password"])+len(reads["secret"]) == 0 {
		n.wrong("put {secret}, or {name} and {password}, into body or headers", "signing in does not show the credential")
	}
}

// header reads a header of calls.
func (l *loader) header(name string, n node, known names) *template {
	t := l.template(n, known)
	if !headerName(name) {
		n.wrong("give one such as Accept or X-Version", "%q cannot be a header", name)
	}
	if t != nil && t.anyText(unsendable) {
		n.wrong("write it on one line", "it has characters that no header can hold")
	}
	return t
}

// unsendable says whether a header cannot hold a text.
func unsendable(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}

// anyText says whether something holds for any of what stands outside expressions.
func (t *template) anyText(is func(string) bool) bool {
	for _, p := range t.parts {
		if p.made == nil && is(p.text) {
			return true
		}
	}
	return false
}
