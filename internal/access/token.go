package access

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"regexp"
	"time"

	"sluice/internal/domain"
)

const (
	// marker begins every token, so that people and scanners know one.
	marker = "sluice_"
	// secretBytes is how much of a token is random: too much to be guessed, so
	// that a plain digest keeps it.
	secretBytes = 32
	// prefixLength is how much of a token lists show: the marker and 48 bits.
	prefixLength = len(marker) + 8
	// MostTokens bounds how many a store keeps: every process knows all of them.
	MostTokens = 1000
)

// Digest stands for a token where it is kept.
type Digest [sha256.Size]byte

// DigestOf is the digest of a token.
func DigestOf(secret string) Digest { return sha256.Sum256([]byte(secret)) }

// Token is what is known of a token of the API. The token itself is known to
// whoever got it when it was made.
type Token struct {
	Name string `json:"name"`
	Role Role   `json:"role" enum:"read,operate,admin"`
	// Prefix is how the token begins.
	Prefix  string    `json:"prefix" doc:"How the token begins"`
	Created time.Time `json:"created_at"`
	// LastUsed is exact to the hour; zero means never.
	LastUsed time.Time `json:"last_used_at,omitzero" doc:"To the hour; absent if it was never used"`
	// Expires is when it ends; zero means never.
	Expires time.Time `json:"expires_at,omitzero" doc:"Absent if it does not end by itself"`
}

// valid says whether a token counts at an instant.
func (t Token) valid(now time.Time) bool { return t.Expires.IsZero() || now.Before(t.Expires) }

// StoredToken is a token as it is kept.
type StoredToken struct {
	Token
	Digest Digest
}

// TokenStore keeps tokens. Every instant is kept to the microsecond. What may be
// added and removed is decided by MayAdd and MayRemove in the transaction that does
// it, for all who ask at once; guarded says that the settings have a token, which
// is an admin's.
type TokenStore interface {
	// AddToken stores a token, if MayAdd allows it. Otherwise nothing is changed.
	AddToken(ctx context.Context, t StoredToken, guarded bool) error
	// Tokens returns all of them, by name.
	Tokens(ctx context.Context) ([]StoredToken, error)
	// RemoveToken removes a token by its name, if MayRemove allows it.
	RemoveToken(ctx context.Context, name string, now time.Time, guarded bool) error
	// TouchToken notes when a token was used, which never goes back. One that is
	// not there is no error.
	TouchToken(ctx context.Context, name string, at time.Time) error
}

// NoToken is the error of a token that is not there.
func NoToken(name string) error {
	return domain.Errorf(domain.CodeNotFound, "there is no token %q; `sluice token list` shows them", name)
}

var goodName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)

// checkName refuses what would be hard to read in the audit log.
func checkName(name string) error {
	if !goodName.MatchString(name) {
		return domain.Errorf(domain.CodeInvalid, "a token's name has up to 63 letters, digits, dots, dashes and underscores, and begins with a letter or a digit")
	}
	return nil
}

// newSecret makes a token.
func newSecret() string {
	var random [secretBytes]byte
	// It never fails: the program ends instead.
	_, _ = rand.Read(random[:])
	return marker + base64.RawURLEncoding.EncodeToString(random[:])
}
