package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"sluice/internal/domain"
	"sluice/internal/httpapi"
)

func (a *App) up(o *options) *cobra.Command {
	var addr string
	var roles []string
	var policy policyFlags
	var harvest bool
	var hookSecret string
	c := &cobra.Command{
		Use:   "up",
		Short: "Run the service: the engine and its HTTP API",
		Args:  noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			so, err := a.service(o, "sluice up")
			if err != nil {
				return err
			}
			if so.Roles, err = parseRoles(roles, o.servers); err != nil {
				return err
			}
			if so.Roles == (Roles{Refresh: true}) && so.MapleStory.Key == "" {
				return usage("--roles refresh: there is nothing to refresh without an API key; set SLUICE_MAPLESTORY_KEY")
			}
			if harvest {
				so.Harvest, err = policy.parseFor()
				if err != nil {
					return err
				}
			}
			so.HookSecret = hookSecret
			if err := a.readSecret(c, "github-hook-secret", &so.HookSecret); err != nil {
				return err
			}
			return a.serve(c.Context(), so, addr, func(_ context.Context, _ *Service, url string) {
				fmt.Fprintf(a.screen, "sluice %s; Ctrl-C stops\n", serving(so, url))
			})
		},
	}
	c.Flags().StringVar(&addr, "addr", "127.0.0.1:8090", "address to serve on; anything but loopback needs --api-token")
	c.Flags().BoolVar(&harvest, "harvest", true, "collect accounts again and again by themselves")
	policy.register(c.Flags())
	c.Flags().StringVar(&hookSecret, "github-hook-secret", "", "secret that GitHub signs its webhooks with, as @FILE; or set SLUICE_GITHUB_HOOK_SECRET")
	c.Flags().StringSliceVar(&roles, "roles", allRoles, "what this process does, if several share the work")
	return c
}

// serving says what a process does and where its data is.
func serving(so ServiceOptions, url string) string {
	what := "serves " + url + "/api/v1"
	if !so.Roles.API {
		what = "works; " + url + "/readyz and /metrics tell how"
	}
	if so.Servers.Shared() {
		return what + " (state and dispatch are shared with other processes)"
	}
	return what + " (data in " + so.DataDir + ")"
}

// serverPatience is how long a process waits between two looks at servers that
// do not answer.
const serverPatience = time.Second

// patiently does something with the servers that processes share, again and
// again while they do not answer: they may be restarting, and a process that
// gives up would have to be started again by somebody. Everything else that is
// wrong is told at once.
func (a *App) patiently(ctx context.Context, so ServiceOptions, do func() error) error {
	said := ""
	for {
		err := do()
		if domain.CodeOf(err) != domain.CodeUnavailable || !so.Servers.Shared() {
			return err
		}
		if said != err.Error() {
			said = err.Error()
			fmt.Fprintln(a.screen, "sluice: waiting: "+said)
		}
		select {
		case <-time.After(serverPatience):
		case <-ctx.Done():
			return err
		}
	}
}

// serve runs a service until ctx ends. It calls ready once the service works
// and is about to answer at url.
func (a *App) serve(ctx context.Context, so ServiceOptions, addr string, ready func(ctx context.Context, svc *Service, url string)) (err error) {
	// The address is taken before the data folder is touched: a port that is
	// in use is the commoner mistake.
	l, err := httpapi.Listen(addr, so.APIToken)
	if domain.CodeOf(err) == domain.CodeConflict {
		return domain.Errorf(domain.CodeConflict, "%w; give another with --addr, or --addr 127.0.0.1:0 for any that is free", err)
	}
	if err != nil {
		return err
	}
	var svc *Service
	err = a.patiently(ctx, so, func() error {
		svc, err = a.Open(ctx, so)
		return err
	})
	if err != nil {
		return errors.Join(err, l.Close())
	}
	defer func() { err = errors.Join(err, svc.Close(context.WithoutCancel(ctx))) }()
	url := "http://" + l.Addr().String()
	if err := svc.Announce(url); err != nil {
		return errors.Join(err, l.Close())
	}
	if err := a.patiently(ctx, so, func() error { return svc.Start(ctx) }); err != nil {
		return errors.Join(err, l.Close())
	}
	ready(ctx, svc, url)
	defer context.AfterFunc(ctx, svc.Stopping)()
	return serveUntil(ctx, l, svc.API, 2*time.Second)
}
