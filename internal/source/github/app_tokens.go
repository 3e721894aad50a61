package github

import (
	"context"
	"crypto/rsa"
	"sync"
	"sync/atomic"
	"time"

	"sluice/internal/source"
)

const (
	// refreshMargin is how long before its end a token is replaced.
	refreshMargin = 5 * time.Minute
	// refreshPause is how long a token that could not be replaced, and is still
	// valid, is used before replacing it is tried again.
	refreshPause = 30 * time.Second
	// firstSweep is how many installations are kept before idle ones go.
	firstSweep = 64
)

// appTokens keeps the tokens of app installations, in memory only.
type appTokens struct {
	clock serverClock

	mu           sync.Mutex
	byCredential map[string]*installation
	sweepAt      int
}

func newAppTokens() *appTokens {
	return &appTokens{byCredential: map[string]*installation{}, sweepAt: firstSweep}
}

// installation is one app credential, with its token.
type installation struct {
	name    string
	appID   int64
	target  string // where tokens are asked for
	key     *rsa.PrivateKey
	keyName string

	mu      sync.Mutex
	current *installationToken // nil before the first, and after one was refused
	minting *minting           // nil while nobody asks for a token
	// distrust is set when a token was refused before its end.
	distrust bool
	// pausedUntil keeps a failed replacement from being tried at every call.
	pausedUntil time.Time
}

// installationToken is a token that GitHub issued. Its times are on the local
// clock, measured from when it was asked for.
type installationToken struct {
	value                string
	refreshAt, expiresAt time.Time
	// replacesRefused is set when the token before was refused before its end;
	// accepted as soon as GitHub answered it with anything but a 401.
	replacesRefused bool
	accepted        atomic.Bool
	// permissions are what the installation was permitted, by name; none if GitHub
	// did not tell. selected says that it is for some repositories only.
	permissions []string
	selected    bool
}

// minting is one request for a token that any number of calls wait for.
type minting struct {
	done    chan struct{}
	token   *installationToken
	failure *source.Result
	// abandoned says that who asked was stopped: somebody else has to ask.
	abandoned bool
}

// installationOf finds the installation of an app's credential, nil for a plain
// token.
func (t *appTokens) installationOf(credential string, now time.Time) (*installation, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if in, ok := t.byCredential[credential]; ok {
		return in, nil
	}
	app, isApp, err := ParseCredential(credential)
	if err != nil || !isApp {
		return nil, err
	}
	key, err := app.key()
	if err != nil {
		return nil, err
	}
	t.sweep(now)
	in := &installation{
		name: app.name(), appID: app.AppID, key: key, keyName: fingerprint(key),
		target: "/app/installations/" + formatID(app.InstallationID) + "/access_tokens",
	}
	t.byCredential[credential] = in
	return in, nil
}

// sweep forgets installations without a valid token when there are many. One
// that comes back costs a new token.
func (t *appTokens) sweep(now time.Time) {
	if len(t.byCredential) < t.sweepAt {
		return
	}
	for credential, in := range t.byCredential {
		if in.idle(now) {
			delete(t.byCredential, credential)
		}
	}
	t.sweepAt = max(firstSweep, 2*len(t.byCredential))
}

func (in *installation) idle(now time.Time) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.minting == nil && (in.current == nil || !now.Before(in.current.expiresAt))
}

// tokenOf returns a valid token of an installation. However many calls need one
// at the same time, one of them asks for it and all share what comes of it.
func (s *Source) tokenOf(ctx context.Context, in *installation) (*installationToken, *source.Result) {
	for {
		token, m, asks := in.take(s.opt.Now())
		switch {
		case token != nil:
			return token, nil
		case asks:
			m.token, m.failure = s.mint(ctx, in)
			in.settle(m, ctx.Err() != nil, s.opt.Now())
			return m.outcome()
		}
		select {
		case <-m.done:
			if !m.abandoned {
				return m.outcome()
			}
		case <-ctx.Done():
			return nil, stopped(true)
		}
	}
}

// take returns the token if it can be used, or else the minting to wait for;
// asks says that the caller is the one who has to carry it out. While a token
// is being replaced before its end, all others go on using it.
func (in *installation) take(now time.Time) (token *installationToken, m *minting, asks bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if t := in.current; t != nil {
		replacing := in.minting != nil || now.Before(in.pausedUntil)
		if now.Before(t.refreshAt) || (replacing && now.Before(t.expiresAt)) {
			return t, nil, false
		}
	}
	if in.minting != nil {
		return nil, in.minting, false
	}
	in.minting = &minting{done: make(chan struct{})}
	return nil, in.minting, true
}

// settle ends a minting. A passing fault does no harm while the token that was
// to be replaced is still valid.
func (in *installation) settle(m *minting, stopped bool, now time.Time) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.minting = nil
	t := in.current
	switch {
	case m.token != nil:
		m.token.replacesRefused, in.distrust = in.distrust, false
		in.current, in.pausedUntil = m.token, time.Time{}
	case stopped:
		m.abandoned = true
	case t != nil && now.Before(t.expiresAt) && m.failure.Verdict != source.PauseAccount:
		in.pausedUntil = now.Add(refreshPause)
		m.token, m.failure = t, nil
	}
	close(m.done)
}

// outcome is one caller's own copy of what came of a minting.
func (m *minting) outcome() (*installationToken, *source.Result) {
	if m.failure == nil {
		return m.token, nil
	}
	res, why := *m.failure, *m.failure.Failure
	res.Failure = &why
	return nil, &res
}

// refuse takes back a token that GitHub does not accept. It reports whether a
// new one is worth trying: not if this one already stood in for another that
// was refused, and was never accepted.
func (in *installation) refuse(t *installationToken) (worthTrying bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.current == t {
		in.current, in.distrust = nil, true
	}
	return !t.replacesRefused || t.accepted.Load()
}
