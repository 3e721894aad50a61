package cli

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"sluice/internal/source"
	"sluice/internal/source/declared"
)

// keepers are the commands that keep records fresh, or ask for them: they need the
// credential of each source whose records they keep.
var keepers = []string{"up", "refresh", "snapshot", "dlq", "archive"}

// declare adds a source of a file to those of the command.
func (o *options) declare(of *collected) error {
	if !of.file.Keyed() {
		o.use(of)
		return nil
	}
	command, _, _ := strings.Cut(o.origin.Command, " ")
	if !slices.Contains(keepers, command) {
		return nil
	}
	credential, err := of.recordCredential(o.origin.Env)
	if err != nil {
		return err
	}
	o.declared = append(o.declared, source.Registration{
		Description: of.file.Describe(),
		Records:     func(source.Settings) (source.Records, error) { return declared.NewKeyed(of.file, of.opt, credential) },
	})
	return nil
}

// recordCredential is what the records of a source are asked for with: it stands in a
// variable, or in the file that the variable names as @FILE.
func (c *collected) recordCredential(env func(string) (string, bool)) (string, error) {
	if !c.file.NeedsCredential() {
		return declared.Public, nil
	}
	for _, name := range []string{c.variable(), anyToken()} {
		value, _ := env(name)
		if path, of := strings.CutPrefix(value, "@"); of {
			text, err := os.ReadFile(path)
			if err != nil {
				return "", usage("%s: %v", name, err)
			}
			value = string(text)
		}
		if value = strings.TrimSpace(value); value != "" {
			return value, nil
		}
	}
	return "", usage("the records of %s are asked for with a credential, and there is none: set %s or %s, to it or to @FILE", c.file.Name, c.variable(), anyToken())
}

func (c *collected) notCollected() error {
	return usage("%s has records by key, which are not collected in runs: give it to a service with `sluice up --sources %s`, and ask with `sluice snapshot get --source %s KEY`",
		c.file.Name, c.file.Name, c.file.Name)
}

func (a sourceCommands) explainRecords(e declared.Explanation) {
	say(a.Out, "%s (%s): records by key, kept fresh; credential: %s\n", e.Source, e.Title, e.Auth)
	for _, r := range e.Rations {
		say(a.Out, "  ration  %s\n", r)
	}
	say(a.Out, "  kept    %s\n  tiers   %s\n", e.Granted, e.Tiers)
	for _, r := range e.Records {
		say(a.Out, "  record  %s\n          asked  %s\n", r.Key, r.Asked)
		for _, first := range r.First {
			say(a.Out, "          first  %s\n", first)
		}
		say(a.Out, "          fresh  %s\n          keeps  %s\n", r.Fresh, r.Kept)
	}
	for _, w := range e.Warnings {
		say(a.Out, "  note    %s\n", w)
	}
}

// howToTry says how to ask a simulated upstream.
func howToTry(f *declared.File, file, url string) string {
	if f.Keyed() {
		return fmt.Sprintf("ask it with: %s=any sluice up --sources '%s?base=%s', and: sluice snapshot get --source %s --wait %s:key-1",
			(&collected{file: f}).variable(), file, url, f.Name, f.Records[0].Name)
	}
	return fmt.Sprintf("collect it with: sluice collect --source %s --set base=%s TARGET", file, url)
}

// inferred are the columns that a data folder has of a source's streams because they were
// inferred.
func (a sourceCommands) inferred(ctx context.Context, o *options, what string, file []byte) (map[string]declared.Inference, error) {
	if !o.Servers.Shared() && !a.hasData(o.Service.DataDir) {
		return nil, nil
	}
	f, err := parseSource(what, file)
	if err != nil {
		return nil, err
	}
	so, err := a.service(o, "")
	if err != nil {
		return nil, err
	}
	so.Look, so.Read = true, true
	svc, err := a.Open(ctx, so)
	if err != nil {
		return nil, err
	}
	defer func() { _ = svc.Close(ctx) }()
	if svc.Inferred == nil {
		return nil, nil
	}
	kept, err := svc.Inferred(ctx)
	all := map[string]declared.Inference{}
	for _, s := range f.Streams {
		if text, there := kept[string(f.Kind(s))]; there {
			if all[s.Name], err = declared.ReadInference(text); err != nil {
				return nil, err
			}
		}
	}
	return all, err
}
