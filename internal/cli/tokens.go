package cli

import (
	"os"
	"strings"

	"sluice/internal/config"
)

// tokens says which credential belongs to which login.
type tokens struct {
	all     string
	byLogin map[string]string
}

// readTokens takes one token for everybody from the environment or a file, or
// one for each login from a file of "login token" lines.
func (a *App) readTokens(file string) (tokens, error) {
	t := tokens{byLogin: map[string]string{}}
	if file == "" {
		t.all, _ = a.Env(config.EnvPrefix + "GITHUB_TOKEN")
		return t, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return t, usage("--token-file: %v", err)
	}
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0 || strings.HasPrefix(fields[0], "#"):
		case len(fields) == 1 && t.all == "":
			t.all = fields[0]
		case len(fields) == 2:
			t.byLogin[strings.ToLower(fields[0])] = fields[1]
		default:
			return t, usage("--token-file %s, line %d: expected one token, or a login and its token", file, number)
		}
	}
	return t, nil
}

func (t tokens) of(login string) (string, error) {
	if token := t.byLogin[strings.ToLower(login)]; token != "" {
		return token, nil
	}
	if t.all != "" {
		return t.all, nil
	}
	return "", usage("there is no token for %s: set SLUICE_GITHUB_TOKEN, or give --token-file with one token or with lines `login token`", login)
}
