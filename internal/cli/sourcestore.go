package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"sluice/internal/catalogue"
	"sluice/internal/config"
	"sluice/internal/domain"
	"sluice/internal/export"
	"sluice/internal/record"
	"sluice/internal/source"
	"sluice/internal/source/declared"
	"sluice/internal/source/declared/shipped"
	"sluice/internal/sources"
)

func (a sourceCommands) add(o *options) *cobra.Command {
	var name string
	var set []string
	c := &cobra.Command{
		Use: "add FILE", Short: "Add a source, or change the file of one that was added",
		Long: "Keep the file of a source beside the data, for every command and every process: also one\n" +
			"that serves already, which takes it up without being started again. FILE may be the name of\n" +
			"one that comes with the program. The same file again changes nothing; another file of the\n" +
			"same name takes the place of the first, for all accounts, and its columns keep their types.\n" +
			"--set says values of its config for all accounts that have none of their own.",
		Args: exactly("add", "FILE"),
		RunE: func(c *cobra.Command, args []string) error {
			text, err := sourceText(args[0])
			if err != nil {
				return err
			}
			values, err := parseSet(set)
			if err != nil {
				return err
			}
			// What is wrong with it is said before anything is opened.
			if name != "" {
				if text, err = declared.Rename(text, name); err != nil {
					return err
				}
			}
			src, err := openText(args[0], text, values)
			if err != nil {
				return err
			}
			return a.within(c.Context(), o, toBegin, func(s *session) error {
				var before string
				if was, err := s.Source(c.Context(), src.file.Name); err == nil && was.Origin == catalogue.AddedHere {
					before = was.Version
				}
				added, err := s.AddSource(c.Context(), catalogue.Addition{File: string(text), Set: values})
				if err != nil {
					return err
				}
				if o.json() {
					return printJSON(a.Out, added)
				}
				verb := "is changed"
				if added.New {
					verb = "is added"
				} else if added.Version == before {
					verb = "is as it was"
				}
				a.addedSource(c.Context(), s, added.Detail, verb)
				return nil
			})
		},
	}
	c.Flags().StringVar(&name, "name", "", "what the source is called, instead of what the file says")
	c.Flags().StringArrayVar(&set, "set", nil, "`NAME=VALUE` of the source's config, or base=URL")
	return c
}

// addedSource says what came of adding a source, and what to do next.
func (a sourceCommands) addedSource(ctx context.Context, s *session, d catalogue.Detail, verb string) {
	say(a.Out, "source %s %s; its tables: %s\n", d.Name, verb, strings.Join(d.Tables, ", "))
	if s.local == nil {
		// The service has taken it up when it answers again.
		if now, err := s.Source(ctx, d.Name); err == nil && !now.Collected {
			say(a.Out, "%s\n", now.Problem)
		}
	}
	token := ""
	if d.Credential {
		token = config.EnvName(config.TokenSetting(d.Name)) + "=… "
	}
	say(a.Out, "collect it with `%ssluice collect %s:%s`\n", token, d.Name, strings.ToUpper(d.Target))
}

func (a sourceCommands) remove(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME", Short: "Remove a source that was added and has no accounts", Args: exactly("remove", "NAME"),
		Long: "Forget the file of a source that was added. One that has accounts is kept, as nobody could say\n" +
			"any more what their documents are: `sluice account purge` removes them, with everything that\n" +
			"was collected for them.",
		RunE: func(c *cobra.Command, args []string) error {
			return a.changing(c.Context(), o, func(s *session) error {
				if err := s.RemoveSource(c.Context(), args[0]); err != nil {
					return err
				}
				say(a.screen, "source %s is removed\n", args[0])
				return nil
			})
		},
	}
}

func (a sourceCommands) list(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the sources that there are, and where each comes from", Args: noArguments,
		Long: "List the sources of the program (built-in), those that the settings name (settings), those that\n" +
			"were added (added), and files that come with the program and can be added (shipped).",
		RunE: func(c *cobra.Command, _ []string) error {
			return sourceFinder(a).catalogued(c.Context(), o, func(of sourceLister) error {
				all, err := of.list(c.Context())
				if err != nil {
					return err
				}
				if o.json() {
					return printJSON(a.Out, all)
				}
				return table(a.Out, "SOURCE\tFROM\tACCOUNTS\tTABLES\tTITLE", func(line func(string, ...any)) {
					for _, i := range all {
						line("%s\t%s\t%d\t%s\t%s", i.Name, i.Origin, i.Accounts, someTables(i.Tables), i.Title)
						if i.Problem != "" {
							line("\t%s", strings.Join(strings.Fields(i.Problem), " "))
						}
					}
				})
			})
		},
	}
}

