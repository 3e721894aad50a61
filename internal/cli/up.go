package cli

import (
	"context"
	"errors"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"sluice/internal/config"
	"sluice/internal/domain"
	"sluice/internal/httpapi"
)

// upCommand runs the service.
type upCommand struct{ *App }

func (a upCommand) up(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "up",
		Short: "Run the service: the engine and its HTTP API",
		Args:  noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			so, err := a.service(o, "sluice up")
			if err != nil {
				return err
			}
			so.Harvest.On, so.Renews = o.Harvest.On, true
			return a.serve(c.Context(), so, func(_ context.Context, _ *Service, url string) {
				say(a.screen, "sluice %s; Ctrl-C stops\n", serving(so, url))
			})
		},
	}
}

// serving says what a process does and where its data is.
func serving(so ServiceOptions, url string) string {
	what := "serves " + url + "/api/v1; dashboard: " + url + so.HTTP.PathPrefix + "/"
	if !so.Service.Roles.Has(config.RoleAPI) {
		what = "works; " + url + "/readyz and /metrics show how"
	}
	if so.Servers.Shared() {
		return what + " (state and dispatch are shared with other processes)"
	}
	return what + " (data in " + so.Service.DataDir + ")"
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
			say(a.screen, "sluice: waiting: %s\n", said)
		}
		select {
		case <-time.After(serverPatience):
		case <-ctx.Done():
			return err
		}
	}
}

// serve runs a service until ctx ends or the service stops by itself. It calls
// ready once the service works and is about to answer at url, with a context
// that ends when it does not any more.
func (a *App) serve(ctx context.Context, so ServiceOptions, ready func(ctx context.Context, svc *Service, url string)) (err error) {
	// The address is taken before the data folder is touched: a port that is
	// in use is the commoner mistake.
	l, err := httpapi.Listen(so.HTTP.Addr)
	if domain.CodeOf(err) == domain.CodeConflict {
		return domain.Errorf(domain.CodeConflict, "%w; give another with --addr, or --addr 127.0.0.1:0 for any that is free", err)
	}
	if err != nil {
		return err
	}
	so.Exposed = httpapi.Exposed(l)
	if err := a.mayBeOpened(so); err != nil {
		return errors.Join(err, l.Close())
	}
	secured, err := serverTLS(so)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	live := &renewable{app: a, so: so, url: scheme(so.HTTP) + l.Addr().String()}
	if err := live.open(ctx); err != nil {
		return errors.Join(unlessStopped(ctx, err), l.Close())
	}
	defer func() { err = errors.Join(err, live.close(context.WithoutCancel(ctx))) }()
	if err := mayBeServed(ctx, so, live.svc); err != nil {
		return errors.Join(unlessStopped(ctx, err), l.Close())
	}
	if so.Exposed && so.HTTP.TLSCert == "" && so.HTTP.TrustedProxies == "" {
		so.Log.Warn("tokens travel unencrypted: give --tls-cert and --tls-key, or put a proxy in front and name it with --trusted-proxies", "addr", so.HTTP.Addr)
	}
	if err := live.start(ctx); err != nil {
		return errors.Join(unlessStopped(ctx, err), l.Close())
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	ready(ctx, live.svc, live.url)
	defer context.AfterFunc(ctx, live.stopping)()
	ended := make(chan error, 1)
	go func() {
		defer end()
		ended <- live.keep(ctx)
	}()
	err = httpapi.Serve(ctx, l, live, httpapi.ServerOptions{
		Connections: connectionsFor(so.HTTP.Connections), Patience: 2 * time.Second, TLS: secured, Log: so.Log,
	})
	end()
	return errors.Join(err, <-ended)
}

// unlessStopped drops what whoever is told to stop before it serves has to say: that
// it was told to.
func unlessStopped(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// connectionsFor is how many connections are taken: half of the files that the
// process may have open stay with its stores and its calls.
func connectionsFor(wanted int) int {
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		return wanted
	}
	return max(1, int(min(uint64(wanted), files.Cur/2)))
}
