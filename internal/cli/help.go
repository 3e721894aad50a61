package cli

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sluice/internal/config"
)

// exitCodes is what the program's help says of them.
const exitCodes = "Exit codes: 0 done, 1 failed, 2 wrong usage, 4 not authorised, 130 interrupted."

// addGrouped adds commands under a heading of their own.
func addGrouped(root *cobra.Command, title string, commands ...*cobra.Command) {
	root.AddGroup(&cobra.Group{ID: title, Title: title})
	for _, c := range commands {
		c.GroupID = title
	}
	root.AddCommand(commands...)
}

// settingsTopic is `sluice help settings`.
func settingsTopic() *cobra.Command {
	return &cobra.Command{Use: "settings", Short: "Every setting: its flag, its variable, its key in the file and its default",
		Long: config.Describe()}
}

// pathOf names a command as settings do: without the program's name.
func pathOf(c *cobra.Command) string {
	return strings.TrimPrefix(strings.TrimPrefix(c.CommandPath(), c.Root().Name()), " ")
}

// finish gives every command its settings as flags, its examples and its page.
func finish(root *cobra.Command, settings *config.Config) {
	cobra.AddTemplateFunc("flagSections", flagSections)
	root.SetUsageTemplate(strings.NewReplacer(
		"{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}", "{{flagSections .LocalFlags}}",
		// The program alone shows this page.
		"{{if .Runnable}}\n  {{.UseLine}}", "{{if and .Runnable .HasParent}}\n  {{.UseLine}}",
		"{{rpad .CommandPath .CommandPathPadding}}", "{{.Root.Name}} help {{.Name}} ",
		// The program alone does nothing but show this.
		"{{if .Runnable}}\n  {{.UseLine}}{{end}}", "{{if and .Runnable .HasParent}}\n  {{.UseLine}}{{end}}",
	).Replace(root.UsageTemplate()))
	page := root.HelpFunc()
	root.SetHelpFunc(func(c *cobra.Command, args []string) {
		if c == root {
			rootPage(c.OutOrStdout(), c)
			return
		}
		page(c, args)
	})
	visit(root, func(c *cobra.Command) {
		c.Example = examples[pathOf(c)]
		if c != root && acts(c) {
			config.Register(c.Flags(), settings, pathOf(c))
		}
		if takesEverything[pathOf(c)] {
			config.RegisterAll(c.Flags(), settings)
		}
		c.Aliases = append(c.Aliases, aliases[c.Name()]...)
	})
}

// takesEverything are the commands that have every setting as a flag, to try it.
var takesEverything = map[string]bool{"config show": true, "config check": true}

// aliases are other names that people guess.
var aliases = map[string][]string{
	"account": {"accounts"}, "run": {"runs"}, "job": {"jobs"}, "timer": {"timers"}, "snapshot": {"snapshots"},
	"quota": {"quotas"}, "dlq": {"dead-letters"}, "list": {"ls"}, "delete": {"rm"},
}

// acts says whether a command does something, beside holding others.
func acts(c *cobra.Command) bool {
	_, group := c.Annotations[groupAnnotation]
	return c.Runnable() && !group
}

// visit calls do with a command and everything below it.
func visit(c *cobra.Command, do func(*cobra.Command)) {
	do(c)
	for _, sub := range c.Commands() {
		visit(sub, do)
	}
}

// flagSections lists a command's flags, below a title: its own and those that
// every command has, and then its settings by their groups.
func flagSections(all *pflag.FlagSet) string {
	var titles []string
	sections := map[string]*pflag.FlagSet{}
	add := func(title string, f *pflag.Flag) {
		if sections[title] == nil {
			sections[title] = pflag.NewFlagSet(title, pflag.ContinueOnError)
			titles = append(titles, title)
		}
		sections[title].AddFlag(f)
	}
	all.VisitAll(func(f *pflag.Flag) {
		if config.GroupOf(f) == "" {
			add("", f)
		}
	})
	for _, s := range config.Settings() {
		f := all.Lookup(s.Name)
		switch {
		case f == nil || config.GroupOf(f) == "":
		case len(s.Commands) == 0:
			add("", f)
		default:
			add("\n\n"+s.Group+":\n", f)
		}
	}
	var text strings.Builder
	for _, title := range titles {
		text.WriteString(title + strings.TrimRight(sections[title].FlagUsages(), "\n"))
	}
	return text.String()
}
