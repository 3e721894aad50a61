package httpapi

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"sluice/internal/domain"
	"sluice/internal/engine"
	"sluice/internal/httpapi/wire"
	"sluice/internal/state"
)

const (
	// activePage bounds one read of runs, and what one snapshot holds.
	activePage = 500
	// resumeMost is how many runs that began since a reader's last event are
	// looked through; beyond that the reader is told that it missed some.
	resumeMost = 10_000
)

// watched says from where on the progress of all runs is followed.
type watched struct {
	After  int64  `query:"after" minimum:"-1" default:"-1" doc:"Also send runs with a larger id that have already ended; -1 sends none"`
	LastID string `header:"Last-Event-ID" maxLength:"100" doc:"The id of the last event that the reader has, instead of after; a browser sends it when it reconnects"`
}

// position is -1 for a reader that has seen nothing yet.
func (in *watched) position() (int64, error) {
	if in.LastID == "" {
		return in.After, nil
	}
	// A browser repeats the address with its after: the event is newer.
	n, err := strconv.ParseInt(in.LastID, 10, 64)
	if err != nil || n < 0 {
		return 0, domain.Errorf(domain.CodeInvalid, "Last-Event-ID is not the id of an event of this stream; leave it out to begin anew")
	}
	return n, nil
}

// followAll sends the progress of every run that has changed: the active ones,
// and those that have ended since the last look.
//
// The id of an event is a position: every run up to it had ended, and its end was
// told. Whoever comes back with it is told of all active runs, and of those above
// it that have ended meanwhile, some of them once more. So nothing has to be kept
// for readers, and a position means the same in every process.
type followAll struct {
	*eventRoutes
	sent map[int64]engine.Progress
	// after is the position of a reader that comes back; -1 if it is new.
	after int64
	// newest is the highest run id looked at; a run above it is news even if
	// it began and ended between two looks.
	newest   int64
	position int64
	begun    bool
}

func (f *followAll) look(ctx context.Context, out *eventStream) (ended bool, err error) {
	if !f.begun {
		return false, f.begin(ctx, out)
	}
	runs, err := f.pending(ctx)
	if err != nil {
		return false, err
	}
	return false, f.tell(ctx, out, runs)
}

// begin sends how the active runs stand, and what has ended since the reader's
// position.
func (f *followAll) begin(ctx context.Context, out *eventStream) error {
	// Read before the active ones: what begins in between is news then.
	latest, err := f.Reader.Runs(ctx, state.RunQuery{Limit: 1})
	if err != nil {
		return err
	}
	if len(latest) > 0 {
		f.newest = latest[0].ID
	}
	active, err := f.read(ctx, state.RunQuery{ActiveOnly: true}, 0)
	if err != nil {
		return err
	}
	var ended []domain.Run
	missed := f.after >= 0 && f.newest-f.after > resumeMost
	if f.after >= 0 && !missed {
		if ended, err = f.read(ctx, state.RunQuery{}, f.after); err != nil {
			return err
		}
		ended = slices.DeleteFunc(ended, func(r domain.Run) bool { return r.Status.Active() })
	}
	slices.SortFunc(active, byID)
	if err := f.snapshot(ctx, out, active, len(ended) > 0, missed); err != nil {
		return err
	}
	f.begun = true
	slices.SortFunc(ended, byID)
	return f.tell(ctx, out, ended)
}

func byID(a, b domain.Run) int { return cmp.Compare(a.ID, b.ID) }

// snapshot sends the active runs. While ends are still to be told, the position
// stays where the reader's was.
func (f *followAll) snapshot(ctx context.Context, out *eventStream, active []domain.Run, owed, missed bool) error {
	all := make([]engine.Progress, 0, len(active))
	for _, run := range active {
		p, err := f.Observer.Progress(ctx, run)
		if err != nil {
			return err
		}
		f.sent[run.ID] = p
		all = append(all, p)
	}
	f.position = f.reached()
	if owed {
		f.position = min(f.after, f.position)
	}
	for {
		part := all[:min(len(all), activePage)]
		all = all[len(part):]
		err := out.identified(f.id(f.position), wire.EventSnapshot, wire.RunsSnapshot{Runs: part, More: len(all) > 0, Missed: missed})
		if err != nil || len(all) == 0 {
			return err
		}
	}
}

// tell sends those of the runs that have changed, which come in id order.
func (f *followAll) tell(ctx context.Context, out *eventStream, runs []domain.Run) error {
	var changed []engine.Progress
	for _, run := range runs {
		p, err := f.Observer.Progress(ctx, run)
		if err != nil {
			return err
		}
		if !sameProgress(p, f.sent[run.ID]) {
			changed = append(changed, p)
		}
		if run.Status.Active() {
			f.sent[run.ID] = p
		} else {
			delete(f.sent, run.ID)
		}
	}
	next := f.reached()
	for i, p := range changed {
		if i == len(changed)-1 {
			f.position = next
		}
		if err := out.identified(f.id(f.position), wire.EventProgress, p); err != nil {
			return err
		}
	}
	f.position = next
	return nil
}

func (f *followAll) id(position int64) string { return strconv.FormatInt(position, 10) }

// reached is the position once everything known has been told.
func (f *followAll) reached() int64 {
	at := f.newest
	for id := range f.sent {
		at = min(at, id-1)
	}
	return at
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
	// Runs that were created since the last look.
	news, err := f.read(ctx, state.RunQuery{}, f.newest)
	if err != nil {
		return nil, err
	}
	if len(news) > 0 {
		f.newest = news[0].ID
	}
	for _, run := range news {
		if !listed[run.ID] {
			runs = append(runs, run)
		}
	}
	slices.SortFunc(runs, byID)
	return runs, nil
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
