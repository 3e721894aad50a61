package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"sluice/internal/catalogue"
	"sluice/internal/config"
	"sluice/internal/domain"
	simulated "sluice/internal/simulator/declared"
	"sluice/internal/source"
	"sluice/internal/source/declared"
	"sluice/internal/source/declared/shipped"
	"sluice/internal/sources"
)

// sourceCommands are about sources that files describe.
type sourceCommands struct{ *App }

func (a sourceCommands) sources(o *options) *cobra.Command {
	return group("source", "Collect any API from a file: check it, try it out", a.check(o), a.probe(o), a.sim(o), a.add(o), a.list(o), a.show(o), a.remove(o), a.imports(o))
}

// mostRead is more than any file that describes something may have; what is longer is
// refused by whoever parses it.
const mostRead = 16 << 20

// readSome reads a file, and of one that has no end as much as can be used.
func readSome(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return io.ReadAll(io.LimitReader(f, mostRead))
}

// sourceText reads a file, or the one of a name that comes with the program.
func sourceText(what string) ([]byte, error) {
	text, err := readSome(what)
	if err == nil {
		return text, nil
	}
	known, ok := shipped.File(what)
	switch {
	case ok:
		return known, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, usage("there is no file %s, and no source of that name comes with the program%s", what, config.Suggest(what, shipped.Names()))
	default:
		return nil, usage("%v", err)
	}
}

// parseSource reads the text of a file.
func parseSource(what string, text []byte) (*declared.File, error) {
	f, mistakes := declared.Load(text)
	if err := mistakes.Err(what); err != nil {
		return nil, &exitError{exitUsage, err}
	}
	if sources.Taken(f.Name) {
		return nil, usage("%s: the program has a source %s of its own; give this one another name, for accounts and snapshots go by it", what, f.Name)
	}
	var program []source.Description
	for _, r := range sources.All() {
		program = append(program, r.Description)
	}
	if err := catalogue.Fits(program, f.Describe()); err != nil {
		return nil, usage("%s: %v", what, err)
	}
	return f, nil
}

// readSource reads a file, or the one of a name that comes with the program.
func readSource(what string) (*declared.File, error) {
	text, err := sourceText(what)
	if err != nil {
		return nil, err
	}
	return parseSource(what, text)
}

func (a sourceCommands) check(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "check FILE", Short: "Say what is wrong with a file, or what it would collect",
		Long: "Read a file that describes a source. Every mistake is told with its line and with what\n" +
			"to write instead; a file without any is explained: its rations, its streams, what a\n" +
			"first run and later ones ask for, and how it is found out what is gone. No call is made.",
		Args: exactly("check", "FILE"),
		RunE: func(_ *cobra.Command, args []string) error {
			f, err := readSource(args[0])
			if err != nil {
				return err
			}
			e := f.Explain()
			if o.json() {
				return printJSON(a.Out, e)
			}
			a.explain(e)
			return nil
		},
	}
}

// exactly wants one argument of a command.
func exactly(command, what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usage("source %s needs one %s, such as `sluice source %s gitlab`", command, what, command)
		}
		return nil
	}
}

func (a sourceCommands) explain(e declared.Explanation) {
	if len(e.Records) > 0 {
		a.explainRecords(e)
		return
	}
	say(a.Out, "%s (%s): an account is a %s; credential: %s\n", e.Source, e.Title, e.Target, e.Auth)
	for _, r := range e.Rations {
		say(a.Out, "  ration  %s\n", r)
	}
	for _, s := range e.Streams {
		say(a.Out, "  stream  %s, table %s\n", s.Name, s.Table)
		say(a.Out, "          first  %s\n          later  %s\n          gone   %s\n", s.First, s.Later, s.Gone)
	}
	for _, w := range e.Warnings {
		say(a.Out, "  note    %s\n", w)
	}
}

func (a sourceCommands) sim(*options) *cobra.Command {
	var addr string
	var opt simulated.Options
	c := &cobra.Command{
		Use: "sim FILE", Short: "Run an upstream made from a file: records, pages, rations, truth and audit",
		Long: "Serve what a file describes: records and pages as it says, its rations enforced. The truth\n" +
			"is at /_sim/truth, what the collector did at /_sim/audit; POST to /_sim/mutate changes\n" +
			"records, to /_sim/fault lets calls fail.",
		Args: exactly("sim", "FILE"),
		RunE: func(c *cobra.Command, args []string) error {
			f, err := readSource(args[0])
			if err != nil {
				return err
			}
			text, err := f.Simulated()
			if err != nil {
				return err
			}
			spec, err := simulated.ParseSpec(text)
			if err != nil {
				return err
			}
			server, err := simulated.New(spec, opt)
			if err != nil {
				return err
			}
			return simCommands(a).serveSim(c.Context(), addr, server, func(url string) {
				server.SetURL(url)
				say(a.Out, "simulated %s at %s; %s\n", f.Title, url, howToTry(f, args[0], url))
				fmt.Fprintln(a.Out, "any credential will do; truth at /_sim/truth, audit at /_sim/audit")
			})
		},
	}
	f := c.Flags()
	f.StringVar(&addr, "addr", "127.0.0.1:8093", "address to listen on")
	f.Uint64Var(&opt.Seed, "seed", defaultSeed, "seed of the world: the same seed makes the same world")
	f.IntVar(&opt.Records, "records", 250, "how many records each stream of an account has")
	f.IntVar(&opt.Children, "children", 3, "about how many records each of them has of its own")
	f.Float64Var(&opt.Faults, "faults", 0, "share of calls that something happens to, from 0 to 1")
	return c
}

