package main

import (
	"context"
	"net/http"

	"sluice/internal/cli"
	"sluice/internal/config"
	"sluice/internal/engine"
	"sluice/internal/httpapi"
	"sluice/internal/load"
	"sluice/internal/quota/rate"
	"sluice/internal/refresh"
	"sluice/internal/sources"
	"sluice/internal/wiring"
)

// openLoad assembles what one instance of a load test is made of: the real
// parts, which the test puts its faults in front of. Nothing is started.
func openLoad(ctx context.Context, o cli.ServiceOptions) (*load.Backend, error) {
	refreshes, err := refreshOf(o)
	if err != nil {
		return nil, err
	}
	// Under a name of its own it touches nobody's snapshots.
	for name, upstream := range refreshes.Upstreams {
		refreshes.Upstreams = map[string]refresh.Upstream{load.Source: upstream}
		refreshes.Limits = map[string]rate.Limits{load.Source: refreshes.Limits[name]}
		break
	}
	o.Service.Roles = config.Roles{config.RoleAPI}
	// An engine has a source, also one that is never started.
	collected, err := sources.OpenCollected(o.Sources)
	if err != nil {
		return nil, err
	}
	svc, err := wiring.Open(ctx, wiring.Options{
		Config: o.Config, Holder: o.Holder, Quota: wiring.NoQuota(), Sources: collected,
		Engine: engine.Config{Log: o.Log}, Refresh: refreshes,
	})
	if err != nil {
		return nil, err
	}
	backend := &load.Backend{
		Parts: svc.Refreshes.Parts,
		API: func(p *refresh.Pipeline) http.Handler {
			return httpapi.New(httpapi.Deps{
				Orchestrator: svc.Engine, Observer: svc.Engine, Reader: svc.State, Quota: svc.Quota,
				Statistics: svc.Statistics, Documents: svc.Documents, Timers: svc.Timers, Refreshes: p, Checks: checks(svc), Sources: sources.Collected(),
			}, httpapi.Options{Version: version()})
		},
		Close: svc.Close,
	}
	backend.Nodes = redisNodes(ctx, svc)
	return backend, nil
}

// redisNodes counts the nodes of the Redis in use; 0 if there is none, or it
// does not say.
func redisNodes(ctx context.Context, svc *wiring.Service) int {
	if svc.Redis == nil {
		return 0
	}
	stats, err := svc.Redis(ctx)
	if err != nil {
		return 0
	}
	described, _ := stats.(wiring.RedisStats)
	return len(described.Nodes)
}
