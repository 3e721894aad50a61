// Package cli is the command line of Sluice. Commands speak to a service
// through its HTTP API only: to one that runs elsewhere, or to one that the
// program's main assembles inside this process.
//
//   - app.go: App, what all commands share: output, settings, exit codes.
//   - session.go: how a command finds a service, or opens one; renew.go: how one that serves is
//     opened again.
//   - help.go, examples.go, misuse.go: help pages, and what is said of mistakes.
//   - A file for each command or group of them, with a type that embeds App:
//     collect.go (with dryrun.go, results.go, tokens.go, credential.go), accounts.go and
//     schedules.go, runs.go, jobs.go, quota.go, timers.go, snapshots.go (with dead
//     letters), archive.go, access.go (tokens and the audit log), stats.go, doc.go, changes.go, export.go, sql.go, up.go, doctor.go, health.go,
//     demo.go and demorefresh.go, simulate.go and simmaplestory.go, load.go.
//   - reading.go: how data is read beside whoever holds the folder; announce.go: how
//     a collection can be asked while it works, and what it refuses.
//   - follow.go, board.go, fit.go, describe.go, brief.go, screen.go, style.go, print.go:
//     the progress of runs, and how things are shown; top.go and topview.go: a whole service.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sluice/internal/catalogue"
	"sluice/internal/config"
	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/load"
	"sluice/internal/logs"
	"sluice/internal/query"
	"sluice/internal/source"
)

// The exit codes.
const (
	exitOK           = 0
	exitFailed       = 1
	exitUsage        = 2
	exitUnauthorized = 4
	exitInterrupted  = 130 // as shells say it of what ended by Ctrl-C
)

// Service is an engine with its API inside this process.
type Service struct {
	API       http.Handler
	Documents document.Reader
	// Start begins to work; Close stops, gracefully until its context ends.
	Start, Close func(context.Context) error
	// Stopping ends event streams, so that the API can be shut down; EndStreams ends
	// them alone.
	Stopping, EndStreams func()
	// Changed is closed when the sources that somebody has added are others than those
	// that it has: it is to be opened again.
	Changed <-chan struct{}
	// Failed is closed when the service has stopped by itself; Err tells why.
	Failed <-chan struct{}
	Err    func() error
	// HasTokens says whether there are tokens of the API beside that of the
	// settings; nil means that there are none.
	HasTokens func(context.Context) bool
	// Announce tells other processes on the data folder where the API is.
	Announce func(url string) error
	// Inferred are the columns of tables that were inferred from their first records, by
	// kind.
	Inferred func(ctx context.Context) (map[string][]byte, error)
}

// ServiceOptions is what a command opens a service with.
type ServiceOptions struct {
	// Config are the settings, as the command has changed them.
	config.Config
	// Look says that nothing may be made or migrated, and Read that nothing may be
	// changed either: the data folder is not locked.
	Look, Read bool
	// Holder tells other processes who has the data folder.
	Holder string
	// Declared are the sources that files describe, beside those of the program, and
	// Given their files.
	Declared []source.Registration
	Given    []catalogue.Added
	// Renews says that the service is opened again when its sources were changed.
	Renews bool
	// Exposed says that other machines can reach the API.
	Exposed bool
	// Explained tells every setting and where it comes from, with secrets masked.
	Explained func() []config.Explained
	Log       *slog.Logger
}

