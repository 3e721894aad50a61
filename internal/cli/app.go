// Package cli is the command line of Sluice. Commands speak to a service
// through its HTTP API only: to one that runs elsewhere, or to one that the
// program's main assembles inside this process.
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

	"sluice/internal/config"
	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/load"
	"sluice/internal/schedule"
)

// The exit codes.
const (
	exitOK           = 0
	exitFailed       = 1
	exitUsage        = 2
	exitUnauthorized = 4
)

// Service is an engine with its API inside this process.
type Service struct {
	API       http.Handler
	Documents document.Reader
	// Start begins to work; Close stops, gracefully until its context ends.
	Start, Close func(context.Context) error
	// Stopping ends event streams, so that the API can be shut down.
	Stopping func()
	// Announce tells other processes on the data folder where the API is.
	Announce func(url string) error
}

// ServiceOptions is what commands can choose about a service.
type ServiceOptions struct {
	DataDir   string
	Holder    string
	Servers   Servers
	Roles     Roles
	GitHubURL string
	APIToken  string
	Workers   int
	// Floor is what quota owners keep for themselves.
	Floor int
	// Limit is what a window is assumed to allow until the upstream says; 0 is
	// GitHub's 5,000.
	Limit int
	// Window is how long a window is assumed to last until the upstream says;
	// 0 is GitHub's hour.
	Window time.Duration
	// Points is the secondary limit per endpoint and minute; 0 is GitHub's.
	Points int
	// PoolTokens lets owners lend calls for public data to each other.
	PoolTokens bool
	// Lease is how long a silent worker keeps its job.
	Lease time.Duration
	// DiscoverOnly makes no call but those that find out what there is.
	DiscoverOnly bool
	Collect      Selection
	Timers       Timers
	MapleStory   MapleStory
	// Harvest says when accounts are collected again by themselves; nil is
	// never.
	Harvest *schedule.Policy
	// HookSecret is what GitHub signs its webhooks with; "" takes none.
	HookSecret string
	Log        *slog.Logger
}

// Timers is how timers are triggered and delivered.
type Timers struct {
	// Keyspace lets Redis's key expiry trigger them instead of the due set.
	Keyspace bool
	// WebhookSecret signs webhooks; AllowPrivate lets them go to addresses that
	// are not on the open internet.
	WebhookSecret string
	AllowPrivate  bool
}

// Selection is what is collected beside the repositories that an account owns,
// and how.
type Selection struct {
	Collaborator, Contributed bool
	OwnCommits, NoGraphQL     bool
	SweepEvery                time.Duration
}

// App is the program.
type App struct {
	Out, Err io.Writer
	Env      func(string) (string, bool)
	Now      func() time.Time
	// Open assembles a service; it is not started yet.
	Open func(context.Context, ServiceOptions) (*Service, error)
	// Check examines a data folder without changing it.
	Check func(ctx context.Context, o ServiceOptions) []Finding
	// Load assembles what one instance of a load test is made of.
	Load func(context.Context, ServiceOptions) (*load.Backend, error)
	// Holder says who has a data folder, "" if nobody.
	Holder func(dir string) string
	// CheckLogin refuses what cannot be a login of the upstream.
	CheckLogin func(login string) error
	Version    string

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
	root := a.root() //nolint:contextcheck // commands get their context when they are executed
	root.SetArgs(args)
	root.SetOut(a.Out)
	root.SetErr(a.screen)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
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
	fmt.Fprintln(a.screen, "sluice: "+err.Error())
	return code
}

// options are the flags that every command has.
type options struct {
	configFile string
	dataDir    string
	server     string
	apiToken   string
	githubURL  string
	output     string
	logLevel   string
	workers    int
	floor      int
	points     int
	limit      int
	window     time.Duration
	lease      time.Duration
	poolTokens bool
	// discoverOnly is set by a dry run.
	discoverOnly bool
	selection    Selection
	servers      Servers
	timers       Timers
	timerTrigger string
	mapleStory   MapleStory
}

