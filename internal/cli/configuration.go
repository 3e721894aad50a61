package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"sluice/internal/config"
	"sluice/internal/domain"
)

// configCommands are those about settings.
type configCommands struct{ *App }

func (a configCommands) configuration(o *options) *cobra.Command {
	return group("config", "Show and check the settings, write a configuration file", a.show(o), a.check(o), a.init(o))
}

func (a configCommands) show(o *options) *cobra.Command {
	var changed bool
	c := &cobra.Command{
		Use: "show", Short: "Show every setting and where its value comes from; secrets are masked",
		Long: `Show every setting and where its value comes from: default, file, environment or flag. It takes
every setting as a flag, to try what would hold. Secrets are masked.`,
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			all := o.Explain(o.origin, o.typed)
			if changed {
				some := all[:0]
				for _, s := range all {
					if s.From != config.FromDefault {
						some = append(some, s)
					}
				}
				all = some
			}
			if o.json() {
				return printJSON(a.Out, map[string]any{"file": o.File, "settings": all})
			}
			return table(a.Out, "SETTING\tVALUE\tFROM", func(line func(string, ...any)) {
				for _, s := range all {
					from := s.From
					if s.Where != "" {
						from += " " + s.Where
					}
					line("%s\t%s\t%s", s.Name, orDash(s.Value), from)
				}
			})
		},
	}
	c.Flags().BoolVar(&changed, "changed", false, "only what is not as by default")
	return c
}

func (a configCommands) check(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "check", Short: "Check the settings of a service, without starting or asking anything",
		Long: `Check what file, environment and command line say, as ` + "`sluice up`" + ` would, and tell everything that
is wrong at once. It takes every setting as a flag. ` + "`sluice doctor`" + ` also asks the servers.`,
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			// Whatever is wrong with them was said when they were loaded.
			set := 0
			for _, s := range o.Explain(o.origin, o.typed) {
				if s.From != config.FromDefault {
					set++
				}
			}
			if o.json() {
				return printJSON(a.Out, map[string]any{"ok": true, "file": o.File, "set": set})
			}
			from := "no configuration file"
			if o.File != "" {
				from = o.File
			}
			say(a.Out, "the settings are good: %s, %s set\n", from, plural(set, "setting"))
			return nil
		},
	}
}

func (a configCommands) init(_ *options) *cobra.Command {
	return &cobra.Command{
		Use: "init [FILE]", Short: "Write a configuration file with every setting in a comment",
		Long: `Write a configuration file with every setting in a comment: to FILE, or where the program looks for
it by itself (~/.config/sluice/sluice.yaml); - writes it to the standard output.`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage("`%s` takes one file at most", c.CommandPath())
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			path := config.OwnFile(a.Env)
			if len(args) > 0 {
				path = args[0]
			}
			switch path {
			case "":
				// What holds for everybody on the machine is not made by accident.
				return usage("neither HOME nor XDG_CONFIG_HOME tells where your file is; name a FILE, such as /etc/sluice/sluice.yaml for the whole machine")
			case "-":
				fmt.Fprint(a.Out, config.Template())
				return nil
			}
			if err := writeNew(path, config.Template()); err != nil {
				return err
			}
			say(a.Out, "wrote %s; `sluice config show` tells what holds\n", path)
			return nil
		},
	}
}

// writeNew makes a file that is not there yet.
func writeNew(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return domain.Errorf(domain.CodeConflict, "%s is there already; name another FILE, or move it away", path)
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}