// App is the program.
type App struct {
	// In is what a person, or another program, says; nil is nobody.
	In       io.Reader
	Out, Err io.Writer
	Env      func(string) (string, bool)
	// Environ lists the environment as lines NAME=value; nil means that there is
	// nothing to find wrong with it.
	Environ func() []string
	Now     func() time.Time
	// Sleep waits between two looks, and reports false when ctx ended first; nil
	// sleeps.
	Sleep func(ctx context.Context, d time.Duration) bool
	// Execute runs another program and returns what it prints; nil runs none.
	Execute func(ctx context.Context, command []string) ([]byte, error)
	// Open assembles a service; it is not started yet.
	Open func(context.Context, ServiceOptions) (*Service, error)
	// Check examines a data folder without changing it.
	Check func(ctx context.Context, o ServiceOptions) []Finding
	// Load assembles what one instance of a load test is made of.
	Load func(context.Context, ServiceOptions) (*load.Backend, error)
	// Holder says who has a data folder, "" if nobody.
	Holder func(dir string) string
	// HasData says whether a data folder holds a database; nil means that every
	// folder does.
	HasData func(dir string) bool
	// Ask answers SQL on the database of a data folder, beside whoever has that; nil
	// means that a service does.
	Ask func(dir string) query.Store
	// CheckLogin refuses what cannot be a login of the upstream.
	CheckLogin func(login string) error
	Version    string
	Build      Build
	// Keep is what is done to a data folder and its key.
	Keep Keeper
	// DefaultFiles are where a configuration file is looked for, after the data
	// folder, when none is named.
	DefaultFiles []string

	// screen is Err, shared by messages and the progress board.
	screen *screen
}

