package httpapi

import (
	"context"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"sluice/internal/domain"
	"sluice/internal/engine"
	"sluice/internal/state"
)

func (s *server) registerEvents(api huma.API) {
	one := operation{id: "watch-run", method: http.MethodGet, path: "/api/v1/runs/{id}/events", tag: "events",
		summary: "Follow a run's progress until it ends", errors: []int{http.StatusNotFound}}.huma()
	all := operation{id: "watch", method: http.MethodGet, path: "/api/v1/events", tag: "events",
		summary: "Follow the progress of every run"}.huma()
	for _, op := range []*huma.Operation{&one, &all} {
		op.Responses = eventResponses("progress (a run's progress) and error (a problem, after which the stream ends)")
	}
	huma.Register(api, one, func(ctx context.Context, in *numbered) (*huma.StreamResponse, error) {
		// A run that does not exist is told before the stream begins.
		if _, err := s.Reader.Run(ctx, in.ID); err != nil {
			return nil, s.problem(ctx, one.OperationID, err)
		}
		follow := &followRun{server: s, id: in.ID}
		//nolint:contextcheck // huma's context carries the request's
		return &huma.StreamResponse{Body: func(ctx huma.Context) { s.stream(ctx, one.OperationID, s.Observer.Watch, follow.look) }}, nil
	})
	huma.Register(api, all, func(_ context.Context, in *watched) (*huma.StreamResponse, error) {
		follow := &followAll{server: s, sent: map[int64]engine.Progress{}, newest: in.After, started: in.After >= 0}
		//nolint:contextcheck // huma's context carries the request's
		return &huma.StreamResponse{Body: func(ctx huma.Context) { s.stream(ctx, all.OperationID, s.Observer.Watch, follow.look) }}, nil
	})
}

// eventResponses describes a stream of events.
func eventResponses(which string) map[string]*huma.Response {
	return map[string]*huma.Response{"200": {
		Description: "Server-sent events: " + which,
		Content:     map[string]*huma.MediaType{"text/event-stream": {Schema: &huma.Schema{Type: huma.TypeString}}},
	}}
}

// watched says from where on the progress of all runs is followed.
type watched struct {
	After int64 `query:"after" minimum:"-1" default:"-1" doc:"Also tell of runs with a larger id that have ended already; -1 tells of none"`
}

// followRun sends one run's progress whenever it has changed.
type followRun struct {
	*server
	id   int64
	sent engine.Progress
}

func (f *followRun) look(ctx context.Context, out *eventStream) (ended bool, err error) {
	run, err := f.Reader.Run(ctx, f.id)
	if err != nil {
		return false, err
	}
	p, err := f.Observer.Progress(ctx, run)
	if err != nil {
		return false, err
	}
	if !sameProgress(p, f.sent) {
		if err := out.progress(p); err != nil {
			return false, err
		}
		f.sent = p
	}
	return !run.Status.Active(), nil
}

// sameProgress leaves out the forecast, which moves with the clock, and the
// quota, which moves with every call of anyone who shares it.
func sameProgress(a, b engine.Progress) bool {
	return a.Run == b.Run && slices.Equal(a.Waits, b.Waits)
}

// followAll sends the progress of every run that has changed: the active ones,
// and those that have ended since the last look.
type followAll struct {
	*server
	sent map[int64]engine.Progress
	// newest is the highest run id looked at; a run above it is news even if
	// it began and ended between two looks.
	newest  int64
	started bool
}

// activePage bounds one read of the active runs.
const activePage = 500

func (f *followAll) look(ctx context.Context, out *eventStream) (ended bool, err error) {
	runs, err := f.pending(ctx)
	if err != nil {
		return false, err
	}
	for _, run := range runs {
		p, err := f.Observer.Progress(ctx, run)
		if err != nil {
			return false, err
		}
		if !sameProgress(p, f.sent[run.ID]) {
			if err := out.progress(p); err != nil {
				return false, err
			}
		}
		if run.Status.Active() {
			f.sent[run.ID] = p
		} else {
			delete(f.sent, run.ID)
		}
	}
	return false, nil
}

// pending lists, in id order, the runs that may have something to tell.
func (f *followAll) pending(ctx context.Context) ([]domain.Run, error) {
	runs, err := f.read(ctx, state.RunQuery{ActiveOnly: true}, 0)
	if err != nil {
		return nil, err
	}
	listed := make(map[int64]bool, len(runs))
	for _, run := range runs {
		listed[run.ID] = true
	}
	for id := range f.sent {
		if listed[id] {
			continue
		}
		run, err := f.Reader.Run(ctx, id)
		if err != nil {
			return nil, err
		}
		runs, listed[id] = append(runs, run), true
	}
	news, err := f.news(ctx)
	if err != nil {
		return nil, err
	}
	for _, run := range news {
		if !listed[run.ID] {
			runs = append(runs, run)
		}
	}
	slices.SortFunc(runs, func(a, b domain.Run) int { return int(a.ID - b.ID) })
	return runs, nil
}

// news lists the runs that were created since the last look. What is there
// when the stream begins is history.
func (f *followAll) news(ctx context.Context) ([]domain.Run, error) {
	if !f.started {
		latest, err := f.Reader.Runs(ctx, state.RunQuery{Limit: 1})
		if err == nil && len(latest) > 0 {
			f.newest = latest[0].ID
		}
		f.started = err == nil
		return nil, err
	}
	news, err := f.read(ctx, state.RunQuery{}, f.newest)
	if err == nil && len(news) > 0 {
		f.newest = news[0].ID
	}
	return news, err
}

// read pages through runs, newest first, down to but not including an id.
func (f *followAll) read(ctx context.Context, q state.RunQuery, until int64) ([]domain.Run, error) {
	var all []domain.Run
	for q.Limit = activePage; ; q.BeforeID = all[len(all)-1].ID {
		page, err := f.Reader.Runs(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, run := range page {
			if run.ID <= until {
				return all, nil
			}
			all = append(all, run)
		}
		if len(page) < activePage {
			return all, nil
		}
	}
}
