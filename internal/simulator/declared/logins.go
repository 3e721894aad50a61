package declared

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"
)

// logins are the tokens that the upstream gave. Its mutex is a leaf.
type logins struct {
	mu     sync.Mutex
	given  map[string]given
	number int
}

// given is whose a token is, and when it ends.
type given struct {
	who string
	end time.Time
}

// tokenLife is how long a token lasts where the file does not say.
const tokenLife = 30 * time.Second

// loginAt is the call for tokens that a request is, nil if it is none.
func (s *Server) loginAt(r *http.Request) *Login {
	for i := range s.spec.Auths {
		if in := s.spec.Auths[i].Login; in != nil && r.Method == http.MethodPost {
			if ok, _ := path.Match(strings.ReplaceAll(in.Path, "{*}", "*"), r.URL.Path); ok {
				return in
			}
		}
	}
	return nil
}

// logIn gives a token to whoever shows what is wanted.
func (s *Server) logIn(w http.ResponseWriter, r *http.Request, in *Login) {
	s.counts.note(func(a *Audit) { a.Logins++ })
	var who string
	raw, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if in.Grant == "" {
		who = posted(raw, in.Fields)
	} else {
		who = client(r, raw, in)
	}
	if who == "" || r.URL.RawQuery != "" {
		s.counts.note(func(a *Audit) { a.Anonymous++ })
		reply(w, http.StatusUnauthorized, map[string]any{"error": "invalid_client"})
		return
	}
	s.logins.mu.Lock()
	defer s.logins.mu.Unlock()
	if s.logins.given == nil {
		s.logins.given = map[string]given{}
	}
	s.logins.number++
	life := in.Lasts
	if life <= 0 {
		life = tokenLife
	}
	value, end := "token-"+strconv.Itoa(s.logins.number), s.opt.Now().Add(life)
	s.logins.given[value] = given{who, end}
	body := map[string]any{}
	tell(w, body, in.Token, value)
	switch in.ExpiresAs {
	case "delta":
		tell(w, body, in.Expires, int(life/time.Second))
	case "epoch":
		tell(w, body, in.Expires, end.Unix())
	case "iso":
		tell(w, body, in.Expires, end.UTC().Format(time.RFC3339))
	}
	reply(w, http.StatusOK, body)
}

// text is a value as a header has it.
func text(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	raw, _ := json.Marshal(v)
	return string(raw)
}

// posted is who signs in with an object of JSON, "" if something is missing.
func posted(raw []byte, fields []string) string {
	var body map[string]any
	if json.Unmarshal(raw, &body) != nil {
		return ""
	}
	who := "anybody"
	for i, name := range fields {
		value := text(body[name])
		if value == "" || value == "null" {
			return ""
		}
		if i == 0 {
			who = value
		}
	}
	return who
}

// client is who asks by OAuth2, "" if something is missing.
func client(r *http.Request, raw []byte, in *Login) string {
	form := parseForm(raw)
	id, secret := form.Get("client_id"), form.Get("client_secret")
	if in.InHeader {
		id, secret, _ = r.BasicAuth()
	}
	if form.Get("grant_type") != in.Grant || secret == "" || in.Grant == "refresh_token" && form.Get("refresh_token") == "" {
		return ""
	}
	return id
}

// credential is whose call it is; "" if it shows nothing that counts. Expired says that
// it shows a token that does not.
func (s *Server) credential(r *http.Request) (who string, expired bool) {
	if len(s.spec.Auths) == 0 {
		return "anybody", false
	}
	for i := range s.spec.Auths {
		a := &s.spec.Auths[i]
		key := a.shown(r)
		switch {
		case a.Header == "" && a.Query == "":
			return "anybody", false
		case key == "":
			continue
		case a.Login == nil:
			return key, false
		}
		s.logins.mu.Lock()
		of, ok := s.logins.given[key]
		s.logins.mu.Unlock()
		if ok && s.opt.Now().Before(of.end) {
			return of.who, false
		}
		expired = true
	}
	return "", expired
}

// shown is what a call shows, "" if nothing.
func (a *Auth) shown(r *http.Request) string {
	switch {
	case a.Query != "":
		return r.URL.Query().Get(a.Query)
	case a.Header != "":
		key, ok := strings.CutPrefix(r.Header.Get(a.Header), a.Prefix)
		if !ok {
			return ""
		}
		if a.Basic {
			plain, _ := base64.StdEncoding.DecodeString(key)
			return string(plain)
		}
		return key
	}
	return ""
}

// revoke takes every token back.
func (s *Server) revoke() {
	s.logins.mu.Lock()
	defer s.logins.mu.Unlock()
	clear(s.logins.given)
}
