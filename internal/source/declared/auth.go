package declared

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"sluice/internal/domain"
	"sluice/internal/quota"
	"sluice/internal/ration"
	"sluice/internal/ration/keeper"
	"sluice/internal/source"
)

// authOf is how a credential is shown: of several ways the first whose condition holds.
func (s *Source) authOf(credential string) (*auth, error) {
	for i := range s.file.auths {
		a := &s.file.auths[i]
		if a.when == nil {
			return a, nil
		}
		holds, err := a.when.bool(map[string]any{"config": s.config, "parts": strings.Count(credential, ":") + 1})
		if err != nil {
			return nil, err
		}
		if holds {
			return a, nil
		}
	}
	return nil, fmt.Errorf("none of the ways of auth.one_of is for what is set; set what one of them asks for in if")
}

// parts are those of a credential, as signing in names them.
func (a *auth) parts(credential string) map[string]any {
	name, password, _ := strings.Cut(credential, ":")
	return map[string]any{"secret": credential, "name": name, "password": password}
}

// authorise shows the credential, or the token that was given for it.
func (c *call) authorise(req *http.Request) {
	shown := c.Token
	switch {
	case c.token != nil:
		shown = c.token.value
	case c.auth.basic:
		shown = base64.StdEncoding.EncodeToString([]byte(shown))
	}
	switch {
	case c.auth.header != "":
		req.Header.Set(c.auth.header, c.auth.prefix+shown)
	case c.auth.query != "":
		q := req.URL.Query()
		q.Set(c.auth.query, shown)
		req.URL.RawQuery = q.Encode()
	}
}

// signing is a call that may need a token before it can be made.
type signing struct{ *call }

// admitted gives the call a token, where the upstream wants one. A call that finds none
// asks for it instead of making its own, and comes back: one Call is one call, and what
// it draws on is counted for what it was.
func (c signing) admitted(ctx context.Context) *source.Result {
	if c.auth.login == nil {
		return nil
	}
	if ctx.Err() != nil {
		return c.s.stopped(true)
	}
	c.session = c.s.sessions.of(c.Run.Login+" "+c.Token, c.s.opt.Now())
	given, mine, failed := c.session.take(ctx, c.s.opt.Now)
	switch {
	case given != nil:
		c.token = given
		return nil
	case failed != nil:
		// Somebody else's call: this one made none.
		res := copied(failed)
		res.Free, res.Quota = true, quota.Response{}
		return res
	case mine == nil:
		return c.s.stopped(true)
	}
	res, given, refresh := c.logIn(ctx)
	switch {
	case given != nil:
		c.session.settle(mine, given, refresh, nil)
	case ctx.Err() != nil:
		c.session.settle(mine, nil, "", nil)
	default:
		c.session.settle(mine, nil, "", copied(res))
	}
	return res
}

// copied is a failure of somebody's own.
func copied(res *source.Result) *source.Result {
	own, why := *res, *res.Failure
	own.Failure = &why
	return &own
}

// signedIn gives a call a token that it asks for if there is none, and says why it has
// none.
func (c signing) signedIn(ctx context.Context) *domain.Failure {
	instead := c.admitted(ctx)
	if instead != nil && instead.Failure == nil {
		instead = c.admitted(ctx)
	}
	if instead == nil {
		return nil
	}
	return instead.Failure
}

// logIn asks for a token.
func (c signing) logIn(ctx context.Context) (*source.Result, *token, string) {
	req, err := c.loginRequest()
	if err != nil {
		res := refuse("%s", err)
		return &res, nil, ""
	}
	a, none := c.s.fetch(ctx, req)
	if none != nil {
		return none, nil, ""
	}
	res := source.Result{Verdict: source.Wait, Quota: quota.Response{Date: a.date, Told: c.toldOfLogin(req, a)}}
	if wait, hit := c.s.file.Park.Hit(a.ration()); hit {
		told := res.Quota
		res = limited(wait, "%s asks to be left alone where tokens are given (%d)", c.s.file.Title, a.status)
		res.Quota.Date, res.Quota.Told = told.Date, told.Told
		return &res, nil, ""
	}
	switch {
	case a.status == http.StatusBadRequest, a.status == http.StatusUnauthorized, a.status == http.StatusForbidden:
		res.Verdict, res.Failure = source.PauseAccount, failure(domain.FailureCredential, "%s gives no token for the credential of %s (%d%s); give another one",
			c.s.file.Title, c.Run.Login, a.status, c.refusal(a))
		return &res, nil, ""
	case a.status/100 != 2:
		res.Verdict, res.Failure = source.Retry, failure(domain.FailureServer, "%s gives no token (%d%s)", c.s.file.Title, a.status, c.refusal(a))
		return &res, nil, ""
	}
	in := c.auth.login
	value := textAt(a.json, in.token.body)
	if in.token.header != "" {
		value = a.header.Get(in.token.header)
	}
	if value == "" || unsendable(value) {
		res.Verdict, res.Failure = source.Retry, failure(domain.FailureMalformed, "%s answers without a token that a header can hold; is auth right about where it is?", c.s.file.Title)
		return &res, nil, ""
	}
	refresh := ""
	if in.grant == grantRefresh {
		refresh = textAt(a.json, "refresh_token")
	}
	return &res, &token{value: value, until: c.until(a)}, refresh
}

