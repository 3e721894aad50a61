package wiring

import (
	"context"
	"errors"
	"maps"
	"slices"

	"sluice/internal/backend/mongo"
	"sluice/internal/document"
	"sluice/internal/quota"
	"sluice/internal/schedule"
)

// addHarvests says when accounts of each source are collected again.
func addHarvests(o *Options) error {
	if !o.Config.Harvest.On || o.Engine.Harvests != nil {
		return nil
	}
	policy, err := o.Config.Harvest.Schedule()
	o.Engine.Harvests = map[string]schedule.Policy{}
	for _, src := range o.Sources {
		o.Engine.Harvests[src.Name()] = policy
	}
	return err
}

// openSources finds out which sources there are, and opens the store of their documents
// if that is apart.
func (s *Service) openSources(ctx context.Context, o *Options, ports *parts) error {
	if err := s.addSources(ctx, o); err != nil {
		return err
	}
	ports.Sources = o.Sources
	return s.openMongo(ctx, *o, ports)
}

// addSources adds to the sources those that the records tell.
func (s *Service) addSources(ctx context.Context, o *Options) error {
	if o.Added != nil {
		added, err := o.Added(ctx, s.Records)
		if err != nil {
			return err
		}
		o.Sources = append(slices.Clip(o.Sources), added...)
		buckets := map[string]quota.Limits{}
		maps.Copy(buckets, o.Quota.Buckets)
		o.Quota.Buckets = buckets
		for _, src := range added {
			maps.Copy(buckets, src.Describe().Quota(0).Buckets)
			o.Quota.Concurrency = least(o.Quota.Concurrency, src.Describe().Concurrency)
		}
	}
	if err := (inferrer{s}).openColumns(ctx, o); err != nil {
		return err
	}
	for _, src := range o.Sources {
		d := src.Describe()
		s.Sources, s.Kinds = append(s.Sources, d), append(s.Kinds, d.Kinds...)
	}
	return errors.Join(s.Kinds.Check(), addHarvests(o))
}

// least is the smaller of two bounds, of which 0 is none.
func least(a, b int) int {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}

// openMongo opens the separate document store, if there is one.
func (s *Service) openMongo(ctx context.Context, o Options, ports *parts) error {
	if o.Config.Servers.Mongo == "" {
		return nil
	}
	db, err := mongo.Open(o.Config.Servers.Mongo)
	if err != nil {
		return err
	}
	s.closers = append(s.closers, func() error { return db.Close(context.WithoutCancel(ctx)) })
	s.columns.reopen = func(ctx context.Context, kinds document.Kinds) (document.Reader, error) {
		return mongo.NewDocuments(ctx, db, kinds)
	}
	documents, err := mongo.NewDocuments(ctx, db, s.Kinds)
	if err != nil {
		return err
	}
	s.checks = append(s.checks, Check{"mongo", documents.Check})
	s.Fleet.works("documents", db)
	s.Documents, ports.Documents = documents, documents
	log, err := mongo.NewTimerLog(ctx, db)
	if err != nil {
		return err
	}
	ports.timers.Log = log
	ports.words, err = mongo.NewWords(ctx, db)
	return err
}
