package notify

import (
	"errors"
	"io"
	"net"
	"net/mail"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"sluice/internal/domain"
	"sluice/internal/secret"
)

// The types of targets, and how the connection to a mail server is kept secret.
const (
	TypeWebhook = "webhook"
	TypeSlack   = "slack"
	TypeEmail   = "email"

	SecurityStartTLS = "starttls"
	SecurityTLS      = "tls"
	SecurityNone     = "none"
)

// DefaultEvery is the shortest time between two messages of one kind to one
// target.
const DefaultEvery = 5 * time.Minute

// Target is somebody to tell. Secrets are given as @FILE or $VARIABLE and read
// when the target is opened, so that a target can be shown.
type Target struct {
	Name string `yaml:"name"`
	Type string `yaml:"type"`
	// URL is where a webhook goes. Slack's is a secret.
	URL string `yaml:"url,omitempty"`
	// Secret signs webhooks.
	Secret string `yaml:"secret,omitempty"`
	// AllowPrivate lets the URL lead to addresses that are not on the open
	// internet.
	AllowPrivate bool `yaml:"allow_private,omitempty"`
	// Server is HOST:PORT of a mail server; User and Password are for it.
	Server   string   `yaml:"server,omitempty"`
	Security string   `yaml:"security,omitempty"`
	User     string   `yaml:"user,omitempty"`
	Password string   `yaml:"password,omitempty"`
	From     string   `yaml:"from,omitempty"`
	To       []string `yaml:"to,omitempty"`
	// Kinds are what it is told of; none means everything.
	Kinds []Kind        `yaml:"kinds,omitempty"`
	Every time.Duration `yaml:"every,omitempty"`
}

// Wants says whether the target is told of a kind.
func (t Target) Wants(k Kind) bool { return len(t.Kinds) == 0 || slices.Contains(t.Kinds, k) }

// Targets is a setting: a list of targets, in YAML. It implements pflag.Value.
type Targets []Target

// String shows the targets; secrets stand in files and variables, not in it.
func (t *Targets) String() string {
	if t == nil || len(*t) == 0 {
		return ""
	}
	shown := slices.Clone(*t)
	for i := range shown {
		hide(&shown[i].Secret)
		hide(&shown[i].Password)
		if shown[i].Type == TypeSlack {
			hide(&shown[i].URL)
		}
		if !isReference(shown[i].URL) {
			shown[i].URL = secret.MaskedURL(shown[i].URL)
		}
	}
	text, err := yaml.Marshal(shown)
	if err != nil {
		return "targets that cannot be shown"
	}
	return strings.TrimSpace(string(text))
}

// hide keeps what should not have stood among the settings from being shown.
func hide(secret *string) {
	if *secret != "" && !isReference(*secret) {
		*secret = "(hidden)"
	}
}

// isReference says whether a value is @FILE or $VARIABLE.
func isReference(value string) bool { return len(value) > 1 && (value[0] == '@' || value[0] == '$') }

// Type names what a value is, in the help.
func (t *Targets) Type() string { return "targets" }

