package cli

import (
	"io"

	"github.com/spf13/cobra"

	"sluice/internal/source/declared"
)

func (a sourceCommands) probe(o *options) *cobra.Command {
	var set []string
	var target, tokenFile string
	c := &cobra.Command{
		Use: "probe FILE", Short: "Ask an upstream at most three times, and propose what a file lacks",
		Long: "Make at most three calls as a file says, a second apart and never more than its ration has:\n" +
			"which headers tell of a ration and in which form they write time, how pages follow each\n" +
			"other, whether asking with an ETag helps, how records tell time. What the file lacks is\n" +
			"proposed as YAML. Nothing is stored, and the credential goes to the file's host alone.",
		Args: exactly("probe", "FILE"),
		RunE: func(c *cobra.Command, args []string) error {
			of, err := openSource(args[0], set)
			if err != nil {
				return err
			}
			if of.file.Keyed() {
				return usage("%s has records by key, and nothing to be found out about pages; try it with `sluice snapshot get`", of.file.Name)
			}
			tokens, err := of.tokens(a.App, tokenFile)
			if err != nil {
				return err
			}
			token, err := tokens.of(target)
			if err != nil {
				return of.noToken(of.file.Name)
			}
			res, err := of.src.Probe(c.Context(), declared.Probe{Target: target, Token: token, Wait: a.sleep})
			if err != nil {
				return &exitError{exitUsage, err}
			}
			if o.json() {
				return printJSON(a.Out, res)
			}
			return a.probed(res)
		},
	}
	f := c.Flags()
	f.StringArrayVar(&set, "set", nil, "`NAME=VALUE` of the source's config, or base=URL")
	f.StringVar(&target, "target", "", "the target that is asked for, where the file's addresses speak of one")
	f.StringVar(&tokenFile, "token-file", "", "file with the credential")
	return c
}

func (a sourceCommands) probed(res *declared.Probed) error {
	for _, c := range res.Calls {
		if c.Failure != "" {
			say(a.Out, "call    %s: %s %s\n", c.Stream, c.Address, c.Failure)
			continue
		}
		say(a.Out, "call    %s: %s answered %d\n", c.Stream, c.Address, c.Status)
	}
	for _, s := range res.Seen {
		say(a.Out, "seen    %s\n", s)
	}
	if res.Lines == "" {
		say(a.Out, "There is nothing to add to the file.\n")
		return nil
	}
	say(a.Out, "To add to the file:\n\n")
	_, err := io.WriteString(a.Out, res.Lines)
	return err
}
