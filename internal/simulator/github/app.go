package github

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	appIDBase          = 1_000
	installationIDBase = 50_000_000
	botIDBase          = 90_000_000

	appKeyBits              = 2048
	installationTokenPrefix = "ghs_"
)

// appRegistry knows the apps that were installed, each on one account.
type appRegistry struct {
	mu   sync.RWMutex
	list []*installation // the nth has the nth id
}

// installation is an app installed on all repositories of one account.
type installation struct {
	index   int
	account int
	key     *rsa.PublicKey

	// Guarded by the registry's lock:
	suspended, removed bool
	minted             int // tokens issued so far; the nth carries n
	revoked            int // tokens up to this one are no longer valid
}

func (i *installation) appID() int64 { return appIDBase + int64(i.index) }
func (i *installation) id() int64    { return installationIDBase + int64(i.index) }

// bot is who acts when the app does.
func (i *installation) bot() person {
	return person{id: botIDBase + int64(i.index), login: fmt.Sprintf("app-%d[bot]", i.appID()), account: -1}
}

// InstallApp registers an app and installs it on an account. The key, in
// PKCS#1 as GitHub hands it out, signs what the app proves itself with. All is
// zero for an unknown login.
func (s *Server) InstallApp(login string) (appID, installationID int64, privateKeyPEM string) {
	s.world.mu.RLock()
	account, ok := s.world.accountByLogin(login)
	s.world.mu.RUnlock()
	if !ok {
		return 0, 0, ""
	}
	key, err := rsa.GenerateKey(rand.Reader, appKeyBits)
	if err != nil {
		return 0, 0, ""
	}
	s.apps.mu.Lock()
	defer s.apps.mu.Unlock()
	in := &installation{index: len(s.apps.list), account: account, key: &key.PublicKey}
	s.apps.list = append(s.apps.list, in)
	block := &pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}
	return in.appID(), in.id(), string(pem.EncodeToMemory(block))
}

// SuspendInstallation makes an installation answer 403 until it is resumed.
func (s *Server) SuspendInstallation(id int64) {
	s.apps.change(id, func(in *installation) { in.suspended = true })
}

// ResumeInstallation ends a suspension.
func (s *Server) ResumeInstallation(id int64) {
	s.apps.change(id, func(in *installation) { in.suspended = false })
}

// RemoveInstallation uninstalls the app for good.
func (s *Server) RemoveInstallation(id int64) {
	s.apps.change(id, func(in *installation) { in.removed = true })
}

// RevokeInstallationTokens ends every token issued so far before its time.
func (s *Server) RevokeInstallationTokens(id int64) {
	s.apps.change(id, func(in *installation) { in.revoked = in.minted })
}

func (r *appRegistry) change(id int64, apply func(*installation)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if in := r.at(id - installationIDBase); in != nil {
		apply(in)
	}
}

// at returns the nth installation, nil if there is none. The caller holds mu.
func (r *appRegistry) at(n int64) *installation {
	if n < 0 || n >= int64(len(r.list)) {
		return nil
	}
	return r.list[n]
}

func (r *appRegistry) byAppID(id int64) *installation {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.at(id - appIDBase)
}

// standing is what an installation may do at present.
type standing struct{ suspended, removed bool }

func (r *appRegistry) standing(in *installation) standing {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return standing{suspended: in.suspended, removed: in.removed}
}

// issue makes the installation's next token.
func (r *appRegistry) issue(seed uint64, in *installation, expires time.Time) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	in.minted++
	return installationToken(seed, in.index, in.minted, expires.Unix())
}

// installationToken carries what is needed to recognise it, so that no table of
// issued tokens grows.
func installationToken(seed uint64, index, serial int, expires int64) string {
	key := derive(seed, kindToken, mix(uint64(index)<<32|uint64(serial))^uint64(expires))
	return fmt.Sprintf("%s%06x%09x%06x%015x", installationTokenPrefix, index, expires, serial, mix(key)>>4)
}

// tokenState is what became of an installation's token.
type tokenState uint8

const (
	tokenForeign tokenState = iota
	tokenEnded              // expired, revoked, or its installation is gone
	tokenValid
)

func (r *appRegistry) recognise(seed uint64, token string, now time.Time) (*installation, tokenState) {
	digits, ok := strings.CutPrefix(token, installationTokenPrefix)
	if !ok || len(digits) != 36 {
		return nil, tokenForeign
	}
	index, err1 := strconv.ParseInt(digits[:6], 16, 32)
	expires, err2 := strconv.ParseInt(digits[6:15], 16, 64)
	serial, err3 := strconv.ParseInt(digits[15:21], 16, 32)
	if err1 != nil || err2 != nil || err3 != nil || installationToken(seed, int(index), int(serial), expires) != token {
		return nil, tokenForeign
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	in := r.at(index)
	switch {
	case in == nil || int(serial) > in.minted:
		return nil, tokenForeign
	case in.removed || int(serial) <= in.revoked || now.Unix() >= expires:
		return in, tokenEnded
	}
	return in, tokenValid
}
