package web

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"time"

	"sluice/internal/domain"
	"sluice/internal/record"
)

const (
	// sessionCookie has a random secret that stands for a login. No script can read
	// it, and no other site can have it sent.
	sessionCookie = "sluice_session"
	// secretBytes is how long the secret is.
	secretBytes = 32
	// sessionLasts is how long a login lasts. The token's own end comes first.
	sessionLasts = 7 * 24 * time.Hour
)

// Sessions keeps logins where all processes of the service find them; record.Store
// is one. What is kept is a token that only the secret of the browser's cookie
// opens, so that neither who reads the store nor who reads the cookie has it.
type Sessions interface {
	Put(ctx context.Context, r record.Record) error
	Get(ctx context.Context, kind record.Kind, name string) (record.Record, error)
	Remove(ctx context.Context, kind record.Kind, name string) (there bool, err error)
	RemoveExpired(ctx context.Context, kind record.Kind, before time.Time) (removed int, err error)
}

// cookies keeps who is logged in, and what is to be said on the next page.
type cookies struct {
	sessions Sessions
	// prefix is that of all paths.
	prefix string
	now    func() time.Time
}

// session is who a request's cookie stands for.
type session struct {
	// token is that of the API; "" where nobody is logged in.
	token string
	// name is that of the record, if the request has a cookie.
	name string
	// err says that the store does not answer.
	err error
}

type sessionKey struct{}

func sessionOf(r *http.Request) session {
	s, _ := r.Context().Value(sessionKey{}).(session)
	return s
}

// tokenOf is the token of whoever makes a request; "" if nobody is logged in.
func tokenOf(r *http.Request) string { return sessionOf(r).token }

// known finds out once for a request who is logged in.
func (s *cookies) known(r *http.Request) *http.Request {
	found := s.find(r)
	if found == (session{}) {
		return r
	}
	return r.WithContext(context.WithValue(r.Context(), sessionKey{}, found))
}

func (s *cookies) find(r *http.Request) session {
	c, err := r.Cookie(sessionCookie)
	if err != nil {
		return session{}
	}
	secret, err := base64.RawURLEncoding.DecodeString(c.Value)
	if err != nil || len(secret) != secretBytes {
		return session{}
	}
	name, box := keysOf(secret)
	found := session{name: name}
	kept, err := s.sessions.Get(r.Context(), record.Session, name)
	switch {
	case domain.CodeOf(err) == domain.CodeNotFound:
	case err != nil:
		found.err = err
	case s.now().Before(kept.Expires) && len(kept.Value) > box.NonceSize():
		nonce, sealed := kept.Value[:box.NonceSize()], kept.Value[box.NonceSize():]
		// What does not open is not a login.
		if token, err := box.Open(nil, nonce, sealed, []byte(name)); err == nil {
			found.token = string(token)
		}
	}
	return found
}

// lasts says whether a login of that name has not ended. While the store does not
// answer, it goes on.
func (s *cookies) lasts(ctx context.Context, name string) bool {
	kept, err := s.sessions.Get(ctx, record.Session, name)
	if domain.CodeOf(err) == domain.CodeNotFound {
		return false
	}
	return err != nil || s.now().Before(kept.Expires)
}

// keysOf are the name under which a session is kept and what opens it, both made of
// the secret in the cookie, neither of which tells the other.
func keysOf(secret []byte) (name string, box cipher.AEAD) {
	id := sha256.Sum256(append([]byte("sluice session name\x00"), secret...))
	key := sha256.Sum256(append([]byte("sluice session key\x00"), secret...))
	block, err := aes.NewCipher(key[:])
	if err == nil {
		box, err = cipher.NewGCM(block)
	}
	if err != nil {
		// A key of 32 bytes is always one.
		panic(err)
	}
	return hex.EncodeToString(id[:]), box
}

// begin logs a browser in with a token that the API has accepted.
func (s *cookies) begin(w http.ResponseWriter, r *http.Request, token string) error {
	secret := make([]byte, secretBytes)
	_, _ = rand.Read(secret) // it never fails
	name, box := keysOf(secret)
	nonce := make([]byte, box.NonceSize())
	_, _ = rand.Read(nonce)
	now := s.now()
	// Sessions that nobody ended would be kept for ever.
	_, err := s.sessions.RemoveExpired(r.Context(), record.Session, now)
	if err == nil {
		err = s.sessions.Put(r.Context(), record.Record{
			Kind: record.Session, Name: name, Value: box.Seal(nonce, nonce, []byte(token), []byte(name)), Changed: now, Expires: now.Add(sessionLasts),
		})
	}
	if err != nil {
		return err
	}
	s.setCookie(w, r, sessionCookie, string(secret), sessionLasts)
	// The login that this one takes the place of ends: nobody logs it out any more. A
	// store that fails here has one that ends by itself.
	if before := sessionOf(r).name; before != "" {
		_, _ = s.sessions.Remove(r.Context(), record.Session, before)
	}
	return nil
}

// end logs a browser out: its cookie means nothing afterwards, to no process.
func (s *cookies) end(w http.ResponseWriter, r *http.Request) error {
	s.setCookie(w, r, sessionCookie, "", 0)
	if name := sessionOf(r).name; name != "" {
		_, err := s.sessions.Remove(r.Context(), record.Session, name)
		return err
	}
	return nil
}
