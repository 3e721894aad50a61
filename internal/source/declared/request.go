package declared

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"sluice/internal/source"
)

// call is one Call being carried out.
type call struct {
	source.Call
	operation
	s    *Source
	p    params
	base *url.URL
	// request is the way in which the stream is asked for.
	request *request
	// asked is the address that is asked, without credential.
	asked *url.URL
	// members is how many records the page had, those included that are not kept.
	members int
	// left is how many records of the page were left out; the first of them is leftWhich,
	// and leftWhy is why.
	left, leftWhich int
	leftWhy         string
	// tag is what the page was when it was read last; "" asks for it in any case.
	tag string
	// mark begins the names of cursors of the address, and arrived is since when it is the
	// account's, if that is to be noted.
	mark    string
	arrived time.Time
	// auth is how the credential is shown; session and token are what the upstream gave
	// for it, nil where it is shown itself.
	auth    *auth
	session *session
	token   *token
	// ended is the upstream's clock when it answered.
	ended time.Time
	// given are other values that the expressions of its request see.
	given map[string]any
}

// begin settles which walk it is. A walk's first page finds out what it asks since;
// the others carry it.
func (c *call) begin() (err error) {
	if c.auth, err = c.s.authOf(c.Token); err != nil || c.stream == nil {
		return err
	}
	if c.first() && c.p.Tag == "" && c.p.Since == 0 && c.mode != modeCount {
		c.p.Since = walk{c}.since()
	}
	if c.stream.window > 0 && c.mode == modeMain && c.p.Until == 0 {
		slicing{walk{c}}.slice()
	}
	switch {
	case c.mode == modeCount:
		c.request = c.stream.count
	case c.mode == modeSweep:
		c.request = c.stream.sweep
	case c.mode == modeAll, c.p.Since != 0 && c.stream.changes != nil:
		c.request = c.stream.changes
	default:
		c.request = c.stream.whole()
	}
	if c.request == nil {
		return fmt.Errorf("the stream %s has no such walk any more", c.stream.Name)
	}
	if c.Stored != nil && !c.p.Full && c.p.Tag == "" {
		c.tag = c.Stored.ETag
	}
	return nil
}

// first says whether this is the first page of its walk.
func (c *call) first() bool { return c.p.Page == 0 }

// env is what the expressions of a request see.
func (c *call) env() map[string]any {
	since, until := c.cursorText()
	env := map[string]any{"config": c.s.config, "target": c.Run.Login, "cursor": since, "until": until}
	for name, v := range c.given {
		env[name] = v
	}
	if c.stream == nil {
		return env
	}
	for _, p := range c.stream.ancestors() {
		fields := map[string]any{}
		for name, v := range c.p.Parents[p.Name] {
			fields[name] = v
		}
		env[p.Name] = fields
	}
	return env
}

// cursorText is the instant that a walk asks since, as the upstream wants it, and until
// when if it is asked for in slices.
func (c *call) cursorText() (since, until string) {
	if c.stream == nil {
		return "", ""
	}
	at, k := c.start(), &c.stream.cursor
	switch {
	case c.p.Until != 0:
		from, to := slicing{walk{c}}.bounds()
		return k.written(from), k.written(to)
	case c.p.Since != 0:
		at = unix(c.p.Since).Add(-k.overlap)
	}
	return k.written(at), ""
}

