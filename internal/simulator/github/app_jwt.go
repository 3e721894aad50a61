package github

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// maxJWTLife is how far in the future a JWT's end may lie.
const maxJWTLife = 10 * time.Minute

// refusal is what GitHub says about a JWT that it does not accept.
type refusal string

const (
	accepted    refusal = ""
	undecodable refusal = "A JSON web token could not be decoded"
	unknownApp  refusal = "Integration not found"
	expired     refusal = "'Expiration time' claim ('exp') must be a numeric value representing the future time at which the assertion expires"
	endsTooLate refusal = "'Expiration time' claim ('exp') is too far in the future"
	issuedLater refusal = "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued"
)

// issuer is an app id, written as a number or as a string.
type issuer int64

// UnmarshalJSON implements json.Unmarshaler.
func (i *issuer) UnmarshalJSON(raw []byte) error {
	n, err := strconv.ParseInt(strings.Trim(string(raw), `"`), 10, 64)
	*i = issuer(n)
	return err
}

// verify finds the app that signed a JWT and checks that it is valid now.
func (r *appRegistry) verify(jwt string, now time.Time) (*installation, refusal) {
	signed, signature, ok := cutLast(jwt, '.')
	head, body, three := strings.Cut(signed, ".")
	if !ok || !three {
		return nil, undecodable
	}
	var header struct{ Alg string }
	var claims struct {
		Iat, Exp *int64
		Iss      issuer
	}
	if !decodePart(head, &header) || header.Alg != "RS256" || !decodePart(body, &claims) {
		return nil, undecodable
	}
	in := r.byAppID(int64(claims.Iss))
	if in == nil {
		return nil, unknownApp
	}
	sum := sha256.Sum256([]byte(signed))
	raw, err := base64.RawURLEncoding.DecodeString(signature)
	if err != nil || rsa.VerifyPKCS1v15(in.key, crypto.SHA256, sum[:], raw) != nil {
		return nil, undecodable
	}
	switch {
	case claims.Exp == nil || *claims.Exp <= now.Unix():
		return nil, expired
	case *claims.Exp > now.Add(maxJWTLife).Unix():
		return nil, endsTooLate
	case claims.Iat == nil || *claims.Iat > now.Unix():
		return nil, issuedLater
	}
	return in, accepted
}

func cutLast(s string, sep byte) (before, after string, found bool) {
	i := strings.LastIndexByte(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}

func decodePart(part string, into any) bool {
	raw, err := base64.RawURLEncoding.DecodeString(part)
	return err == nil && json.Unmarshal(raw, into) == nil
}
