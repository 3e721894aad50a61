package wiring

import (
	"context"

	"sluice/internal/config"
	"sluice/internal/document"
	"sluice/internal/sink"
	"sluice/internal/sink/hook"
)

// followed is a store of documents whose changes can be followed.
type followed interface {
	document.Feed
	document.Finder
}

// openSinks assembles what carries documents elsewhere. Among several processes those
// that schedule do, and of these one for each sink.
func (s *Service) openSinks(o Options, store hook.Store) error {
	open, err := s.openTargets(o, store)
	if err != nil {
		return err
	}
	options := sink.ServiceOptions{Open: open, Runner: sink.RunnerOptions{
		Source: sink.Source{Documents: s.Documents, Accounts: s.State, Kinds: s.Kinds, Watch: s.Engine.Watch},
		Now:    o.Engine.Now, Log: o.Engine.Log,
	}}
	if store, ok := s.Documents.(followed); ok {
		options.Runner.Source.Feed, options.Runner.Source.Finder = store, store
	}
	if s.Alone != nil {
		options.Alone = func(ctx context.Context, name string) (func(), error) { return s.Alone(ctx, "sink "+name) }
	}
	if o.Meter != nil {
		options.Applied = o.Meter.Carried
	}
	s.Sinks = sink.NewService(options)
	for _, one := range o.Config.Sinks {
		if err := s.Sinks.Add(one.Name, one.URL); err != nil {
			return err
		}
	}
	s.closers = append(s.closers, s.Sinks.Close)
	if s.Sinks.Active() && (o.Config.Service.Roles.Has(config.RoleScheduler) || !s.shared) {
		s.background = append(s.background, s.Sinks.Run)
	}
	return nil
}