// httpRequest makes the request of the call.
func (c *call) httpRequest() (*http.Request, error) {
	env := c.env()
	address, err := c.address(env)
	if err != nil {
		return nil, err
	}
	c.asked = address
	method, body := http.MethodGet, []byte(nil)
	if c.request != nil {
		method = c.request.method
		if body, err = c.body(env); err != nil {
			return nil, err
		}
	}
	sent := *address
	req := &http.Request{Method: method, URL: &sent, Host: sent.Host, Header: http.Header{}, Body: unrepeatable{bytes.NewReader(body)}, ContentLength: int64(len(body))}
	if len(body) == 0 {
		req.ContentLength = 0
	} else {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("User-Agent", c.s.opt.UserAgent)
	req.Header.Set("Accept", "application/json")
	if c.stream != nil && c.stream.xml {
		req.Header.Set("Accept", "application/xml, text/xml, */*;q=0.5")
	}
	for _, h := range c.s.file.headers {
		value, err := h.made.render(env)
		if err != nil {
			return nil, err
		}
		if unsendable(value) {
			return nil, fmt.Errorf("the header %s has characters that no header can hold", h.name)
		}
		req.Header.Set(h.name, value)
	}
	if c.tag != "" {
		req.Header.Set("If-None-Match", c.tag)
	}
	c.authorise(req)
	return req, nil
}

// address is what is asked: the one that the last page named, or that of the file.
func (c *call) address(env map[string]any) (*url.URL, error) {
	if c.mode == modeOwner {
		text, err := c.s.file.owner.url.address(env)
		if err != nil {
			return nil, err
		}
		return c.resolve(text)
	}
	if named, ok := strings.CutPrefix(c.p.Pos, posURL); ok {
		return c.resolve(named)
	}
	text, err := c.request.url.address(env)
	if err != nil {
		return nil, err
	}
	u, err := c.resolve(text)
	if err != nil {
		return nil, err
	}
	// What is written in the address stays as it is written: some upstreams sign it,
	// or know their parameters by their order.
	var more url.Values = map[string][]string{}
	for _, p := range c.request.query {
		value, err := p.made.render(env)
		if err != nil {
			return nil, err
		}
		more.Set(p.name, value)
	}
	if c.request.method == http.MethodGet {
		for name, value := range c.position() {
			more.Set(name, value)
		}
	}
	if len(more) > 0 {
		u.RawQuery = strings.TrimPrefix(u.RawQuery+"&"+more.Encode(), "&")
	}
	return u, nil
}

// position are the parameters that say which page is asked for.
func (c *call) position() map[string]string {
	all := map[string]string{}
	p := &c.request.page
	if p.sizeParam != "" {
		all[p.sizeParam] = strconv.Itoa(p.size)
	}
	switch kind, value, _ := strings.Cut(c.p.Pos, ":"); {
	case kind == "n" || kind == "t":
		if p.param != "" {
			all[p.param] = value
		}
	case c.p.Pos == "" && p.counted():
		all[p.param] = strconv.Itoa(p.start)
	}
	return all
}

func (c *call) body(env map[string]any) ([]byte, error) {
	if c.request.method != http.MethodPost {
		return nil, nil
	}
	all := map[string]any{}
	for _, p := range c.request.body {
		value, err := p.made.value(env)
		if err != nil {
			return nil, err
		}
		all[p.name] = value
	}
	for name, value := range c.position() {
		if n, err := strconv.Atoi(value); err == nil {
			all[name] = n
			continue
		}
		all[name] = value
	}
	return json.Marshal(all)
}

// resolve makes an address of one that the file or an answer named. Only the host of
// the base is ever called: a credential goes nowhere else.
func (c *call) resolve(named string) (*url.URL, error) {
	if strings.HasPrefix(named, "/") && !strings.HasPrefix(named, "//") {
		named = strings.TrimRight(c.base.String(), "/") + named
	}
	u, err := url.Parse(named)
	switch {
	case err != nil || u.Host == "":
		return nil, fmt.Errorf("what the file makes is not an address: %s", shorten(c.withoutSecret(named), 200))
	case !strings.EqualFold(u.Host, c.base.Host) || u.Scheme != c.base.Scheme || u.User != nil:
		return nil, fmt.Errorf("the address is at %s, and only %s is ever called: a credential must not go elsewhere", shorten(u.Scheme+"://"+u.Host, 100), c.base.Host)
	}
	if dotted(u.EscapedPath()) {
		return nil, fmt.Errorf("the address has . or .. between slashes, which leads out of its path: %s", shorten(c.withoutSecret(u.String()), 200))
	}
	u.Fragment = ""
	return u, nil
}

// withoutSecret is an address without the parameter that holds the credential.
// Upstreams repeat it in the addresses that they name.
func (c *call) withoutSecret(address string) string {
	name := c.auth.query
	u, err := url.Parse(address)
	if name == "" || err != nil || !u.Query().Has(name) {
		return address
	}
	q := u.Query()
	q.Del(name)
	u.RawQuery = q.Encode()
	return u.String()
}
