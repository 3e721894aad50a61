package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"sluice/internal/client"
	"sluice/internal/config"
	"sluice/internal/document"
	"sluice/internal/engine"
	sim "sluice/internal/simulator/github"
	"sluice/internal/verify"
)

// demoCommand shows the program at work on simulated upstreams.
type demoCommand struct{ *App }

func (a demoCommand) demo(o *options) *cobra.Command {
	var flags simFlags
	var maple mapleFlags
	var exit, refreshes bool
	var file fileWorld
	c := &cobra.Command{
		Use:   "demo",
		Short: "Collect simulated GitHub accounts, or keep simulated game characters fresh, all in this process",
		Long: "Start a simulated GitHub with tight quotas, collect its accounts within them and\n" +
			"check the result against the simulator's truth. Kill it at any time: the same\n" +
			"command resumes where it stopped.\n\n" +
			"With --source: simulate the upstream that a file describes, and collect that.\n\n" +
			"With --refresh: start a simulated game API with a hard limit on every second, keep\n" +
			"snapshots of its characters fresh within it, and read them at the same time.",
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if refreshes {
				return a.demoRefresh(c, o, maple, flags, exit)
			}
			if file.name != "" {
				return a.demoFile(c, o, &file, flags, exit)
			}
			if !c.Flags().Changed("organizations") {
				flags.organizations = min(flags.organizations, flags.accounts-1)
			}
			if err := flags.check(); err != nil {
				return err
			}
			if !c.Flags().Changed("data-dir") {
				o.Service.DataDir = filepath.Join(o.Service.DataDir, demoFolder(flags.seed))
			}
			if !c.Flags().Changed("floor") {
				o.Quota.Floor = 0
			}
			if !c.Flags().Changed("assume-limit") {
				o.Quota.Limit = flags.limit
			}
			if !c.Flags().Changed("assume-window") {
				o.Quota.Window = flags.window
			}
			// It shows what one machine does with nothing but the program.
			o.Servers = config.Servers{}
			o.quietly(c)
			world := &githubWorld{flags: flags}
			d := &demonstration{App: a.App, options: o, world: world, seed: flags.seed, exit: exit}
			return d.run(c.Context())
		},
	}
	flags.register(c, 8, 25, 10*time.Second)
	c.Flags().Lookup("organizations").DefValue = "1"
	flags.organizations = 1
	c.Flags().Lookup("latency").DefValue = "150ms"
	flags.latency = 150 * time.Millisecond
	c.Flags().BoolVar(&exit, "exit-when-done", false, "end when every account is collected")
	c.Flags().BoolVar(&refreshes, "refresh", false, "keep simulated game characters fresh instead")
	maple.register(c)
	file.register(c)
	return c
}

// demoRefresh is the demo of snapshots; it shares flags with that of
// collections.
func (a demoCommand) demoRefresh(c *cobra.Command, o *options, maple mapleFlags, shared simFlags, exit bool) error {
	maple.seed, maple.latency = shared.seed, shared.latency
	if err := maple.check(); err != nil {
		return err
	}
	if !c.Flags().Changed("data-dir") {
		o.Service.DataDir = filepath.Join(o.Service.DataDir, "demo-refresh")
	}
	o.Servers = config.Servers{}
	o.quietly(c)
	return (&refreshDemo{App: a.App, options: o, flags: maple, exit: exit}).run(c.Context())
}

// demonstration is one run of the demo.
type demonstration struct {
	*App
	*options
	world demoWorld
	seed  uint64
	exit  bool

	// url is where the simulated upstream is.
	url string
	svc *Service
	// concluding is held while the outcome is compared and told.
	concluding sync.Mutex
}

// demoWorld is a simulated upstream that is collected, and knows what there is.
type demoWorld interface {
	// begin makes the world; its server is at url.
	begin(url string, o *options) (http.Handler, error)
	// about says what it is, in the line that begins the demo.
	about(url string) string
	accounts() []engine.Signup
	// differences are what was collected of an account and is not so, or is so and was not
	// collected.
	differences(ctx context.Context, documents document.Reader, account int64, login string) ([]string, error)
	// violations counts the calls that broke a limit; changing says that no copy can equal
	// it.
	violations() int
	changing() bool
}

