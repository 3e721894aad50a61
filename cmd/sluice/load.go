package main

import (
	"context"
	"net/http"

	"sluice/internal/cli"
	"sluice/internal/engine"
	"sluice/internal/httpapi"
	"sluice/internal/load"
	"sluice/internal/quota/rate"
	"sluice/internal/refresh"
	"sluice/internal/source"
	"sluice/internal/source/github"
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
	refreshes.Upstreams = map[string]refresh.Upstream{load.Source: refreshes.Upstreams[mapleStory]}
	refreshes.Limits = map[string]rate.Limits{load.Source: refreshes.Limits[mapleStory]}
	// An engine has a source, also one that is never started.
	src, err := github.New(github.Options{BaseURL: o.GitHubURL})
	if err != nil {
		return nil, err
	}
	svc, err := wiring.Open(ctx, wiring.Options{
		DataDir: o.DataDir, Holder: o.Holder, Servers: wiring.Servers(o.Servers), Quota: wiring.NoQuota(),
		Sources: []source.Source{src},
		Engine:  engine.Config{RequestsOnly: true, Log: o.Log}, Refresh: refreshes,
	})
	if err != nil {
		return nil, err
	}
	backend := &load.Backend{
		Parts: svc.Refreshes.Parts,
		API: func(p *refresh.Pipeline) http.Handler {
			return httpapi.New(httpapi.Deps{
				Orchestrator: svc.Engine, Observer: svc.Engine, Reader: svc.State, Quota: svc.Quota,
				Statistics: svc.Statistics, Documents: svc.Documents, Timers: svc.Timers, Refreshes: p, Check: svc.Check,
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