// Set reads targets from YAML.
func (t *Targets) Set(text string) error {
	var read Targets
	decoder := yaml.NewDecoder(strings.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(&read); err != nil && !errors.Is(err, io.EOF) {
		return domain.Errorf(domain.CodeInvalid, "it is not a list of targets, each with a name and a type: %w", err)
	}
	for i := range read {
		if read[i].Every == 0 {
			read[i].Every = DefaultEvery
		}
		if read[i].Type == TypeEmail && read[i].Security == "" {
			read[i].Security = SecurityStartTLS
		}
	}
	*t = read
	return nil
}

// Check says everything that is wrong with targets.
func (t Targets) Check(wrong func(format string, args ...any)) {
	names := map[string]bool{}
	for i, one := range t {
		switch {
		case !plainName(one.Name):
			wrong("target %d of notify is called %q; give each a name of letters, digits, - and _, at most 64", i+1, one.Name)
			continue
		case names[one.Name]:
			wrong("notify has two targets with the name %s; give each its own", one.Name)
		}
		names[one.Name] = true
		for _, problem := range one.problems() {
			wrong("notify: target %s %s", one.Name, problem)
		}
	}
}

// CheckSecrets says which secrets of targets cannot be read: a file that is not
// there, a variable that is not set. It is for who is about to send.
func (t Targets) CheckSecrets(wrong func(format string, args ...any)) {
	for _, one := range t {
		for _, s := range []struct{ name, value string }{{"url", one.URL}, {"secret", one.Secret}, {"password", one.Password}} {
			if _, err := one.reveal(s.name, s.value); err != nil {
				wrong("%v", err)
			}
		}
	}
}

func plainName(name string) bool {
	return name != "" && len(name) <= 64 &&
		strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == ""
}

func (t Target) problems() (found []string) {
	say := func(text string) { found = append(found, text) }
	for _, k := range t.Kinds {
		if err := checkKind(k); err != nil {
			say("asks for too much: " + err.Error())
		}
	}
	if t.Every < time.Second || t.Every > 24*time.Hour {
		say("has every: " + t.Every.String() + "; it must be between 1s and 24h")
	}
	switch t.Type {
	case TypeWebhook:
		need(say, "url", t.URL)
		if u, err := url.Parse(t.URL); err == nil && u.User != nil && !isReference(t.URL) {
			say("has a user or a password in its url, which is shown and shared; give the url as @FILE or $VARIABLE")
		}
		needSecret(say, "secret", t.Secret)
	case TypeSlack:
		needSecret(say, "url", t.URL)
	case TypeEmail:
		t.emailProblems(say)
	default:
		say("has the type " + quoted(t.Type) + "; it is webhook, slack or email")
	}
	return found
}

func (t Target) emailProblems(say func(string)) {
	if _, _, err := net.SplitHostPort(t.Server); err != nil {
		say("needs server: HOST:PORT of a mail server, such as smtp.example.com:587")
	}
	if !slices.Contains([]string{SecurityStartTLS, SecurityTLS, SecurityNone}, t.Security) {
		say("has security: " + quoted(t.Security) + "; it is starttls, tls or none")
	}
	if t.Password != "" {
		needSecret(say, "password", t.Password)
		need(say, "user", t.User)
		if t.Security == SecurityNone {
			say("would send its password to be read by everybody on the way; set security: starttls or tls")
		}
	}
	if len(t.To) == 0 {
		say("needs to: the addresses that it is sent to")
	}
	for _, address := range append([]string{t.From}, t.To...) {
		if _, err := mail.ParseAddress(address); err != nil {
			say("has the address " + quoted(address) + ", which is none; from and to are like ops@example.com")
		}
	}
}

func quoted(text string) string { return `"` + text + `"` }

func need(say func(string), name, value string) {
	if value == "" {
		say("needs " + name)
	}
}

// needSecret refuses secrets that stand in the file of settings, which others
// may read and which is shown.
func needSecret(say func(string), name, value string) {
	if !isReference(value) {
		say("needs " + name + " as @FILE or $VARIABLE: secrets do not stand among the settings")
	}
}

// reveal reads a value that is given as @FILE or $VARIABLE.
func (t Target) reveal(name, value string) (string, error) {
	what := "notify: " + name + " of target " + t.Name
	if name, ok := strings.CutPrefix(value, "$"); ok {
		text, set := os.LookupEnv(name)
		if !set || text == "" {
			return "", domain.Errorf(domain.CodeInvalid, "%s: the variable %s is not set", what, name)
		}
		return text, nil
	}
	path, ok := strings.CutPrefix(value, "@")
	if !ok {
		return value, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", domain.Errorf(domain.CodeInvalid, "%s: %w", what, err)
	}
	if trimmed := strings.TrimSpace(string(text)); trimmed != "" {
		return trimmed, nil
	}
	return "", domain.Errorf(domain.CodeInvalid, "%s: %s is empty", what, path)
}