// githubWorld is the simulated GitHub.
type githubWorld struct {
	flags simFlags
	sim   *sim.Server
}

func (w *githubWorld) begin(url string, o *options) (http.Handler, error) {
	world := w.flags.options()
	world.Until = time.Now()
	w.sim = sim.New(world)
	o.Sources = o.Sources.With("github-url", url)
	return w.sim, nil
}

func (w *githubWorld) about(url string) string {
	return fmt.Sprintf("simulated GitHub at %s: %d accounts, %d calls each per %s", url, w.flags.accounts, w.flags.limit, w.flags.window)
}

func (w *githubWorld) accounts() (all []engine.Signup) {
	for _, login := range w.sim.Logins() {
		all = append(all, engine.Signup{Source: "github", Login: login, Token: w.sim.Token(login)})
	}
	return all
}

func (w *githubWorld) differences(ctx context.Context, documents document.Reader, account int64, login string) ([]string, error) {
	truth, err := w.sim.Truth(login, time.Time{})
	if err != nil {
		return nil, err
	}
	return verify.Account(ctx, documents, account, truth, verify.Standard()...)
}

func (w *githubWorld) violations() int { return w.sim.Audit().Violations }
func (w *githubWorld) changing() bool  { return w.flags.mutate > 0 }

func (d *demonstration) run(ctx context.Context) (err error) {
	address, err := d.rememberWorld()
	if err != nil {
		return err
	}
	upstream, err := listenAgain(ctx, address)
	if err != nil {
		return fmt.Errorf("listen for the simulated upstream: %w", err)
	}
	d.url = "http://" + upstream.Addr().String()
	handler, err := d.world.begin(d.url, d.options)
	if err != nil {
		return errors.Join(err, upstream.Close())
	}
	if err := d.rememberAddress(upstream.Addr().String()); err != nil {
		return errors.Join(err, upstream.Close())
	}
	server := simulatorServer(handler)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(upstream) }()
	// The simulated upstream outlives the engine, whose last calls it answers.
	defer func() {
		err = errors.Join(err, server.Close())
		if cause := <-ended; !errors.Is(cause, http.ErrServerClosed) {
			err = errors.Join(err, cause)
		}
	}()
	so, err := d.service(d.options, "sluice demo")
	if err != nil {
		return err
	}
	return d.serveAndCollect(ctx, so)
}

// serveAndCollect serves the API while everything is collected, and after that
// until ctx ends, unless the demo is to end by itself or has failed.
func (d *demonstration) serveAndCollect(ctx context.Context, so ServiceOptions) error {
	serving, stopServing := context.WithCancel(context.WithoutCancel(ctx))
	defer stopServing()
	// A signal ends it, but not while it says what came of the collection.
	defer context.AfterFunc(ctx, func() {
		d.concluding.Lock()
		defer d.concluding.Unlock()
		stopServing()
	})()
	var collected chan error
	err := d.serve(serving, so, func(ctx context.Context, svc *Service, url string) {
		d.svc = svc
		collected = make(chan error, 1)
		go func() {
			err := d.collect(ctx, url)
			collected <- err
			if d.exit || err != nil {
				stopServing()
			}
		}()
	})
	if collected == nil {
		return err
	}
	outcome := <-collected
	if outcome == nil || ctx.Err() == nil {
		return errors.Join(err, outcome)
	}
	// What it was to show was not shown.
	return errors.Join(errInterrupted, err)
}

// demoFolder is where a world is collected: each has a folder of its own, so
// that another seed is no reason to delete anything.
func demoFolder(seed uint64) string {
	if seed == defaultSeed {
		return "demo"
	}
	return fmt.Sprintf("demo-%d", seed)
}

// listenAgain listens where the world was before, if that is free: what was collected
// from an address is not believed of another one.
func listenAgain(ctx context.Context, address string) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", cmp.Or(address, "127.0.0.1:0"))
	if err != nil && address != "" {
		return new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	}
	return l, err
}

// remembered is what a data folder knows of its world.
type remembered struct {
	Seed    uint64 `json:"seed"`
	Address string `json:"address,omitempty"`
}

