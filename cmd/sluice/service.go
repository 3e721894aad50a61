package main

import (
	"cmp"
	"context"
	"errors"
	"time"

	"sluice/internal/cli"
	"sluice/internal/engine"
	"sluice/internal/httpapi"
	"sluice/internal/metrics"
	"sluice/internal/quota"
	"sluice/internal/schedule"
	"sluice/internal/source"
	"sluice/internal/source/github"
	"sluice/internal/webhook"
	"sluice/internal/wiring"
)

// checkLogin refuses what cannot be a login at GitHub.
func checkLogin(login string) error { return new(github.Source).CheckLogin(login) }

// harvests says by source when accounts are collected again.
func harvests(o cli.ServiceOptions) map[string]schedule.Policy {
	if o.Harvest == nil {
		return nil
	}
	return map[string]schedule.Policy{"github": *o.Harvest}
}

// quotaOf is GitHub's quota with what was said about it.
func quotaOf(o cli.ServiceOptions) quota.Config {
	limits := wiring.GitHubQuota(o.Floor)
	for name, bucket := range limits.Buckets {
		bucket.Limit = min(bucket.Limit, cmp.Or(o.Limit, bucket.Limit))
		bucket.Window = min(bucket.Window, cmp.Or(o.Window, bucket.Window))
		// Where an hour is said to be shorter than a minute, so is the minute.
		bucket.PointsPeriod = min(time.Minute, bucket.Window)
		bucket.PointsPerMinute = cmp.Or(o.Points, bucket.PointsPerMinute)
		limits.Buckets[name] = bucket
	}
	return limits
}

// open assembles a service and its API.
func open(ctx context.Context, o cli.ServiceOptions) (*cli.Service, error) {
	src, err := github.New(github.Options{
		BaseURL: o.GitHubURL, Collaborator: o.Collect.Collaborator, Contributed: o.Collect.Contributed,
		OnlyOwnCommits: o.Collect.OwnCommits, NoGraphQL: o.Collect.NoGraphQL, SweepEvery: o.Collect.SweepEvery,
	})
	if err != nil {
		return nil, err
	}
	refreshes, err := refreshOf(o)
	if err != nil {
		return nil, err
	}
	svc, err := wiring.Open(ctx, wiring.Options{
		DataDir: o.DataDir, Holder: o.Holder, Servers: wiring.Servers(o.Servers), Scheduler: o.Roles.Scheduler,
		Quota: quotaOf(o), Sources: []source.Source{src},
		Engine: engine.Config{
			Workers: o.Workers, RequestsOnly: !o.Roles.Worker, PoolTokens: o.PoolTokens, DiscoverOnly: o.DiscoverOnly,
			Lease: o.Lease, Harvests: harvests(o), Log: o.Log,
		},
		Refresh: refreshes,
		Timers: wiring.Timers{
			Keyspace: o.Timers.Keyspace,
			Webhook:  webhook.Options{Secret: o.Timers.WebhookSecret, AllowPrivate: o.Timers.AllowPrivate, UserAgent: "sluice/" + version()},
		},
	})
	if err != nil {
		return nil, err
	}
	scrape, err := metrics.New(metrics.Sources{
		Engine: svc.Engine, Runs: svc.State, Dispatch: svc.Dispatch, Quota: svc.Quota, SQL: svc.SQL, Timers: svc.Timers, Refreshes: refreshMetrics(svc),
	}, o.Log)
	if err != nil {
		return nil, errors.Join(err, svc.Close(ctx))
	}
	life := httpapi.NewLifecycle()
	api := httpapi.New(httpapi.Deps{
		Orchestrator: svc.Engine, Observer: svc.Engine, Reader: svc.State, Quota: svc.Quota,
		Statistics: svc.Statistics, Documents: svc.Documents, Timers: svc.Timers, Redis: svc.Redis, Refreshes: refreshAPI(svc), Archive: archiveAPI(svc),
		Metrics: scrape, Check: svc.Check, Lifecycle: life, HookSecret: o.HookSecret, Log: o.Log,
	}, httpapi.Options{APIToken: o.APIToken, Version: version(), ProbesOnly: !o.Roles.API})
	return &cli.Service{
		API: api, Documents: svc.Documents,
		Start: func(ctx context.Context) error {
			if err := svc.Start(ctx); err != nil {
				return err
			}
			life.Ready()
			return nil
		},
		Stopping: life.Stopping,
		Close:    svc.Close,
		Announce: func(url string) error {
			if svc.DB == nil {
				return nil
			}
			return svc.DB.SetHolder(o.Holder + " at " + url)
		},
	}, nil
}
