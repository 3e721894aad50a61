package config

import (
	"net/url"
	"os"
	"strings"
)

// readSecrets reads settings that are given as @FILE, and refuses secrets on
// the command line, where everybody on the machine sees them. given says what was
// set anywhere, and typed what stands there.
func (c *Config) readSecrets(from Origin, given func(string) bool, typed map[string]bool) (found Problems) {
	for _, s := range Settings() {
		value, text := s.field(c).(*string)
		if s.Secrecy == Public || !text {
			continue
		}
		switch {
		case strings.HasPrefix(*value, "@"):
			c.secretFiles = append(c.secretFiles, strings.TrimPrefix(*value, "@"))
			readFile(s.Name, value, &found)
		case s.Secrecy == SecretURL && typed[s.Name] && HasPassword(*value):
			found.add(s.Name, "--%s: a password on the command line is seen by everybody on the machine; give the URL as @FILE or in %s", s.Name, s.Env())
		case s.Secrecy == Secret && given(s.Name):
			if inEnvironment, set := from.Env(s.Env()); !set || *value != inEnvironment {
				found.add(s.Name, "--%s takes @FILE, so that it is in no process list; or set %s", s.Name, s.Env())
				*value = ""
			}
		}
	}
	return found
}

// HasPassword says whether a URL holds a password.
func HasPassword(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	_, has := u.User.Password()
	// PostgreSQL also takes it there.
	return has || u.Query().Has("password") || u.Query().Has("sslpassword")
}

// readFile replaces @FILE by what the file holds.
func readFile(name string, value *string, found *Problems) {
	path := strings.TrimPrefix(*value, "@")
	text, err := os.ReadFile(path)
	*value = strings.TrimSpace(string(text))
	switch {
	case err != nil:
		found.add(name, "--%s: %v", name, err)
	case *value == "":
		found.add(name, "--%s: %s is empty", name, path)
	}
}
