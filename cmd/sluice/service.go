package main

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"os"
	"strings"

	"sluice/internal/access"
	"sluice/internal/cli"
	"sluice/internal/config"
	"sluice/internal/engine"
	"sluice/internal/httpapi"
	"sluice/internal/metrics"
	"sluice/internal/record"
	"sluice/internal/source"
	"sluice/internal/sources"
	"sluice/internal/traces"
	"sluice/internal/web"
	"sluice/internal/webhook"
	"sluice/internal/wiring"
)

// open assembles a service and its API.
func open(ctx context.Context, o cli.ServiceOptions) (*cli.Service, error) {
	collected, err := sources.OpenCollected(o.Sources, o.Declared...)
	if err != nil {
		return nil, err
	}
	rations, err := wiring.Rations(sources.Collected(o.Declared...), o.Quota)
	if err != nil {
		return nil, err
	}
	refreshes, err := refreshOf(o)
	if err != nil {
		return nil, err
	}
	meter, err := metrics.NewInstruments(nil)
	if err != nil {
		return nil, err
	}
	proxies, err := access.ParseProxies(o.HTTP.TrustedProxies)
	if err != nil {
		return nil, err
	}
	tracer, err := traces.Open(ctx, traces.Options{
		Endpoint: o.Traces.Endpoint, Sample: o.Traces.Sample, Version: version(), Process: workerID(), Env: os.LookupEnv,
	})
	if err != nil {
		return nil, err
	}
	added := newAdded(o)
	svc, err := wiring.Open(ctx, wiring.Options{
		Meter: meter, Version: version(), Inferred: added.inferred(), Config: o.Config, Look: o.Look, Read: o.Read, Holder: o.Holder, Quota: rations, Sources: collected, Added: added.open, Refresh: refreshes,
		Engine: engine.Config{Log: o.Log, Tracer: tracer, Unknown: added.lookout.Stale}, Timers: wiring.Timers{Webhook: webhook.Options{UserAgent: "sluice/" + version()}},
	})
	if err != nil {
		return nil, err
	}
	scrape, err := metrics.New(metrics.Sources{
		Engine: svc.Engine, State: svc.State, Dispatch: svc.Dispatch, Quota: svc.Quota, SQL: svc.SQL, Feed: svc.Feed, Timers: svc.Timers, Refreshes: refreshMetrics(svc),
		Statistics: svc.State, Notifications: svc.Notifications, Sinks: svc.Sinks, Search: searchMetrics(svc), Instruments: meter, Owners: o.HTTP.MetricsOwners, Version: version(),
	}, o.Log)
	if err != nil {
		return nil, errors.Join(err, svc.Close(ctx))
	}
	life := httpapi.NewLifecycle()
	api := httpapi.New(httpapi.Deps{
		Orchestrator: svc.Engine, Observer: svc.Engine, Reader: svc.State, Quota: svc.Quota,
		Statistics: svc.Statistics, Documents: svc.Documents, Feed: svc.Feed, Finder: svc.Finder, Lister: svc.Lister, Queries: svc.Queries, Records: svc.Records, Search: searchAPI(svc), Timers: svc.Timers, Redis: svc.Redis, Fleet: svc.Fleet, Refreshes: refreshAPI(svc), Archive: archiveAPI(svc), Notifications: svc.Notifications, Sinks: svc.Sinks,
		Metrics: scrape, Measure: meter.HTTP, Refused: meter.Refused, Checks: checks(svc), Keys: svc.Keys, Lifecycle: life, Sources: svc.Sources, Catalogue: added.catalogue(ctx, svc), HookSecrets: hookSecrets(o.Sources), Log: o.Log,
		Tokens: svc.Tokens, Audit: svc.Audit, Tracer: tracer,
	}, httpapi.Options{APIToken: o.HTTP.Token, Version: version(), ProbesOnly: !o.Service.Roles.Has(config.RoleAPI),
		Exposed: o.Exposed, TrustedProxies: proxies})
	return serviceOf(o, svc, withDashboard(o, svc, api, proxies), life, tracer, added), nil
}

// withDashboard puts the pages for people before the API, where there is one.
func withDashboard(o cli.ServiceOptions, svc *wiring.Service, api http.Handler, proxies []netip.Prefix) http.Handler {
	if !o.Service.Roles.Has(config.RoleAPI) {
		return api
	}
	return web.New(api, web.Options{
		Prefix: o.HTTP.PathPrefix, Version: version(), Sources: svc.Sources, Settings: o.Explained, Roles: strings.Join(o.Service.Roles, ", "), Sessions: svc.Records,
		TrustedProxies: proxies,
	})
}

// serviceOf is what commands are given of a service.
func serviceOf(o cli.ServiceOptions, svc *wiring.Service, api http.Handler, life *httpapi.Lifecycle, tracer *traces.Tracer, added *added) *cli.Service {
	return &cli.Service{
		Inferred: func(ctx context.Context) (map[string][]byte, error) { return inferred(ctx, svc.Records) },
		API:      api, Documents: svc.Documents, HasTokens: svc.Tokens.Any,
		Start: func(ctx context.Context) error {
			if err := svc.Start(ctx); err != nil {
				return err
			}
			added.lookOut(ctx, svc)
			life.Ready()
			return nil
		},
		Stopping: life.Stopping, EndStreams: life.EndStreams, Changed: added.lookout.Differs(),
		Failed: svc.Engine.Failed(),
		Err:    svc.Engine.Err,
		Close: func(ctx context.Context) error {
			// What could not be traced is no failure of what was done.
			defer func() { _ = tracer.Close(ctx) }()
			added.stop()
			return svc.Close(ctx)
		},
		Announce: func(url string) error {
			svc.Fleet.Serves(url)
			if svc.DB == nil {
				return nil
			}
			return svc.DB.SetHolder(o.Holder + " at " + url)
		},
	}
}

// checks are what /readyz looks at.
func checks(svc *wiring.Service) (all []httpapi.Check) {
	for _, c := range svc.Checks() {
		all = append(all, httpapi.Check(c))
	}
	return all
}

// hookSecrets are what sources' upstreams sign their webhooks with.
func hookSecrets(set source.Settings) map[string]string {
	secrets := map[string]string{}
	for _, d := range sources.Collected() {
		if d.Hook != nil {
			secrets[d.Name] = set.Text(d.Hook.Setting)
		}
	}
	return secrets
}

// inferred are the columns that were inferred from first records, by kind.
func inferred(ctx context.Context, records record.Store) (map[string][]byte, error) {
	all, err := records.List(ctx, record.Columns)
	kept := map[string][]byte{}
	for _, one := range all {
		kept[one.Name] = one.Value
	}
	return kept, err
}