// someTables names a few tables, and says how many more there are.
func someTables(all []string) string {
	const most = 3
	if len(all) <= most+1 {
		return strings.Join(all, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(all[:most], ", "), len(all)-most)
}

func (a sourceCommands) show(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "show NAME", Short: "Print the file of a source, to begin one of your own with, and the columns that were inferred",
		Long: "Print the file of a source: of one that comes with the program, to begin one of your own with, of one\n" +
			"that was added, or any file by its path. The columns that a data folder has of its streams because they were inferred from\n" +
			"their first records follow as comments, as they can be put into the file.",
		Args: exactly("show", "NAME"),
		RunE: func(c *cobra.Command, args []string) error {
			// No name has one of these.
			if strings.ContainsAny(args[0], "./") {
				text, err := sourceText(args[0])
				if err != nil {
					return err
				}
				return a.showFile(c.Context(), o, args[0], text)
			}
			return sourceFinder(a).catalogued(c.Context(), o, func(of sourceLister) error {
				d, err := of.get(c.Context(), args[0])
				if domain.CodeOf(err) == domain.CodeNotFound {
					return usage("there is no source %q%s", args[0], config.Suggest(args[0], shipped.Names()))
				}
				if err != nil {
					return err
				}
				if o.json() {
					return printJSON(a.Out, d)
				}
				if d.File == "" {
					return usage("no file describes %s: it is part of the program", d.Name)
				}
				return a.showFile(c.Context(), o, d.Name, []byte(d.File))
			})
		},
	}
}

// showFile prints a file with the columns that were inferred of its streams.
func (a sourceCommands) showFile(ctx context.Context, o *options, what string, text []byte) error {
	inferred, err := a.inferred(ctx, o, what, text)
	if err != nil {
		return err
	}
	_, err = a.Out.Write(declared.Shown(text, inferred))
	return err
}

// sourceFinder finds out which sources there are beside those of the program.
type sourceFinder struct{ *App }

// sourceLister lists sources: a service's, or those that there are without one.
type sourceLister struct {
	list func(context.Context) ([]catalogue.Item, error)
	get  func(context.Context, string) (catalogue.Detail, error)
}

// catalogued asks the service, or the data folder, which sources there are. Where there
// is neither, those are left that need none.
func (a sourceFinder) catalogued(ctx context.Context, o *options, ask func(sourceLister) error) error {
	if a.mayHaveAccounts(o) {
		return a.with(ctx, o, func(s *session) error {
			return ask(sourceLister{func(ctx context.Context) ([]catalogue.Item, error) {
				list, err := s.Sources(ctx)
				return list.Items, err
			}, s.Source})
		})
	}
	var builtIn []source.Description
	for _, r := range sources.All() {
		builtIn = append(builtIn, r.Description)
	}
	own := catalogue.New(catalogue.Options{
		Records: record.NewMemory(), BuiltIn: builtIn, Set: o.given,
		Accounts: func(context.Context) (map[string]int, error) { return nil, nil },
	})
	return ask(sourceLister{own.List, own.Get})
}

// learnKinds finds out about kinds of documents that the program does not know: they may
// be of a source that was added.
func (a sourceFinder) learnKinds(ctx context.Context, o *options, names ...string) error {
	known := append(o.kinds().Tables(), string(export.KindStatistics))
	// What is nearly the name of a kind that is known was mistyped.
	unknown := func(name string) bool {
		return name != "" && !slices.Contains(known, name) && config.Nearest(name, known) == ""
	}
	if !slices.ContainsFunc(names, unknown) || !a.mayHaveAccounts(o) {
		return nil
	}
	return a.with(ctx, o, func(s *session) error {
		list, err := s.Sources(ctx)
		if err != nil {
			return err
		}
		for _, item := range list.Items {
			if !slices.ContainsFunc(item.Tables, func(table string) bool { return slices.Contains(names, table) }) {
				continue
			}
			d, err := s.Source(ctx, item.Name)
			if err != nil {
				return err
			}
			if of, err := openText(d.Name, []byte(d.File), d.Set); err == nil {
				o.learned = append(o.learned, of.file.Describe().Kinds...)
			}
		}
		return nil
	})
}

// mayHaveAccounts says whether there is a service or data to ask for what is stored.
func (a *App) mayHaveAccounts(o *options) bool {
	return o.Server != "" || o.Servers.Shared() || a.Holder != nil && a.Holder(o.Service.DataDir) != "" || a.hasData(o.Service.DataDir)
}

// knownSource finds the source of a file by its name: one that the settings name, that
// was added, or that comes with the program; nil if there is none. What is set is of the
// accounts of one that was added, and of any other as a whole.
func (a sourceFinder) knownSource(ctx context.Context, o *options, name string, set []string) (*collected, error) {
	values, err := parseSet(set)
	if err != nil {
		return nil, err
	}
	if of := o.file(name); of != nil {
		if len(set) == 0 {
			return of, nil
		}
		return openText(name, []byte(of.text), values)
	}
	// Names of the program are no names of files.
	if slices.ContainsFunc(sources.All(), func(r source.Registration) bool { return r.Name == name }) {
		return nil, nil
	}
	if a.mayHaveAccounts(o) {
		var d catalogue.Detail
		err := a.with(ctx, o, func(s *session) (err error) {
			d, err = s.Source(ctx, name)
			return err
		})
		switch {
		case domain.CodeOf(err) == domain.CodeNotFound:
		case err != nil:
			return nil, err
		case d.Origin == catalogue.AddedHere || d.Origin == catalogue.Set:
			// It has the values that were set with it, and accounts have theirs.
			of, err := openText(name, []byte(d.File), d.Set)
			if err != nil {
				return nil, err
			}
			if _, err := of.src.With(values); err != nil {
				return nil, &exitError{exitUsage, err}
			}
			of.values, of.added = values, true
			return of, nil
		}
	}
	if text, ok := shipped.File(name); ok {
		return openText(name, text, values)
	}
	return nil, nil
}