// refusal is what an upstream says of why it gives no token.
func (c signing) refusal(a *answer) string {
	for _, path := range []string{"error_description", "error.message", "error", "message"} {
		if text := textAt(a.json, path); text != "" {
			return " " + shorten(text, 200)
		}
	}
	return ""
}

// until is when another token is asked for: some time before this one's end.
func (c signing) until(a *answer) time.Time {
	in := c.auth.login
	life := in.lasts
	if text := in.expires.Text(a.ration()); text != "" {
		if end, err := ration.ParseInstant(text, in.expires.As, a.came); err == nil && end.After(a.came) {
			life = end.Sub(a.came)
		}
	}
	if life <= 0 {
		return time.Time{}
	}
	return a.asked.Add(life - min(life/10, time.Minute))
}

// loginRequest is the call that asks for a token. Secrets are in its body or headers,
// and never in its address.
func (c signing) loginRequest() (*http.Request, error) {
	in, env := c.auth.login, map[string]any{"config": c.s.config, "target": c.Run.Login}
	named, err := in.url.address(env)
	if err != nil {
		return nil, err
	}
	at, err := c.loginAddress(named)
	if err != nil {
		return nil, err
	}
	req := &http.Request{Method: http.MethodPost, URL: at, Host: at.Host, Header: http.Header{}}
	req.Header.Set("User-Agent", c.s.opt.UserAgent)
	req.Header.Set("Accept", "application/json")
	for name, v := range c.auth.parts(c.Token) {
		env[name] = v
	}
	for _, h := range in.headers {
		value, err := h.made.render(env)
		if err != nil || unsendable(value) {
			return nil, fmt.Errorf("the header %s of signing in has characters that no header can hold, or reads what is not there", h.name)
		}
		req.Header.Set(h.name, value)
	}
	body, err := c.loginBody(req, env)
	if err != nil {
		return nil, err
	}
	req.Body, req.ContentLength = unrepeatable{bytes.NewReader(body)}, int64(len(body))
	return req, nil
}

// loginAddress is where tokens are given. It may be at another host than all else, but
// where the base was replaced, credentials go to none that was not.
func (c signing) loginAddress(named string) (*url.URL, error) {
	if strings.HasPrefix(named, "/") {
		return c.resolve(named)
	}
	u, err := url.Parse(named)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil {
		return nil, fmt.Errorf("where auth asks for tokens is not an address")
	}
	if c.s.opt.Base != "" {
		u.Scheme, u.Host = c.base.Scheme, c.base.Host
	}
	return u, nil
}

func (c signing) loginBody(req *http.Request, env map[string]any) ([]byte, error) {
	in := c.auth.login
	fields := map[string]any{}
	for _, p := range in.fields {
		value, err := p.made.value(env)
		if err != nil {
			return nil, fmt.Errorf("%q of what is posted for a token cannot be made", p.name)
		}
		fields[p.name] = value
	}
	if in.grant == "" {
		req.Header.Set("Content-Type", "application/json")
		return json.Marshal(fields)
	}
	form := url.Values{"grant_type": {in.grant}}
	for name, v := range fields {
		text, _ := plain(v)
		form.Set(name, text)
	}
	parts := append(strings.SplitN(c.Token, ":", in.parts), "", "", "")
	if in.inHeader {
		req.SetBasicAuth(url.QueryEscape(parts[0]), url.QueryEscape(parts[1]))
	} else {
		form.Set("client_id", parts[0])
		form.Set("client_secret", parts[1])
	}
	if in.grant == grantRefresh {
		form.Set("refresh_token", parts[2])
		if given := c.session.next(); given != "" {
			form.Set("refresh_token", given)
		}
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return []byte(form.Encode()), nil
}

// toldOfLogin is what a call for a token drew on: what names it by match, and nothing
// else.
func (c signing) toldOfLogin(req *http.Request, a *answer) []keeper.Answer {
	all := make([]keeper.Answer, 0, 4)
	for _, r := range c.s.drawing.byJob[c.Job.Type] {
		if len(r.Match) > 0 && r.Applies(req.Method, c.below(req.URL), loginStream) {
			all = append(all, readingOf(r, a.ration()))
			continue
		}
		all = append(all, keeper.Answer{Free: true})
	}
	return all
}

// loginStream is what rations of a stream call the calls for tokens.
const loginStream = "login"

// unauthorised is a 401: a token that was given may have ended before its time, of
// which another one tells; all else is for people to mend.
func (c *call) unauthorised(a *answer) source.Result {
	if c.token != nil && c.session.refuse(c.token) {
		return source.Result{Verdict: source.Wait}
	}
	return source.Result{Verdict: source.PauseAccount, Failure: failure(domain.FailureCredential,
		"%s does not accept the credential of %s (401%s); give another one", c.s.file.Title, c.Run.Login, c.said(a))}
}

// conceal takes secrets out of what people are told.
func (c *call) conceal(why *domain.Failure) {
	if why == nil || c.Token == Public {
		return
	}
	secrets := []string{c.Token}
	if c.auth != nil && c.auth.wants() > 1 {
		secrets = append(secrets, strings.Split(c.Token, ":")...)
	}
	if c.token != nil {
		secrets = append(secrets, c.token.value)
	}
	for _, secret := range secrets {
		if len(secret) > 3 {
			why.Message = strings.ReplaceAll(why.Message, secret, "[token]")
		}
	}
}