// loadDeclared opens the sources of the files that are set.
func (o *options) loadDeclared() error {
	for ref := range strings.SplitSeq(o.Declared, ",") {
		if ref = strings.TrimSpace(ref); ref == "" {
			continue
		}
		of, err := openSource(ref, nil)
		if err != nil {
			return fmt.Errorf("--sources: %w", err)
		}
		o.files = append(o.files, of)
		if err := o.declare(of); err != nil {
			return err
		}
	}
	return nil
}

// openSource opens a source: a file or a name, with values of its config behind a
// question mark, as gitlab?url=https://git.example.org, or given apart.
func openSource(ref string, set []string) (*collected, error) {
	what, query, _ := strings.Cut(ref, "?")
	text, err := sourceText(what)
	if err != nil {
		return nil, err
	}
	for one := range strings.SplitSeq(query, "&") {
		if one != "" {
			set = append(set, one)
		}
	}
	values, err := parseSet(set)
	if err != nil {
		return nil, err
	}
	return openText(what, text, values)
}

// parseSet reads NAME=VALUE of values that are set.
func parseSet(set []string) (map[string]string, error) {
	var values map[string]string
	for _, one := range set {
		name, value, ok := strings.Cut(one, "=")
		if !ok {
			return nil, usage("--set %s: give NAME=VALUE", one)
		}
		if values == nil {
			values = map[string]string{}
		}
		values[name] = value
	}
	return values, nil
}

// openText opens a source by the text of its file.
func openText(what string, text []byte, set map[string]string) (*collected, error) {
	f, err := parseSource(what, text)
	if err != nil {
		return nil, err
	}
	opt := declared.Options{}.With(set)
	src, err := declared.New(f, opt)
	if err != nil {
		return nil, &exitError{exitUsage, err}
	}
	return &collected{file: f, src: src, opt: opt, text: string(text), values: set}, nil
}

// collected is the source that a command collects, where a file describes it.
type collected struct {
	file *declared.File
	src  *declared.Source
	opt  declared.Options
	text string
	// values are those that were set: of the source, or, if it is one that was added, of
	// the accounts alone.
	values map[string]string
	added  bool
}

// declaredSource finds out which source targets are of: the one that was given, or the
// one that they name, as gitlab:my-group does. It is nil for a source of the program.
func (a sourceFinder) declaredSource(ctx context.Context, o *options, file string, set, targets []string) (*collected, []string, error) {
	var of *collected
	for i, t := range targets {
		name, rest, named := strings.Cut(t, ":")
		if file != "" || !named || of != nil && of.file.Name == name {
			if of != nil && named {
				targets[i] = rest
			}
			continue
		}
		known, err := a.knownSource(ctx, o, name, set)
		if err != nil {
			return nil, nil, err
		}
		if known == nil {
			continue
		}
		if of != nil && of.file.Name != name {
			return nil, nil, usage("one command collects from one source, and there are %s and %s", of.file.Name, name)
		}
		of, targets[i] = known, rest
	}
	if file != "" {
		var err error
		if of, err = openSource(file, set); err != nil {
			return nil, nil, err
		}
	}
	if of == nil && len(set) > 0 {
		return nil, nil, usage("--set is for a source that a file describes; give --source FILE")
	}
	if of != nil && of.file.Keyed() {
		return nil, nil, of.notCollected()
	}
	if of != nil {
		o.use(of)
	}
	return of, targets, nil
}

// use lets the command's own service collect a source, instead of another one of its
// name. One that was added it has anyway.
func (o *options) use(of *collected) {
	if of.added {
		return
	}
	o.declared = slices.DeleteFunc(o.declared, func(r source.Registration) bool { return r.Name == of.file.Name })
	o.declared = append(o.declared, of.src.Registration())
	o.given = slices.DeleteFunc(o.given, func(g catalogue.Added) bool { return g.Name == of.file.Name })
	o.given = append(o.given, catalogue.Added{Name: of.file.Name, Text: of.text, Set: of.values})
}

// file is the source of a name among those that are set.
func (o *options) file(name string) *collected {
	for _, of := range o.files {
		if of.file.Name == name {
			return of
		}
	}
	return nil
}

// variable is where the credential of such a source may stand.
func (c *collected) variable() string { return config.EnvName(config.TokenSetting(c.file.Name)) }

// anyToken is where the credential of any source of a file may stand.
func anyToken() string { return config.EnvName(config.TokenSetting("source")) }

func (c *collected) tokens(a *App, file string) (tokens, error) {
	if !c.file.NeedsCredential() {
		return tokens{all: declared.Public}, nil
	}
	t, err := a.readTokens(file)
	if file == "" {
		t.all = ""
		for _, name := range []string{c.variable(), anyToken()} {
			if value, _ := a.Env(name); t.all == "" {
				t.all = strings.TrimSpace(value)
			}
		}
	}
	return t, err
}

// noToken says where a credential could stand.
func (c *collected) noToken(login string) error {
	return usage("there is no credential for %s: set %s or %s, or give --token-file with one token or with lines `login token`", login, c.variable(), anyToken())
}

func (c *collected) check(login string) error {
	if err := c.src.CheckLogin(login); err != nil {
		return domain.Errorf(domain.CodeInvalid, "%q: %w", login, err)
	}
	return nil
}