// Finding is one line of doctor.
type Finding struct {
	What   string `json:"what"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
	// Fix says what to do if it is not ok.
	Fix string `json:"fix,omitempty"`
	// Warnings are what works and will hurt one day.
	Warnings []string `json:"warnings,omitempty"`
}

// Warn adds a warning.
func (f *Finding) Warn(text string) { f.Warnings = append(f.Warnings, text) }

// exitError carries an exit code other than 1.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

func usage(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

// Run executes a command line and returns the exit code.
func (a *App) Run(ctx context.Context, args []string) int {
	a.screen = &screen{out: a.Err}
	root := a.root()                          //nolint:contextcheck // commands get their context when they are executed
	root.SetArgs(append([]string{}, args...)) // none are not those of the process
	root.SetOut(a.Out)
	root.SetErr(a.screen)
	command, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitOK
	}
	err = interrupted(ctx, command, err)
	var exit *exitError
	code := exitFailed
	switch {
	case errors.As(err, &exit):
		code = exit.code
	case domain.CodeOf(err) == domain.CodeInvalid:
		code = exitUsage
	case domain.CodeOf(err) == domain.CodeUnauthorized:
		code = exitUnauthorized
	}
	fmt.Fprintln(a.screen, "sluice: "+domain.PrintableLines(err.Error()))
	return code
}

// options are the settings of a command; each may change them before it opens a
// service.
type options struct {
	config.Config
	// origin is where they came from, and typed what stood on the command line.
	origin config.Origin
	typed  map[string]bool
	// declared are the sources of the files that the command was given.
	declared []source.Registration
	given    []catalogue.Added
	files    []*collected
	// learned are kinds of documents that the service told of.
	learned document.Kinds
	// setIsCarried says that what is set is the accounts', and counts wherever they are
	// collected.
	setIsCarried bool
	// uncounted says that there are no statistics of what is collected.
	uncounted bool
	// unchecked says not to ask what the tokens of new accounts allow.
	unchecked bool
}

// indifferent are the commands that wrong settings do not hinder.
var indifferent = map[string]bool{"version": true, "config init": true}

// load fills the settings of a command that is about to be done.
func (a *App) load(c *cobra.Command, o *options, known []string) error {
	o.typed = map[string]bool{}
	c.Flags().Visit(func(f *pflag.Flag) { o.typed[f.Name] = true })
	o.origin = config.Origin{Flags: c.Flags(), Command: pathOf(c), Env: a.Env, Known: known, Files: a.DefaultFiles}
	// Only `up` is sure to open the servers it is given.
	err := o.Load(o.origin, c.Name() == "up" || o.origin.Command == "config check")
	if err = a.withoutItsFile(o, err); err != nil {
		return err
	}
	return o.loadDeclared()
}

func (a *App) root() *cobra.Command {
	o := &options{Config: config.Default()}
	root := &cobra.Command{
		Use:           "sluice",
		Short:         "A complete, fresh, local copy of data behind an API that rations its calls",
		Version:       a.Version,
		SilenceErrors: true, SilenceUsage: true,
		Args: knownCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	config.RegisterGlobal(root.PersistentFlags(), &o.Config)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return flagError(c, err) })
	root.CompletionOptions.HiddenDefaultCmd = true
	addGrouped(root, "Collect:", upCommand{a}.up(o), collectCommand{a}.collect(o), sourceCommands{a}.sources(o), accountCommands{a}.accounts(o),
		snapshotCommands{a}.refresh(o), timerCommands{a}.timers(o))
	addGrouped(root, "Look:", topCommand{a}.top(o), runCommands{a}.runs(o), jobCommands{a}.jobs(o), quotaCommands{a}.quota(o),
		snapshotCommands{a}.snapshots(o), statsCommands{a}.stats(o), docCommands{a}.docCommand(o), changesCommand{a}.changes(o), exportCommand{a}.export(o), sinkCommands{a}.sync(o), sqlCommand{a}.sql(o), queryCommands{a}.queries(o), compareCommand{a}.compare(o))
	addGrouped(root, "Operate:", deadLetterCommands{a}.deadLetters(o), archiveCommands{a}.archive(o), notifyCommands{a}.notify(o), sinkCommands{a}.sink(o), accessCommands{a}.tokens(o), accessCommands{a}.audit(o), doctorCommand{a}.doctor(o), systemCommand{a}.system(o), healthCommand{a}.health(o),
		keepCommands{a}.backup(o), keepCommands{a}.restore(o), keepCommands{a}.key(o), configCommands{a}.configuration(o), versionCommand{a}.version(o))
	addGrouped(root, "Try out:", demoCommand{a}.demo(o), simCommands{a}.sim(o), loadCommand{a}.load(o))
	root.AddCommand(settingsTopic(), referenceCommand())
	root.SetHelpCommand(helpCommand(root))
	finish(root, &o.Config)
	known := flagNames(root)
	visit(root, func(c *cobra.Command) { a.completions(c, o, func() []string { return known }) })
	root.PersistentPreRunE = func(c *cobra.Command, _ []string) error {
		if strings.HasPrefix(c.Name(), cobra.ShellCompRequestCmd) {
			return nil // what is offered must not depend on what is wrong elsewhere
		}
		a.warnOfVariables(known)
		if err := a.load(c, o, known); err != nil && !indifferent[pathOf(c)] {
			return err
		}
		return nil
	}
	return root
}

// warnOfVariables names the variables that nothing reads.
func (a *App) warnOfVariables(known []string) {
	if a.Environ == nil {
		return
	}
	for _, text := range config.UnknownVariables(a.Environ(), known) {
		say(a.screen, "sluice: warning: %s\n", text)
	}
}

func (o *options) json() bool { return o.Output == "json" }

func (a *App) logger(o *options) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(o.Log.Level)); err != nil {
		return nil, usage("--log-level is debug, info, warn or error, not %q", o.Log.Level)
	}
	return logs.New(a.screen, o.Log.Format, level), nil
}

// service is what a command opens a service with. Only `up` collects accounts
// again by itself.
func (a *App) service(o *options, holder string) (ServiceOptions, error) {
	log, err := a.logger(o)
	so := ServiceOptions{Config: o.Config, Declared: o.declared, Given: o.given, Holder: holder, Log: log, Explained: func() []config.Explained { return o.Explain(o.origin, o.typed) }}
	so.Harvest.On = false
	return so, err
}

func (a *App) style(w io.Writer) style {
	none, _ := a.Env("NO_COLOR")
	return style{on: none == "" && terminalSize(w).width > 0}
}

// quietly keeps warnings out of the progress that a command shows, unless they
// were asked for: progress tells the same in better words.
func (o *options) quietly(c *cobra.Command) {
	if !c.Flags().Changed("log-level") {
		o.Log.Level = "error"
	}
}
