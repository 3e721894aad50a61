package cli

import (
	"context"
	"errors"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sluice/internal/source"
	"sluice/internal/sources"
)

// credentialFlags are the ways in which a command is given a credential.
type credentialFlags struct {
	file           string
	stdin, command bool
	// An app's.
	id, installation, key string
}

// helper is the command line of others that has a credential, "" if there is none.
func helper() string {
	if d := sources.Collected()[0]; d.Elsewhere != nil {
		if from := d.Elsewhere(sourceDefaults(d)); len(from.Command) > 0 {
			return from.Command[0]
		}
	}
	return ""
}

// sourceDefaults is what holds for a source where nothing was set.
func sourceDefaults(d source.Description) source.Settings {
	all := source.Settings{}
	for _, s := range d.Settings {
		all.Field(s)
	}
	return all
}

// credentialHelp says where a token comes from that no flag gives.
func credentialHelp() string {
	d := sources.Collected()[0]
	from := d.Elsewhere(sourceDefaults(d))
	return "Without a flag the token\ncomes from " + tokenVariable() + ", " + strings.Join(from.Variables, " or ") +
		", or else from `" + strings.Join(from.Command, " ") + "`; it is never\nprinted. For another server than " + d.Title +
		"'s own these are the variables and the host\nthat its command line has for such."
}

func (f *credentialFlags) register(c *cobra.Command) {
	c.Flags().StringVar(&f.file, "token-file", "", "`FILE` with the token, or with lines: login token; - reads the standard input")
	c.Flags().BoolVar(&f.stdin, "token-stdin", false, "read the token from the standard input")
	if name := helper(); name != "" {
		c.Flags().BoolVar(&f.command, "token-from-"+name, false, "ask the command line "+name+" for the token")
	}
	if sources.Collected()[0].AppCredential != nil {
		c.Flags().StringVar(&f.id, "app-id", "", "collect as an app: its `NUMBER`, with --installation-id and --private-key-file")
		c.Flags().StringVar(&f.installation, "installation-id", "", "the `NUMBER` of the app's installation")
		c.Flags().StringVar(&f.key, "private-key-file", "", "`FILE` with the app's private key, as it was downloaded")
	}
}

func (f *credentialFlags) app() bool { return f.id != "" || f.installation != "" || f.key != "" }

// ways are the flags that were given, each of which says where a credential is.
func (f *credentialFlags) ways() (given []string) {
	for _, way := range []struct {
		name  string
		given bool
	}{
		{"--token-file", f.file != ""}, {"--token-stdin", f.stdin}, {"--token-from-" + helper(), f.command}, {"--app-id and what goes with it", f.app()},
	} {
		if way.given {
			given = append(given, way.name)
		}
	}
	return given
}

func (f *credentialFlags) given() bool { return len(f.ways()) > 0 }

// check refuses ways that contradict each other.
func (f *credentialFlags) check() error {
	if ways := f.ways(); len(ways) > 1 {
		return usage("%s both say where the token is: give one of them", strings.Join(ways, " and "))
	}
	if f.app() && (f.id == "" || f.installation == "" || f.key == "") {
		return usage("an app needs all of --app-id, --installation-id and --private-key-file")
	}
	return nil
}

// fileOnly is the file with the token, for sources that know no other way.
func (f *credentialFlags) fileOnly() (string, error) {
	switch {
	case f.app() || f.command:
		return "", usage("the token of such a source comes from --token-file, --token-stdin or the environment alone")
	case f.stdin && f.file != "":
		return "", f.check()
	case f.stdin:
		return standardInput, nil
	}
	return f.file, nil
}

// tokens reads what flags and the environment of this program say; all is empty if
// they say nothing.
func (a *App) tokens(ctx context.Context, o *options, f credentialFlags) (t tokens, err error) {
	if err := f.check(); err != nil {
		return t, err
	}
	switch {
	case f.app():
		t.all, err = a.appCredential(f)
		return t, err
	case f.command:
		t.all, err = a.ask(ctx, o)
		return t, err
	case f.stdin:
		f.file = standardInput
	}
	t, err = a.readTokens(f.file)
	t.given = f.given()
	return t, err
}

// credential finds the credential of one account: by a flag, or else in the
// environment, or else where other programs have one.
func (a *App) credential(ctx context.Context, o *options, f credentialFlags, login string) (string, error) {
	t, err := a.tokens(ctx, o, f)
	if err != nil {
		return "", err
	}
	token, err := t.of(login)
	if err == nil || f.given() {
		return token, err
	}
	return a.borrowed(ctx, o, login)
}