func (a *App) root() *cobra.Command {
	o := &options{}
	root := &cobra.Command{
		Use:           "sluice",
		Short:         "A complete, fresh, local copy of data behind an API that rations its calls",
		Version:       a.Version,
		SilenceErrors: true, SilenceUsage: true,
		Args: knownCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	f := root.PersistentFlags()
	f.StringVar(&o.configFile, "config", "", "YAML file with any of these settings")
	f.StringVar(&o.dataDir, "data-dir", "sluice-data", "folder of the embedded database")
	o.servers.register(f)
	f.StringVar(&o.server, "server", "", "URL of a running service to use instead of the data folder")
	f.StringVar(&o.apiToken, "api-token", "", "token of the API, as @FILE; or set SLUICE_API_TOKEN")
	f.StringVar(&o.githubURL, "github-url", "https://api.github.com", "GitHub's API; https://HOST/api/v3 for Enterprise Server")
	f.StringVar(&o.output, "output", "text", "text or json")
	f.StringVar(&o.logLevel, "log-level", "warn", "debug, info, warn or error; error while progress is shown, unless given")
	f.IntVar(&o.workers, "workers", 16, "upstream calls under way at once")
	f.IntVar(&o.floor, "floor", 100, "calls of each quota window that its owner keeps for himself")
	f.IntVar(&o.limit, "assume-limit", 5000, "calls that a quota window allows, until the upstream says")
	f.DurationVar(&o.window, "assume-window", time.Hour, "how long a quota window lasts, until the upstream says")
	f.IntVar(&o.points, "points-per-minute", 0, "secondary limit per endpoint and minute; 0 is GitHub's own")
	f.DurationVar(&o.lease, "lease", 15*time.Second, "how long a worker may be silent before its job is given to another")
	f.BoolVar(&o.poolTokens, "pool-tokens", false, "let owners lend calls for public data to each other")
	f.BoolVar(&o.selection.Collaborator, "collaborator", false, "also collect repositories that the account collaborates on")
	f.BoolVar(&o.selection.Contributed, "contributed", false, "also collect repositories that the account contributed to")
	f.BoolVar(&o.selection.OwnCommits, "own-commits", false, "collect the account's own commits only")
	f.BoolVar(&o.selection.NoGraphQL, "no-graphql", false, "collect by REST alone, for servers without GraphQL")
	f.DurationVar(&o.selection.SweepEvery, "sweep-every", 7*24*time.Hour, "how often to look for deleted issues and pulls; negative is never")
	f.StringVar(&o.timerTrigger, "timer-trigger", triggerDueSet, "what fires timers where there is Redis: due-set, or keyspace for key expiry")
	f.StringVar(&o.timers.WebhookSecret, "webhook-secret", "", "secret that signs the webhooks of timers, as @FILE; or set SLUICE_WEBHOOK_SECRET")
	f.BoolVar(&o.timers.AllowPrivate, "webhook-allow-private", false, "let webhooks go to private and loopback addresses")
	o.mapleStory.register(f)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return flagError(c, err) })
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(a.demo(o), a.up(o), a.collect(o), a.sim(o), a.accounts(o), a.runs(o), a.jobs(o), a.timers(o), a.refresh(o), a.snapshots(o), a.deadLetters(o), a.archive(o), a.stats(o), a.export(o), a.load(o), a.doctor(o), a.health(o))
	known := flagNames(root)
	root.PersistentPreRunE = func(c *cobra.Command, _ []string) error { return a.settle(c, o, known) }
	return root
}

