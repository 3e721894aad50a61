package cli

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"sluice/internal/config"
	"sluice/internal/sources"
)

// tokens says which credential belongs to which login.
type tokens struct {
	all     string
	byLogin map[string]string
	// given says that a flag named where they are: then they are nowhere else.
	given bool
}

// readTokens takes one token for everybody from the environment or a file, or
// one for each login from a file of "login token" lines. In the place of a
// token an app's credential may stand, app:{…}, over as many lines as its key has.
func (a *App) readTokens(file string) (tokens, error) {
	t := tokens{byLogin: map[string]string{}}
	if file == "" {
		t.all, _ = a.Env(tokenVariable())
		t.all = strings.TrimSpace(t.all)
		return t, nil
	}
	raw, err := a.readSecrets(file)
	if err != nil {
		return t, usage("--token-file: %v", err)
	}
	if err := checkTokenFile(file, raw); err != nil {
		return t, err
	}
	for number, text := 1, string(raw); text != ""; {
		entry, rest := cutEntry(text)
		if !t.add(entry) {
			return t, usage("--token-file %s, line %d: expected one token, or a login and its token", file, number)
		}
		number += strings.Count(text[:len(text)-len(rest)], "\n")
		text = rest
	}
	if t.all == "" && len(t.byLogin) == 0 {
		return t, usage("--token-file %s holds no token", file)
	}
	return t, nil
}

// checkTokenFile refuses what cannot hold tokens, by what it holds instead.
func checkTokenFile(file string, raw []byte) error {
	switch {
	case len(raw) >= mostOfToken:
		return usage("--token-file %s is larger than %d MiB: that is not a file of tokens", file, mostOfToken>>20)
	case bytes.IndexByte(raw, 0) >= 0 || !utf8.Valid(raw):
		return usage("--token-file %s is not text: give a file with a token, or with lines: login token", file)
	case bytes.Contains(raw, []byte(keyBegins)) && !bytes.Contains(raw, []byte(appPrefix)):
		return usage("--token-file %s holds a key, not a token: give an app's private key with --private-key-file, and --app-id and --installation-id", file)
	}
	return nil
}

// keyBegins is how files of keys begin.
const keyBegins = "-----BEGIN "

// add takes one entry of a file: nothing, a remark, a token, or a login and its
// token.
func (t *tokens) add(entry string) bool {
	entry = strings.TrimSpace(entry)
	login, token, _ := strings.Cut(entry, " ")
	if strings.HasPrefix(entry, appPrefix) {
		login, token = "", entry
	}
	if login, token = strings.TrimSpace(login), strings.TrimSpace(token); token == "" {
		login, token = "", login
	}
	switch {
	case entry == "" || entry[0] == '#':
		return true
	case strings.ContainsAny(token, " \t\n") && !strings.HasPrefix(token, appPrefix):
		return false
	case login != "":
		t.byLogin[strings.ToLower(login)] = token
		return true
	}
	first := t.all == ""
	t.all = token
	return first
}

const appPrefix = "app:"

// tokenVariable is where the token for everybody may stand.
func tokenVariable() string { return config.EnvName(config.TokenSetting(sources.Collected()[0].Name)) }

// cutEntry cuts the first line off a text, or more where a credential of an app
// goes on: its key has lines of its own.
func cutEntry(text string) (entry, rest string) {
	end := strings.IndexByte(text, '\n') + 1
	if end == 0 {
		end = len(text)
	}
	line := text[:end]
	start := strings.Index(line, appPrefix+"{")
	if start < 0 || strings.HasPrefix(strings.TrimSpace(line), "#") {
		return strings.ReplaceAll(line, "\t", " "), text[end:]
	}
	if length := objectLength(text[start+len(appPrefix):]); length > 0 {
		end = start + len(appPrefix) + length
	}
	return strings.ReplaceAll(text[:start], "\t", " ") + text[start:end], text[end:]
}

// objectLength is how long the JSON object is that a text begins with, also if
// its strings have lines; 0 if it does not end.
func objectLength(text string) int {
	depth, quoted, escaped := 0, false, false
	for i, c := range []byte(text) {
		switch {
		case escaped:
			escaped = false
		case quoted && c == '\\':
			escaped = true
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{':
			depth++
		case c == '}':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return 0
}

func (t tokens) of(login string) (string, error) {
	if token := t.byLogin[strings.ToLower(login)]; token != "" {
		return token, nil
	}
	if t.all != "" {
		return t.all, nil
	}
	return "", noToken(login)
}

func noToken(login string) error {
	return usage("there is no token for %s: set %s, or give --token-file with one token or with lines `login token`, --token-stdin, or an app's --app-id, --installation-id and --private-key-file",
		login, tokenVariable())
}