// borrowed is the token that other programs have for the upstream that is set: for
// no other, whose it is not to know.
func (a *App) borrowed(ctx context.Context, o *options, login string) (string, error) {
	from := a.elsewhere(o)
	for _, name := range from.Variables {
		if value, _ := a.Env(name); strings.TrimSpace(value) != "" {
			say(a.screen, "sluice: the token comes from %s\n", name)
			return oneToken(name, value)
		}
	}
	token, err := a.ask(ctx, o)
	if err != nil {
		return "", noToken(login)
	}
	say(a.screen, "sluice: the token comes from `%s`\n", strings.Join(from.Command, " "))
	return token, nil
}

func (a *App) elsewhere(o *options) source.Elsewhere {
	if find := sources.Collected()[0].Elsewhere; find != nil {
		return find(o.Sources)
	}
	return source.Elsewhere{}
}

// ask asks another program for a token.
func (a *App) ask(ctx context.Context, o *options) (string, error) {
	command := a.elsewhere(o).Command
	if len(command) == 0 || a.Execute == nil {
		return "", usage("no other program can be asked for a token")
	}
	words := strings.Join(command, " ")
	out, err := a.Execute(ctx, command)
	if errors.Is(err, exec.ErrNotFound) {
		return "", usage("there is no program %s: install it, or give the token by --token-file or --token-stdin", command[0])
	}
	if err != nil || len(strings.TrimSpace(string(out))) == 0 {
		return "", usage("`%s` gives no token: log in with it first (`%s auth login`), or give the token by --token-file or --token-stdin", words, command[0])
	}
	return oneToken("`"+words+"`", string(out))
}

// oneToken is a token from somewhere that holds nothing else.
func oneToken(from, text string) (string, error) {
	token := strings.TrimSpace(text)
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", usage("%s holds no token: a token is one word of printable characters", from)
	}
	return token, nil
}

// appCredential puts an app's credential together.
func (a *App) appCredential(f credentialFlags) (string, error) {
	var app source.App
	for name, field := range map[string]struct {
		text string
		to   *int64
	}{"--app-id": {f.id, &app.ID}, "--installation-id": {f.installation, &app.Installation}} {
		n, err := strconv.ParseInt(field.text, 10, 64)
		if err != nil || n <= 0 {
			return "", usage("%s is %q; it must be a positive number, as the app's settings show it", name, field.text)
		}
		*field.to = n
	}
	if f.key == standardInput && a.In == nil {
		return "", usage("--private-key-file -: there is no standard input")
	}
	raw, err := a.readSecrets(f.key)
	if err != nil {
		return "", usage("--private-key-file: %v", err)
	}
	if !strings.Contains(string(raw), keyBegins) {
		return "", usage("--private-key-file %s does not hold a key: it must have the lines BEGIN and END, as the app's settings give it", f.key)
	}
	app.Key = string(raw)
	credential, err := sources.Collected()[0].AppCredential(app)
	if err != nil {
		return "", usage("--private-key-file %s: %v", f.key, err)
	}
	return credential, nil
}

// checking is what a request says of asking the upstream.
func checking(unchecked bool) *bool {
	wanted := !unchecked
	return &wanted
}

// sayAllowance tells what a credential does not allow.
func sayAllowance(out io.Writer, found *source.Allowance) {
	switch {
	case found == nil:
		return
	case found.Unchecked != "":
		say(out, "  what the token allows could not be found out: %s\n", found.Unchecked)
		return
	}
	scopes := ""
	if len(found.Scopes) > 0 {
		scopes = " with the scopes " + strings.Join(found.Scopes, ", ")
	}
	say(out, "  it is a %s, collected with a %s%s\n", found.Target, found.Kind, scopes)
	if !found.ExpiresAt.IsZero() {
		say(out, "  the token expires %s\n", when(found.ExpiresAt))
	}
	for _, limit := range found.Limits {
		say(out, "  %s\n", limit)
	}
}

const (
	// executeTime is how long another program may take for a token.
	executeTime = 30 * time.Second
	// mostPrinted is what is read of it.
	mostPrinted = 64 << 10
)

// Execute runs another program, without input, and returns what it prints. What it
// complains about is not shown: it may be about a secret.
func Execute(ctx context.Context, command []string) ([]byte, error) {
	path, err := exec.LookPath(command[0])
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, executeTime)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, command[1:]...).Output()
	if len(out) > mostPrinted {
		return nil, errors.New("it prints more than a token")
	}
	return out, err
}