// settle applies environment and file, and checks what every command needs.
func (a *App) settle(c *cobra.Command, o *options, known []string) error {
	if o.configFile == "" {
		o.configFile, _ = a.Env(config.EnvName("config"))
	}
	onCommandLine := typed(c)
	if err := config.Apply(c.Flags(), o.configFile, a.Env, known); err != nil {
		return err
	}
	if err := o.servers.settle(onCommandLine); err != nil {
		return err
	}
	if o.output != "text" && o.output != "json" {
		return usage("--output is text or json, not %q", o.output)
	}
	if o.workers < 1 || o.workers > 10_000 {
		return usage("--workers is %d; it must be between 1 and 10,000", o.workers)
	}
	if o.limit < 1 {
		return usage("--assume-limit is %d; it must be at least 1", o.limit)
	}
	if o.window <= 0 {
		return usage("--assume-window is %v; it must be positive", o.window)
	}
	if o.lease < time.Second {
		return usage("--lease is %v; it must be at least 1s", o.lease)
	}
	if o.floor < 0 {
		return usage("--floor is %d; it cannot be negative", o.floor)
	}
	switch o.timerTrigger {
	case triggerDueSet, triggerKeyspace:
		o.timers.Keyspace = o.timerTrigger == triggerKeyspace
	default:
		return usage("--timer-trigger is %s or %s, not %q", triggerDueSet, triggerKeyspace, o.timerTrigger)
	}
	if o.timers.Keyspace && !o.servers.Shared() {
		return usage("--timer-trigger %s needs --redis: it is Redis whose keys expire", triggerKeyspace)
	}
	if err := o.mapleStory.check(); err != nil {
		return err
	}
	for flag, value := range map[string]*string{"webhook-secret": &o.timers.WebhookSecret, "maplestory-key": &o.mapleStory.Key} {
		if err := a.readSecret(c, flag, value); err != nil {
			return err
		}
	}
	return a.readSecret(c, "api-token", &o.apiToken)
}

// What can trigger timers.
const (
	triggerDueSet   = "due-set"
	triggerKeyspace = "keyspace"
)

// readSecret takes a secret from a file or the environment; one on the command
// line would be seen by everybody on the machine.
func (a *App) readSecret(c *cobra.Command, flag string, value *string) error {
	if !c.Flags().Changed(flag) {
		return nil
	}
	inEnvironment, given := a.Env(config.EnvName(flag))
	if !strings.HasPrefix(*value, "@") && (!given || *value != inEnvironment) {
		return usage("--%s takes @FILE, so that it is in no process list; or set %s", flag, config.EnvName(flag))
	}
	return readIfFile(flag, value)
}

func (o *options) json() bool { return o.output == "json" }

func (a *App) logger(o *options) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(o.logLevel)); err != nil {
		return nil, usage("--log-level is debug, info, warn or error, not %q", o.logLevel)
	}
	return slog.New(slog.NewTextHandler(a.screen, &slog.HandlerOptions{Level: level})), nil
}

func (a *App) service(o *options, holder string) (ServiceOptions, error) {
	log, err := a.logger(o)
	return ServiceOptions{
		DataDir: o.dataDir, Holder: holder, Servers: o.servers, Roles: everything, GitHubURL: o.githubURL, APIToken: o.apiToken,
		Workers: o.workers, Floor: o.floor, Limit: o.limit, Window: o.window, Points: o.points, PoolTokens: o.poolTokens, Lease: o.lease,
		DiscoverOnly: o.discoverOnly, Collect: o.selection, Timers: o.timers, MapleStory: o.mapleStory, Log: log,
	}, err
}

func (a *App) style(w io.Writer) style {
	none, _ := a.Env("NO_COLOR")
	return style{on: none == "" && terminalSize(w).width > 0}
}

// quietly keeps warnings out of the progress that a command shows, unless they
// were asked for: progress tells the same in better words.
func (o *options) quietly(c *cobra.Command) {
	if !c.Flags().Changed("log-level") {
		o.logLevel = "error"
	}
}

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

// flagError names the flag that was meant.
func flagError(c *cobra.Command, err error) error {
	text := err.Error()
	if typed, ok := strings.CutPrefix(text, "unknown flag: --"); ok {
		names := flagNames(c)
		for i, name := range names {
			names[i] = "--" + name
		}
		return usage("unknown flag --%s%s", typed, config.Suggest("--"+typed, names))
	}
	return usage("%s; see `%s --help`", text, c.CommandPath())
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
