package sink

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"sluice/internal/backoff"
	"sluice/internal/document"
	"sluice/internal/domain"
)

// Source is what is carried.
type Source struct {
	Feed      document.Feed
	Finder    document.Finder
	Documents document.Reader
	Accounts  Accounts
	Kinds     document.Kinds
	// Watch tells that there may be changes (see watch.Broadcaster).
	Watch func() (changed <-chan struct{}, end func())
}

// Accounts tells whose documents are whose.
type Accounts interface {
	// Account returns an account; one that is not there is an error of code not_found.
	Account(ctx context.Context, id int64) (domain.Account, error)
}

// RunnerOptions is what a runner is made of.
type RunnerOptions struct {
	// Name is what people call the sink, and Kind what kind of target it has.
	Name, Kind string
	Target     Target
	Source     Source
	Options
	// Anew carries everything once more, also to a target that follows another feed.
	Anew bool
	// Alone keeps other processes from carrying the same; nil if there are none. While
	// one of them does it is an error of code conflict.
	Alone func(ctx context.Context) (release func(), err error)
	// Applied, if set, is told how many rows each batch had. It does not wait.
	Applied func(rows int)
	// Moved, if set, is told that the status is another one. It does not wait.
	Moved func()
	// Delays are how long a target that fails is left alone.
	Delays backoff.Delays
	// BatchRows is about how many rows a batch has.
	BatchRows int
	Now       func() time.Time
	Log       *slog.Logger
}

// Runner carries what was collected to one target.
type Runner struct {
	RunnerOptions
	tables []Table
	// byKind are the places of kinds among tables.
	byKind map[document.Kind]int

	mu     sync.Mutex
	status Status
}

const (
	defaultRows = 1000
	// batchBytes is how much payload a batch has at most, but for its last document.
	batchBytes = 16 << 20
	// patience is how long another process that carries is left alone.
	patience = 15 * time.Second
)

// defaultDelays leave a target alone that fails.
var defaultDelays = backoff.Delays{First: time.Second, Longest: time.Minute, Spread: backoff.Upper}

// New returns a runner that does nothing yet.
func New(o RunnerOptions) *Runner {
	if o.BatchRows <= 0 {
		o.BatchRows = defaultRows
	}
	if o.Delays.First <= 0 {
		o.Delays = defaultDelays
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Applied == nil {
		o.Applied = func(int) {}
	}
	if o.Moved == nil {
		o.Moved = func() {}
	}
	r := &Runner{RunnerOptions: o, byKind: map[document.Kind]int{}}
	r.status = Status{Name: o.Name, Kind: o.Kind, State: StateStopped}
	r.tables = Tables(o.Source.Kinds, !o.WithoutRaw)
	for i := range r.tables {
		r.byKind[r.tables[i].Kind] = i
	}
	return r
}

// Tables are the tables of all kinds that have columns.
func Tables(kinds document.Kinds, withRaw bool) []Table {
	var tables []Table
	for i := range kinds {
		if d := &kinds[i]; len(d.Columns) > 0 {
			tables = append(tables, Table{Name: d.Plural, Columns: d.Columns, Kind: d.Kind, Raw: withRaw})
		}
	}
	return tables
}

// Run carries until ctx ends. Whatever fails is tried again, from where the target is.
func (r *Runner) Run(ctx context.Context) {
	defer r.setState(StateStopped)
	r.setState(StateStarting)
	delays := r.Delays.Series()
	for ctx.Err() == nil {
		stored := r.Status().Batches
		err := r.alone(ctx, func(ctx context.Context) error {
			return r.session(ctx, func(Progress) bool { return false })
		})
		if ctx.Err() != nil {
			return
		}
		if r.Status().Batches > stored {
			delays.Reset()
		}
		wait := delays.Next()
		if errors.Is(err, errElsewhere) {
			wait = patience
			delays.Reset()
			r.setState(StateElsewhere)
		} else {
			r.failed(err)
			r.Log.Warn("a sink waits and tries again", "sink", r.Name, "in", wait, "error", err)
		}
		if !backoff.Sleep(ctx, wait) {
			return
		}
	}
}

// CatchUp carries until all is in the target that there was when it was called, and
// returns the first error.
func (r *Runner) CatchUp(ctx context.Context) error {
	bounds, err := r.Source.Feed.Bounds(ctx)
	if err != nil {
		return err
	}
	err = r.alone(ctx, func(ctx context.Context) error {
		return r.session(ctx, func(p Progress) bool { return p.Backfilled && p.Position >= bounds.Newest })
	})
	if err != nil {
		r.failed(err)
		return err
	}
	r.setState(StateDone)
	return nil
}

// errElsewhere says that another process carries.
var errElsewhere = errors.New("another process carries it")

func (r *Runner) alone(ctx context.Context, carry func(context.Context) error) error {
	if r.Alone == nil {
		return carry(ctx)
	}
	release, err := r.Alone(ctx)
	if domain.CodeOf(err) == domain.CodeConflict {
		return domain.Errorf(domain.CodeUnavailable, "the sink %s: %w", r.Name, errElsewhere)
	}
	if err != nil {
		return err
	}
	defer release()
	return carry(ctx)
}

// session carries until enough says so, or something fails.
func (r *Runner) session(ctx context.Context, enough func(Progress) bool) error {
	p, err := r.begin(ctx)
	if err != nil {
		return err
	}
	// Whoever watches before it reads misses nothing.
	changed, end := r.Source.Watch()
	defer end()
	for {
		if !p.Backfilled {
			if p, err = r.backfill(ctx, p); err != nil {
				return err
			}
		}
		r.arrived(p)
		if enough(p) {
			return nil
		}
		next, err := r.follow(ctx, p)
		switch {
		case domain.CodeOf(err) == domain.CodeGone:
			r.Log.Warn("changes that the sink has not seen are kept no longer; it copies everything anew", "sink", r.Name, "position", p.Position)
			p.Backfilled, p.After = false, document.Key{}
			continue
		case err != nil:
			return err
		case next != p:
			p = next
			continue
		}
		r.idle()
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// begin prepares the target and returns where to go on.
func (r *Runner) begin(ctx context.Context) (p Progress, err error) {
	if err := r.Target.Prepare(ctx, r.tables); err != nil {
		return p, err
	}
	if p, err = r.Target.Progress(ctx); err != nil {
		return p, err
	}
	bounds, err := r.Source.Feed.Bounds(ctx)
	if err != nil {
		return p, err
	}
	if r.Anew {
		// It begins anew once: what fails later goes on with that.
		r.Anew = false
		return Progress{Feed: bounds.Feed, Generation: p.Generation}, nil
	}
	switch {
	case p.Feed == "":
		return Progress{Feed: bounds.Feed, Generation: p.Generation}, nil
	case p.Feed != bounds.Feed:
		return p, domain.Errorf(domain.CodeConflict, "the target of the sink %s follows another store of documents (%s, and this is %s); "+
			"`sluice sync --anew URL` makes it follow this one and removes what is not here", r.Name, p.Feed, bounds.Feed)
	case p.Position > bounds.Newest:
		return p, domain.Errorf(domain.CodeConflict, "the target of the sink %s is at change %d, and the newest here is %d: this store was restored to an earlier state; "+
			"`sluice sync --anew URL` carries everything once more", r.Name, p.Position, bounds.Newest)
	}
	return p, nil
}

// apply stores a batch.
func (r *Runner) apply(ctx context.Context, b *Batch) error {
	if err := r.Target.Apply(ctx, b); err != nil {
		return err
	}
	r.Applied(len(b.Rows))
	r.applied(b)
	return nil
}
