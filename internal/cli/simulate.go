package cli

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"sluice/internal/httpapi"
	sim "sluice/internal/simulator/github"
)

// simFlags shape a simulated GitHub; demo and sim share them.
type simFlags struct {
	accounts, limit int
	organizations   int
	seed            uint64
	window, latency time.Duration
	mutate          int
	unlimited       bool
}

// defaultSeed is that of the world that is shown unless another is asked for.
const defaultSeed = 1

func (s *simFlags) register(c *cobra.Command, accounts, limit int, window time.Duration) {
	f := c.Flags()
	f.IntVar(&s.accounts, "accounts", accounts, "accounts in the simulated world")
	f.IntVar(&s.organizations, "organizations", 0, "how many of the accounts are organisations")
	f.Uint64Var(&s.seed, "seed", defaultSeed, "seed of the world: the same seed makes the same world")
	f.DurationVar(&s.window, "window", window, "length of a quota window: 30s makes an hour pass in 30 s")
	f.IntVar(&s.limit, "limit", limit, "calls (and GraphQL points) that an owner has in each window")
	f.DurationVar(&s.latency, "latency", 0, "delay of every answer")
	f.IntVar(&s.mutate, "mutate", 0, "change the world at every N-th call; 0 keeps it still")
	f.Lookup("mutate").NoOptDefVal = "10" // --mutate alone; a number needs --mutate=N
	f.BoolVar(&s.unlimited, "unlimited", false, "enforce no limit at all")
}

func (s *simFlags) check() error {
	switch {
	case s.accounts < 1 || s.accounts > 100_000:
		return usage("--accounts is %d; it must be between 1 and 100,000", s.accounts)
	case s.organizations < 0 || s.organizations >= s.accounts:
		return usage("--organizations is %d; it must be below the number of accounts", s.organizations)
	case s.limit < 1:
		return usage("--limit is %d; it must be at least 1", s.limit)
	case s.window < time.Second:
		return usage("--window is %s; it must be at least 1s, as reset times are whole seconds", s.window)
	case s.mutate < 0:
		return usage("--mutate is %d; it cannot be negative", s.mutate)
	}
	return nil
}

func (s *simFlags) options() sim.Options {
	return sim.Options{
		Seed: s.seed, Accounts: s.accounts, Organizations: s.organizations, MutateEvery: s.mutate, Latency: sim.Latency{Fixed: s.latency},
		Limits: sim.Limits{Disabled: s.unlimited, Window: s.window, CoreLimit: s.limit, GraphQLLimit: s.limit, Minute: min(s.window, time.Minute)},
	}
}

// simCommands run simulated upstreams alone.
type simCommands struct{ *App }

func (a simCommands) sim(*options) *cobra.Command {
	var flags simFlags
	var addr string
	c := &cobra.Command{
		Use: "github", Short: "Run a simulated GitHub: REST, GraphQL, limits, faults, truth and audit",
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := flags.check(); err != nil {
				return err
			}
			server := sim.New(flags.options())
			return a.serveSim(c.Context(), addr, server, func(url string) { a.introduceGitHub(server, url) })
		},
	}
	flags.register(c, 10, 5000, time.Hour)
	c.Flags().StringVar(&addr, "addr", "127.0.0.1:8091", "address to listen on")
	return group("sim", "Run a simulated upstream alone", c, a.simMapleStory())
}

// serveSim serves a simulated upstream until ctx ends; introduce says what it is.
func (a simCommands) serveSim(ctx context.Context, addr string, server http.Handler, introduce func(url string)) error {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	introduce("http://" + l.Addr().String())
	return httpapi.ServeUntil(ctx, l, simulatorServer(server), time.Second)
}

func (a simCommands) introduceGitHub(server *sim.Server, url string) {
	logins := server.Logins()
	say(a.Out, "simulated GitHub at %s with %d accounts\n", url, len(logins))
	for _, login := range logins[:min(len(logins), 5)] {
		say(a.Out, "  %s  token %s\n", login, server.Token(login))
	}
	say(a.Out, "truth at /_sim/truth/LOGIN, audit at /_sim/audit, `login token` lines for --token-file at /_sim/tokens\n")
}

// simulatorServer bounds what a caller may send; how long an answer takes is
// up to the faults that are simulated.
func simulatorServer(h http.Handler) *http.Server {
	return &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 32 << 10}
}
