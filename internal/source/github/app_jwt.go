package github

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"sync/atomic"
	"time"
)

// A JWT is dated back by jwtBackdate and ends jwtLife after its making. GitHub
// takes none that ends more than ten minutes from now, so that a minute is left
// on either side for clocks that disagree.
const (
	jwtBackdate = time.Minute
	jwtLife     = 9 * time.Minute
)

// signJWT makes the proof that the app itself is asking; at is GitHub's time.
func signJWT(key *rsa.PrivateKey, appID int64, at time.Time) (string, error) {
	enc := base64.RawURLEncoding
	claims := fmt.Sprintf(`{"iat":%d,"exp":%d,"iss":"%d"}`, at.Add(-jwtBackdate).Unix(), at.Add(jwtLife).Unix(), appID)
	signed := enc.EncodeToString([]byte(`{"alg":"RS256","typ":"JWT"}`)) + "." + enc.EncodeToString([]byte(claims))
	sum := sha256.Sum256([]byte(signed))
	signature, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
	if err != nil {
		return "", fmt.Errorf("sign the app's proof: %w", err)
	}
	return signed + "." + enc.EncodeToString(signature), nil
}

// fingerprint names a key as GitHub's settings do. It gives nothing away.
func fingerprint(key *rsa.PrivateKey) string {
	der, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return "of unknown fingerprint"
	}
	sum := sha256.Sum256(der)
	return "SHA256:" + base64.StdEncoding.EncodeToString(sum[:])
}

// serverClock knows how far GitHub's clock is ahead of the local one, so that a
// local clock that is wrong does no harm. The zero value assumes they agree.
type serverClock struct{ ahead atomic.Int64 }

// observe learns from an answer's Date, which may be unknown.
func (k *serverClock) observe(date, local time.Time) {
	if !date.IsZero() {
		k.ahead.Store(int64(date.Sub(local)))
	}
}

func (k *serverClock) at(local time.Time) time.Time {
	return local.Add(time.Duration(k.ahead.Load()))
}
