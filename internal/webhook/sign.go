package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
	"time"

	"sluice/internal/domain"
)

// The headers of a notification, and how a signature and a secret begin.
const (
	HeaderID        = "webhook-id"
	HeaderTimestamp = "webhook-timestamp"
	HeaderSignature = "webhook-signature"

	signatureMark = "v1,"
	secretMark    = "whsec_"
	minSecret     = 16
)

// signer returns the signature header of a message.
type signer func(id, timestamp string, body []byte) string

// newSigner reads a secret. The space around it is not part of it: files end
// with a line break.
func newSigner(secret string) (signer, error) {
	secret = strings.TrimSpace(secret)
	key := []byte(secret)
	if encoded, ok := strings.CutPrefix(secret, secretMark); ok {
		var err error
		// Padding is optional: some tools leave it off.
		if key, err = base64.RawStdEncoding.DecodeString(strings.TrimRight(encoded, "=")); err != nil {
			// The decoder's words would tell where the secret goes wrong.
			return nil, domain.Errorf(domain.CodeInvalid, "the webhook secret begins with %s, but base64 does not follow: "+
				"set SLUICE_WEBHOOK_SECRET to %s and the base64 of 24 to 64 random bytes", secretMark, secretMark)
		}
	}
	if len(key) < minSecret {
		return nil, domain.Errorf(domain.CodeInvalid, "the webhook secret has %d bytes; it needs at least %d: "+
			"set SLUICE_WEBHOOK_SECRET to %s and the base64 of 24 to 64 random bytes", len(key), minSecret, secretMark)
	}
	return func(id, timestamp string, body []byte) string {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(id + "." + timestamp + "."))
		mac.Write(body)
		return signatureMark + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	}, nil
}

// Verify checks the headers and the body of a notification, for receivers. Its
// time must be within the tolerance of now, before or after: an older one may
// be a replay. What does not hold is an error of code unauthorized.
func Verify(secret string, header http.Header, body []byte, now time.Time, tolerance time.Duration) error {
	sign, err := newSigner(secret)
	if err != nil {
		return err
	}
	id, timestamp := header.Get(HeaderID), header.Get(HeaderTimestamp)
	// With a full stop in the id, parts of it could be passed off as the
	// timestamp.
	if id == "" || strings.Contains(id, ".") {
		return domain.Errorf(domain.CodeUnauthorized, "the notification has no %s, or one with a full stop", HeaderID)
	}
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil {
		return domain.Errorf(domain.CodeUnauthorized, "the notification has no %s in seconds since 1970", HeaderTimestamp)
	}
	at := time.Unix(seconds, 0)
	if at.Before(now.Add(-tolerance)) || at.After(now.Add(tolerance)) {
		return domain.Errorf(domain.CodeUnauthorized, "the notification's time is more than %v away from now", tolerance)
	}
	want := []byte(sign(id, timestamp, body))
	for given := range strings.FieldsSeq(header.Get(HeaderSignature)) {
		if hmac.Equal([]byte(given), want) {
			return nil
		}
	}
	return domain.Errorf(domain.CodeUnauthorized, "the notification's signature does not match its id, time and body")
}
