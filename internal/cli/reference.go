package cli

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// referenceCommand writes the pages that are made from the commands.
func referenceCommand() *cobra.Command {
	return &cobra.Command{
		Use: "reference markdown|man DIR", Short: "Write the reference of all commands, as one page or as man pages", Hidden: true,
		PersistentPreRunE: func(*cobra.Command, []string) error { return nil },
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 2 || args[0] != "markdown" && args[0] != "man" {
				return usage("`%s` takes markdown or man, and a folder", c.CommandPath())
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[1], 0o755); err != nil { //nolint:gosec // pages for everybody
				return err
			}
			if args[0] == "markdown" {
				return writePage(filepath.Join(args[1], "cli.md"), Markdown(c.Root()))
			}
			for name, text := range manPages(c.Root()) {
				if err := writePage(filepath.Join(args[1], name), text); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

func writePage(path, text string) error {
	return os.WriteFile(path, []byte(text), 0o644) //nolint:gosec // a page for everybody
}

// documented are a command and everything below it that is for people.
func documented(root *cobra.Command) (all []*cobra.Command) {
	visit(root, func(c *cobra.Command) {
		if c.IsAvailableCommand() && c.Runnable() || c == root {
			all = append(all, c)
		}
	})
	return all
}

// Markdown is the reference of all commands as one page.
func Markdown(root *cobra.Command) string {
	var text strings.Builder
	text.WriteString("# Commands\n\n<!-- Written by `go test ./internal/cli -update` from the commands themselves. -->\n\n" +
		"Every command takes `--config`, `--output` (`-o`), `--log-level` and `--help`. Settings are in [settings.md](settings.md).\n" +
		exitCodes + "\n")
	for _, c := range documented(root) {
		if c == root {
			continue
		}
		fmt.Fprintf(&text, "\n## %s\n\n%s\n\n```\n%s\n```\n", c.CommandPath(), cmp.Or(c.Long, c.Short+"."), c.UseLine())
		if len(c.Aliases) > 0 {
			fmt.Fprintf(&text, "\nAlso: `%s`.\n", strings.Join(c.Aliases, "`, `"))
		}
		if c.Example != "" {
			fmt.Fprintf(&text, "\n```\n%s\n```\n", unindent(c.Example))
		}
		if rows := flagRows(c); rows != "" {
			text.WriteString("\n| Flag | Default | |\n|---|---|---|\n" + rows)
		}
	}
	return text.String()
}

func unindent(example string) string {
	lines := strings.Split(example, "\n")
	for i := range lines {
		lines[i] = strings.TrimPrefix(lines[i], "  ")
	}
	return strings.Join(lines, "\n")
}

// flagRows are a command's own flags, as rows of a table.
func flagRows(c *cobra.Command) string {
	var rows strings.Builder
	c.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		byDefault := ""
		if plain := strings.Trim(f.DefValue, "[]"); plain != "" && plain != "false" && plain != "0" && plain != "0s" {
			byDefault = "`" + plain + "`"
		}
		fmt.Fprintf(&rows, "| `%s` | %s | %s |\n", flagText(f), byDefault, strings.ReplaceAll(f.Usage, "|", `\|`))
	})
	return rows.String()
}

func flagText(f *pflag.Flag) string {
	text := "--" + f.Name
	if f.Shorthand != "" {
		text = "-" + f.Shorthand + ", " + text
	}
	if kind := f.Value.Type(); kind != "bool" {
		text += " " + strings.ToUpper(strings.TrimSuffix(kind, "Slice"))
	}
	return text
}

// manPages are those of section 1, by their names.
func manPages(root *cobra.Command) map[string]string {
	pages := map[string]string{}
	for _, c := range documented(root) {
		name := strings.ReplaceAll(c.CommandPath(), " ", "-")
		pages[name+".1"] = manPage(c, name)
	}
	return pages
}

// manPage is one page in the language of man.
func manPage(c *cobra.Command, name string) string {
	var text strings.Builder
	fmt.Fprintf(&text, ".TH %q 1 \"\" \"Sluice\" \"Sluice\"\n.SH NAME\n%s \\- %s\n", strings.ToUpper(name), name, roff(c.Short))
	fmt.Fprintf(&text, ".SH SYNOPSIS\n.B %s\n", roff(c.UseLine()))
	fmt.Fprintf(&text, ".SH DESCRIPTION\n.nf\n%s\n.fi\n", roff(cmp.Or(c.Long, c.Short+".")))
	var flags strings.Builder
	add := func(f *pflag.Flag) {
		if !f.Hidden {
			fmt.Fprintf(&flags, ".TP\n.B %s\n%s\n", roff(flagText(f)), roff(f.Usage))
		}
	}
	c.NonInheritedFlags().VisitAll(add)
	c.InheritedFlags().VisitAll(add)
	if flags.Len() > 0 {
		text.WriteString(".SH OPTIONS\n" + flags.String())
	}
	if c.Example != "" {
		fmt.Fprintf(&text, ".SH EXAMPLES\n.nf\n%s\n.fi\n", roff(c.Example))
	}
	fmt.Fprintf(&text, ".SH \"EXIT STATUS\"\n%s\n", roff(exitCodes))
	var others []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			others = append(others, strings.ReplaceAll(sub.CommandPath(), " ", "-"))
		}
	}
	if c.HasParent() {
		others = append(others, strings.ReplaceAll(c.Parent().CommandPath(), " ", "-"))
	}
	if len(others) > 0 {
		text.WriteString(".SH \"SEE ALSO\"\n.BR " + strings.Join(others, " (1), ") + " (1)\n")
	}
	return text.String()
}

// roff escapes what the language of man would take for its own.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