func (d *demonstration) worldFile() string { return filepath.Join(d.Service.DataDir, "world.json") }

// rememberWorld refuses a data folder that holds another world, and tells where this one
// was last.
func (d *demonstration) rememberWorld() (address string, err error) {
	path := d.worldFile()
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", os.MkdirAll(d.Service.DataDir, 0o700)
	}
	var world remembered
	if err == nil {
		err = json.Unmarshal(text, &world)
	}
	if err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	if world.Seed != d.seed {
		return "", usage("%s holds the world of --seed %d; give another --data-dir, or delete it, for --seed %d", d.Service.DataDir, world.Seed, d.seed)
	}
	return world.Address, nil
}

func (d *demonstration) rememberAddress(address string) error {
	text, err := json.Marshal(remembered{d.seed, address})
	if err != nil {
		return err
	}
	return writeWhole(d.worldFile(), append(text, '\n'))
}

// writeWhole writes a file that is there completely or not at all, whenever
// the process is killed.
func writeWhole(path string, text []byte) error {
	part := path + ".part"
	if err := os.WriteFile(part, text, 0o600); err != nil {
		return err
	}
	return os.Rename(part, path)
}

// verdict is the summary of a demo.
type verdict struct {
	summary
	TruthMatch  bool     `json:"truth_match"`
	Differences []string `json:"differences,omitempty"`
	Violations  int      `json:"violations"`
}

func (d *demonstration) collect(ctx context.Context, url string) error {
	c, err := client.New(url, d.HTTP.Token, &http.Client{})
	if err != nil {
		return err
	}
	s := &session{Client: c}
	say(d.screen, "%s; API at %s/api/v1; dashboard: %s/\n", d.world.about(d.url), url, url)
	var order []int64
	for _, account := range d.world.accounts() {
		answer, err := s.Signup(ctx, account)
		if err != nil {
			return err
		}
		order = append(order, answer.Run.ID)
	}
	last, err := d.follow(ctx, s, order, false)
	if err != nil {
		return err
	}
	d.concluding.Lock()
	defer d.concluding.Unlock()
	return d.conclude(ctx, s, order, last)
}

func (d *demonstration) conclude(ctx context.Context, s *session, order []int64, last map[int64]engine.Progress) error {
	v := verdict{summary: summarize(order, last), TruthMatch: true, Violations: d.world.violations()}
	if err := v.addLedgers(ctx, s); err != nil {
		return err
	}
	for _, id := range order {
		differences, err := d.world.differences(ctx, d.svc.Documents, last[id].AccountID, last[id].Login)
		if err != nil {
			return err
		}
		v.Differences = append(v.Differences, differences...)
	}
	v.TruthMatch = len(v.Differences) == 0
	if d.json() {
		if err := printJSON(d.Out, v); err != nil {
			return err
		}
	} else {
		d.printVerdict(v)
	}
	// A world that changes all the time is ahead of any copy.
	if (!v.TruthMatch && !d.world.changing()) || v.Violations > 0 {
		return fmt.Errorf("the collection differs from the truth in %d places and broke %d limits", len(v.Differences), v.Violations)
	}
	return v.exit()
}

func (d *demonstration) printVerdict(v verdict) {
	say(d.Out, "%s: %s; %s documents with %s calls\n", plural(v.Accounts, "account"), v.runsText(), count(v.Documents), count(v.Calls))
	st := d.style(d.Out)
	switch {
	case v.TruthMatch:
		fmt.Fprintln(d.Out, st.green("the copy equals the simulator's truth"))
	case d.world.changing():
		say(d.Out, "the world changed while it was collected; the copy lacks the newest changes (%s); the next run collects them\n", plural(len(v.Differences), "difference"))
	default:
		fmt.Fprintln(d.Out, st.red("the copy differs from the simulator's truth:"))
		for _, difference := range v.Differences {
			say(d.Out, "  %s\n", difference)
		}
	}
	say(d.Out, "calls beyond quota and other violations that the simulator counted: %d\n", v.Violations)
	if !d.exit {
		fmt.Fprintln(d.screen, "the API stays up, and the dashboard; Ctrl-C ends, and the same command begins an incremental run")
	}
}
