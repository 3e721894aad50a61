package cli

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sluice/internal/config"
)

// knownCommand refuses what is no command, naming the nearest.
func knownCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, sub := range c.Commands() {
		names = append(names, sub.Name())
	}
	return usage("unknown command %q%s; `%s --help` lists them all", args[0], config.Suggest(args[0], names), c.CommandPath())
}

// noArguments refuses arguments where there is no use for any.
func noArguments(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage("`%s` takes no arguments, but got %q; see `%[1]s --help`", c.CommandPath(), args[0])
	}
	return nil
}

// flagError names the flag that was meant, or says where it belongs.
func flagError(c *cobra.Command, err error) error {
	text := err.Error()
	typed, unknown := strings.CutPrefix(text, "unknown flag: --")
	if !unknown {
		return usage("%s; see `%s --help`", text, c.CommandPath())
	}
	// A command that does not exist has no flags, and is the first mistake.
	if args := c.Flags().Args(); c.HasSubCommands() && len(args) > 0 {
		return knownCommand(c, args)
	}
	if s, ok := config.Find(typed); ok {
		return elsewhere(c, s)
	}
	if typed == "json" {
		return usage("unknown flag --json; did you mean -o json?")
	}
	if meant := config.Nearest(typed, flagNames(c)); meant != "" {
		return usage("unknown flag --%s; did you mean --%s?", typed, meant)
	}
	return usage("unknown flag --%s; see `%s --help`", typed, c.CommandPath())
}

// elsewhere refuses a setting that is no flag of a command, and says where it is
// set instead.
func elsewhere(c *cobra.Command, s config.Setting) error {
	// More than these are better looked up.
	const few = 4
	where := "`sluice help settings` says which commands have it"
	if len(s.Commands) <= few {
		where = "it is one of `sluice " + strings.Join(s.Commands, "`, `sluice ") + "`"
	}
	if s.UsedBy(pathOf(c)) {
		where += "; here it is taken from " + s.Env() + " or the configuration file"
	}
	return usage("`%s` has no flag --%s: %s", c.CommandPath(), s.Name, where)
}

// flagNames lists the flags of a command and everything below it.
func flagNames(c *cobra.Command) []string {
	var names []string
	add := func(f *pflag.Flag) { names = append(names, f.Name) }
	c.Flags().VisitAll(add)
	c.PersistentFlags().VisitAll(add)
	c.InheritedFlags().VisitAll(add)
	for _, sub := range c.Commands() {
		names = append(names, flagNames(sub)...)
	}
	return names
}
