package webhook_test

import (
	"crypto/sha256"
	"encoding/base64"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"sluice/internal/domain"
	"sluice/internal/webhook"
)

// hmacByHand is HMAC-SHA256 from its definition (RFC 2104), for keys that are
// not longer than a block.
func hmacByHand(key, text []byte) []byte {
	var inner, outer [64]byte
	copy(inner[:], key)
	copy(outer[:], key)
	for i := range inner {
		inner[i] ^= 0x36
		outer[i] ^= 0x5c
	}
	first := sha256.Sum256(append(inner[:], text...))
	second := sha256.Sum256(append(outer[:], first[:]...))
	return second[:]
}

// received is what a receiver got.
type received struct {
	header http.Header
	body   []byte
	method string
	url    string
}

// deliver sends a message to a server and returns what came.
func deliver(t *testing.T, o webhook.Options, m webhook.Message) received {
	t.Helper()
	got := make(chan received, 1)
	base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("read: %v", err)
		}
		got <- received{r.Header, body, r.Method, r.URL.String()}
	})
	o.AllowPrivate, m.URL = true, base+m.URL
	if r := sender(t, o).Send(t.Context(), m); !r.OK || r.Status != 200 || r.Error != "" || r.Permanent || r.RetryAfter != 0 {
		t.Fatalf("sent: %+v", r)
	}
	return <-got
}

// TestSignature: the first vector is the one that the libraries of Standard
// Webhooks test with; both were made with
//
//	printf '%s' "$id.$timestamp.$body" | openssl dgst -sha256 -mac HMAC -macopt hexkey:… -binary | base64
func TestSignature(t *testing.T) {
	key, err := base64.StdEncoding.DecodeString(secretText)
	if err != nil {
		t.Fatal(err)
	}
	const plain = "a plain secret of enough bytes"
	for _, c := range []struct {
		secret, id, body string
		at               int64
		key              []byte
		signed, want     string
	}{
		{
			secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", `{"test": 2432232314}`, 1614265330, key,
			`msg_p5jXN8AQM9LWM0D4loKWxJek.1614265330.{"test": 2432232314}`, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
		},
		{
			plain + "\n", "timer-1", `{"id":"timer-1"}`, 1767225600, []byte(plain),
			`timer-1.1767225600.{"id":"timer-1"}`, "v1,6cA+5ZNSI9KrJkqnqYfDkp8t/URVY9XL/cBQdZj6U/c=",
		},
	} {
		got := deliver(t, webhook.Options{Secret: c.secret, Now: func() time.Time { return time.Unix(c.at, 999) }},
			webhook.Message{ID: c.id, URL: "/a?b=c", Body: []byte(c.body)})
		if byHand := "v1," + base64.StdEncoding.EncodeToString(hmacByHand(c.key, []byte(c.signed))); byHand != c.want {
			t.Errorf("by hand it is %s, by openssl %s", byHand, c.want)
		}
		if s := got.header.Get("webhook-signature"); s != c.want {
			t.Errorf("signed %s, want %s", s, c.want)
		}
		if got.method != "POST" || got.url != "/a?b=c" || string(got.body) != c.body || got.header.Get("webhook-id") != c.id ||
			got.header.Get("Content-Type") != "application/json" || got.header.Get("User-Agent") != "sluice-webhook/1" {
			t.Errorf("received %+v", got)
		}
		if err := webhook.Verify(c.secret, got.header, got.body, time.Unix(c.at, 0), 0); err != nil {
			t.Errorf("verify: %v", err)
		}
	}
}

func TestVerify(t *testing.T) {
	const tolerance = 5 * time.Minute
	got := deliver(t, webhook.Options{}, message("/"))
	with := func(name, value string) http.Header {
		h := got.header.Clone()
		h.Set(name, value)
		return h
	}
	signature := got.header.Get("webhook-signature")
	for name, c := range map[string]struct {
		header http.Header
		body   string
		secret string
		at     time.Time
		good   bool
	}{
		"as it came":               {header: got.header, good: true},
		"at the end of tolerance":  {header: got.header, at: now.Add(tolerance), good: true},
		"a receiver that is slow":  {header: got.header, at: now.Add(-tolerance), good: true},
		"one of several":           {header: with("webhook-signature", "v1,AAAA v1a,BBBB "+signature), good: true},
		"a replay":                 {header: got.header, at: now.Add(tolerance + time.Second)},
		"from the future":          {header: got.header, at: now.Add(-tolerance - time.Second)},
		"another body":             {header: got.header, body: `{"test": 2432232315}`},
		"a longer body":            {header: got.header, body: `{"test": 2432232314} `},
		"no body":                  {header: got.header, body: "\x00"},
		"another secret":           {header: got.header, secret: "whsec_" + strings.Repeat("A", 32)},
		"another id":               {header: with("webhook-id", "msg_q5jXN8AQM9LWM0D4loKWxJek")},
		"no id":                    {header: with("webhook-id", "")},
		"another time":             {header: with("webhook-timestamp", "1614265331")},
		"the time, written oddly":  {header: with("webhook-timestamp", "+1614265330")},
		"no time":                  {header: with("webhook-timestamp", "")},
		"a time that is none":      {header: with("webhook-timestamp", "1614265330.5")},
		"a huge time":              {header: with("webhook-timestamp", "9223372036854775807")},
		"no signature":             {header: with("webhook-signature", "")},
		"a signature cut off":      {header: with("webhook-signature", signature[:len(signature)-1])},
		"of another version":       {header: with("webhook-signature", "v2"+signature[2:])},
		"without a version":        {header: with("webhook-signature", signature[3:])},
		"nothing at all":           {header: http.Header{}},
		"parts moved to another":   {header: with("webhook-id", "msg_p5jXN8AQM9LWM0D4loKWxJek.1614265330")},
		"a signature in the wrong": {header: with("webhook-signature", strings.ToLower(signature))},
	} {
		body := got.body
		if c.body != "" {
			body = []byte(strings.Trim(c.body, "\x00"))
		}
		if c.secret == "" {
			c.secret = secret
		}
		if c.at.IsZero() {
			c.at = now
		}
		err := webhook.Verify(c.secret, c.header, body, c.at, tolerance)
		if c.good && err != nil || !c.good && domain.CodeOf(err) != domain.CodeUnauthorized {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := webhook.Verify("short", got.header, got.body, now, tolerance); domain.CodeOf(err) != domain.CodeInvalid {
		t.Errorf("a secret that is too short: %v, want code invalid", err)
	}
}

// TestFullStopsInIDs: people choose ids; with a full stop in one, the signature
// of a message could be used for another.
func TestFullStopsInIDs(t *testing.T) {
	m := message("/")
	m.ID = "order.7.paid"
	got := deliver(t, webhook.Options{}, m)
	if id := got.header.Get("webhook-id"); id != "order~7~paid" {
		t.Errorf("the id was sent as %q", id)
	}
	if err := webhook.Verify(secret, got.header, got.body, now, time.Minute); err != nil {
		t.Errorf("verify: %v", err)
	}
	for _, bad := range []string{"", "a b", "a\nb", "ä", "\x7f"} {
		m := message("http://127.0.0.1:1/")
		m.ID = bad
		if r := local(t).Send(t.Context(), m); r.OK || !r.Permanent || !strings.Contains(r.Error, "id") {
			t.Errorf("an id of %q: %+v, want a permanent failure", bad, r)
		}
	}
}
