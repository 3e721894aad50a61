package cli

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"sluice/internal/domain"
	"sluice/internal/httpapi"
)

// announce serves the API of a service in this process on an address that only this
// machine reaches, and tells whoever comes to the data folder where it is: so that
// a collection can be asked while it works. It is guarded as `up` guards it, by the
// token of the settings and those that were made. Where it cannot be served, the
// collection goes on without.
func (a *App) announce(ctx context.Context, o *options, svc *Service) (stop func() error) {
	none := func() error { return nil }
	so, err := a.service(o, "sluice collect")
	if err != nil || svc.Announce == nil || so.Servers.Shared() {
		return none
	}
	l, err := httpapi.Listen("127.0.0.1:0")
	if err != nil {
		so.Log.Warn("the collection cannot be asked how far it is", "error", err)
		return none
	}
	secured, err := serverTLS(so)
	if err == nil {
		err = svc.Announce(scheme(so.HTTP) + l.Addr().String())
	}
	if err != nil {
		so.Log.Warn("the collection cannot be asked how far it is", "error", errors.Join(err, l.Close()))
		return none
	}
	serving, end := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() {
		ended <- httpapi.Serve(serving, l, svc.API, httpapi.ServerOptions{
			Connections: connectionsFor(so.HTTP.Connections), Patience: 2 * time.Second, TLS: secured, Log: so.Log,
		})
	}()
	return func() error {
		svc.Stopping()
		end()
		return <-ended
	}
}

// carried are the flags of collect that count also where another process collects:
// they say whom to ask, for what, and how to print it.
var carried = []string{"server", "api-token", "ca-file", "data-dir", "token-file", "dry-run", "output", "log-level", "log-format", "config"}

// refuseIgnored refuses flags that a service which collects by its own settings
// would not heed.
func (o *options) refuseIgnored(s *session) error {
	if s.local != nil {
		return nil
	}
	var ignored []string
	for name, given := range o.typed {
		if given && !slices.Contains(carried, name) && (name != "set" || !o.setIsCarried) {
			ignored = append(ignored, "--"+name)
		}
	}
	if len(ignored) == 0 {
		return nil
	}
	slices.Sort(ignored)
	who := "the service that has " + o.Service.DataDir
	if o.Server != "" {
		who = "the service at " + o.Server
	}
	return usage("%s cannot be honoured: %s collects, by the settings it was started with; start it with %s, or collect after it has ended, or leave %s out",
		strings.Join(ignored, ", "), who, pronoun(ignored), pronoun(ignored))
}

func pronoun(things []string) string {
	if len(things) == 1 {
		return "it"
	}
	return "them"
}

// handedOn says that a collection was broken off as the process that it was handed
// to has ended: whoever comes next goes on with it.
func (a *App) handedOn(ctx context.Context, o *options, s *session, err error) bool {
	if s.local != nil || o.Server != "" || domain.CodeOf(err) != domain.CodeUnavailable || ctx.Err() != nil {
		return false
	}
	hc, failed := trusting(o)
	if failed != nil {
		return false
	}
	// It gives the folder up when its last calls have ended; one that answers has not.
	for range int(handOnPatience / handOnPause) {
		who := a.Holder(o.Service.DataDir)
		if who == "" {
			return true
		}
		if m := holderURL.FindStringSubmatch(who); m != nil && a.lives(ctx, hc, m[1]) == nil {
			return false
		}
		if !a.sleep(ctx, handOnPause) {
			return false
		}
	}
	return false
}

const (
	handOnPause    = 100 * time.Millisecond
	handOnPatience = time.Minute
)
