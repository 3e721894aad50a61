package github

import (
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"sluice/internal/domain"
)

const (
	appPrefix = "app:"
	// minKeyBits is the size of the keys that GitHub makes.
	minKeyBits = 2048
)

// AppCredential is what a GitHub App collects with where a user would use a
// token: the app, where it is installed, and the key it proves itself with.
type AppCredential struct {
	AppID          int64 `json:"app_id"`
	InstallationID int64 `json:"installation_id"`
	// PrivateKey is an RSA key in PEM, PKCS#1 as GitHub hands it out or PKCS#8.
	PrivateKey string `json:"private_key"`
}

// String is the credential in the form in which it is stored and given to
// source.Call. It is one word without blanks, so it fits wherever a token does,
// and it is as secret as one: only a direct call shows it, see Format.
func (c AppCredential) String() string {
	raw, _ := json.Marshal(c) // two numbers and a string always marshal
	return appPrefix + strings.ReplaceAll(string(raw), " ", `\u0020`)
}

// Format implements fmt.Formatter: whatever the verb, the key does not show.
func (c AppCredential) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, c.name()) }

// LogValue implements slog.LogValuer; the key does not show.
func (c AppCredential) LogValue() slog.Value { return slog.StringValue(c.name()) }

func (c AppCredential) name() string {
	return fmt.Sprintf("installation %d of app %d", c.InstallationID, c.AppID)
}

// ParseCredential takes a credential apart. A plain token is no app's; an app's
// credential that cannot be read is an error, which never quotes it.
func ParseCredential(credential string) (app AppCredential, isApp bool, err error) {
	raw, isApp := strings.CutPrefix(credential, appPrefix)
	if !isApp {
		return AppCredential{}, false, nil
	}
	const shape = `give app:{"app_id":1,"installation_id":2,"private_key":"-----BEGIN RSA PRIVATE KEY-----\n…"}`
	if json.Unmarshal([]byte(escapeLines(raw)), &app) != nil {
		return AppCredential{}, true, domain.Errorf(domain.CodeInvalid, "the app's credential is not JSON of the right shape; %s", shape)
	}
	switch {
	case app.AppID <= 0:
		err = domain.Errorf(domain.CodeInvalid, "the app's credential lacks its app_id, a positive number; %s", shape)
	case app.InstallationID <= 0:
		err = domain.Errorf(domain.CodeInvalid, "the app's credential lacks its installation_id, a positive number; %s", shape)
	case app.PrivateKey == "":
		err = domain.Errorf(domain.CodeInvalid, "the app's credential lacks its private_key; %s", shape)
	}
	if err != nil {
		return AppCredential{}, true, err
	}
	return app, true, nil
}

// CheckCredential implements source.CredentialChecker. Of a plain token nothing
// can be said before GitHub is asked.
func (s *Source) CheckCredential(credential string) (string, error) {
	app, isApp, err := ParseCredential(credential)
	if err != nil {
		return "", err
	}
	if !isApp {
		if strings.ContainsFunc(credential, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return "", domain.Errorf(domain.CodeInvalid, "that is no token of GitHub: it has spaces, or characters that no token has")
		}
		return credential, nil
	}
	if _, err = app.key(); err != nil {
		return "", err
	}
	return app.String(), nil
}

// key reads the private key. No error quotes any of it.
func (c AppCredential) key() (*rsa.PrivateKey, error) {
	block, _ := pem.Decode([]byte(unescapeLines(c.PrivateKey)))
	if block == nil {
		return nil, badKey("it is not in PEM; give the whole file, with its BEGIN and END lines")
	}
	key, wrong := readKey(block)
	switch {
	case wrong != "":
		return nil, badKey(wrong)
	case key.N.BitLen() < minKeyBits:
		return nil, badKey(fmt.Sprintf("it has %d bits, at least %d are needed", key.N.BitLen(), minKeyBits))
	}
	return key, nil
}

// escapeLines mends JSON in which a key was pasted as its file has it, with
// line ends that a string cannot have.
func escapeLines(raw string) string {
	var out strings.Builder
	quoted, escaped := false, false
	for _, c := range raw {
		switch {
		case quoted && c == '\r':
			continue
		case quoted && c == '\n':
			out.WriteString(`\n`)
			continue
		case escaped:
			escaped = false
		case quoted && c == '\\':
			escaped = true
		case c == '"':
			quoted = !quoted
		}
		out.WriteRune(c)
	}
	return out.String()
}

// unescapeLines mends a key whose line ends were written as \n, as happens on
// the way through environment variables.
func unescapeLines(text string) string {
	if strings.Contains(text, "\n") {
		return text
	}
	return strings.ReplaceAll(text, `\n`, "\n")
}

func readKey(block *pem.Block) (key *rsa.PrivateKey, wrong string) {
	switch {
	case block.Type == "ENCRYPTED PRIVATE KEY" || block.Headers["DEK-Info"] != "":
		return nil, "it is encrypted with a password; give it decrypted"
	case block.Type == "RSA PRIVATE KEY":
		key, err := x509.ParsePKCS1PrivateKey(block.Bytes)
		if err != nil {
			return nil, "it is damaged, or not PKCS#1 as its first line says"
		}
		return key, ""
	case block.Type == "PRIVATE KEY":
		parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
		if err != nil {
			return nil, "it is damaged, or not PKCS#8 as its first line says"
		}
		key, isRSA := parsed.(*rsa.PrivateKey)
		if !isRSA {
			return nil, "it is not an RSA key"
		}
		return key, ""
	}
	return nil, fmt.Sprintf("it is a %q, not a private RSA key", shorten(block.Type, 40))
}

func badKey(why string) error {
	return domain.Errorf(domain.CodeInvalid, "the app's private key cannot be used: %s; make one in the app's settings under private keys", why)
}
