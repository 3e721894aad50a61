package cli

import (
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"sluice/internal/source/declared/airbyte"
)

func (a sourceCommands) imports(o *options) *cobra.Command {
	return group("import", "Make a source out of another program's description of an API", a.importAirbyte(o))
}

func (a sourceCommands) importAirbyte(o *options) *cobra.Command {
	var out, name string
	c := &cobra.Command{
		Use: "airbyte MANIFEST", Short: "Translate a low-code manifest of Airbyte into a file of a source",
		Long: "Read a manifest (manifest.yaml) and write the file of a source. What cannot be told in such a\n" +
			"file, or only approximately, is said with the manifest's line on standard error; a\n" +
			"stream that would be collected wrongly is left out. Manifests seldom say what the upstream\n" +
			"grants: `source check` refuses the file until its ration is stated. No call is made.",
		Args: exactly("import airbyte", "MANIFEST"),
		RunE: func(_ *cobra.Command, args []string) error {
			text, err := readSome(args[0])
			if err != nil {
				return usage("%v", err)
			}
			if name == "" {
				name = manifestName(args[0])
			}
			res, err := airbyte.Import(name, text)
			if err != nil {
				return &exitError{exitUsage, err}
			}
			if out != "" {
				if err := os.WriteFile(out, []byte(res.File), 0o600); err != nil {
					return usage("%v", err)
				}
			}
			if o.json() {
				return printJSON(a.Out, res)
			}
			if out == "" {
				if _, err := io.WriteString(a.Out, res.File); err != nil {
					return err
				}
			}
			a.remarks(res, args[0])
			return nil
		},
	}
	c.Flags().StringVar(&out, "out", "", "file to write the source to; standard output if left out")
	c.Flags().StringVar(&name, "name", "", "name of the source; that of the manifest's folder or file if left out")
	return c
}

// manifestName is what a manifest is about: its folder, where the file is called
// manifest as they all are.
func manifestName(path string) string {
	name := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	if name != "manifest" {
		return name
	}
	if whole, err := filepath.Abs(path); err == nil {
		return filepath.Base(filepath.Dir(whole))
	}
	return name
}

func (a sourceCommands) remarks(res *airbyte.Result, file string) {
	for _, r := range res.Remarks {
		say(a.Err, "%s, %s\n", file, r)
	}
	say(a.Err, "%d of the manifest's %d streams are left out; the file has %d\n", res.Missing, res.Streams, res.Imported)
	if len(res.Set) > 0 {
		say(a.Err, "values without a default, to be given with --set NAME=VALUE: %s\n", strings.Join(res.Set, ", "))
	}
	if !res.Rationed {
		say(a.Err, "NO RATION: the manifest does not say what the upstream grants, and `sluice source check` refuses the file until it does.\n")
		say(a.Err, "State it from the upstream's documentation, find it out with `sluice source probe`, or write `ration: unknown` for one call a second.\n")
	}
}
