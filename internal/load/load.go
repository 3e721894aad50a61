// Package load runs the refresh pipeline under sixteen scenarios of load, races
// and faults against a simulated upstream, and says of each whether it did what
// it must. The simulator counts for itself: no scenario takes the pipeline's own
// word for how many calls were made.
package load

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"time"

	"sluice/internal/refresh"
)

// Source is what the simulated upstream is called: nobody else's snapshots,
// locks and counts have that name.
const Source = "load"

// Backend is what one instance's pipeline is made of.
type Backend struct {
	Parts refresh.Parts
	// Nodes is how many nodes the Redis in use has; 0 if there is none.
	Nodes int
	// API serves a pipeline over HTTP.
	API   func(p *refresh.Pipeline) http.Handler
	Close func(ctx context.Context) error
}

// Instance says which backend is to be opened.
type Instance struct {
	// Run is different for every scenario that is run; what is stored under it
	// is nobody else's.
	Run    string
	Number int
	// URL is where the simulated upstream is, and Key its key.
	URL, Key string
}

// Options is what scenarios run with.
type Options struct {
	Open func(ctx context.Context, i Instance) (*Backend, error)
	// Shared says that every instance has a backend of its own and all of them
	// meet in servers. Otherwise they share one backend.
	Shared bool
	// Kafka says that it is not Redis that carries requests.
	Kafka bool
	// Seconds is how long traffic lasts; 0 is what suits a scenario.
	Seconds int
	// BodySize is about how many bytes an answer of the upstream has; 0 is
	// 300,000.
	BodySize int
}

// Verdict is what became of a scenario.
type Verdict string

// The verdicts.
const (
	Passed  Verdict = "passed"
	Missed  Verdict = "missed"
	Skipped Verdict = "skipped"
)

// Result is what a scenario found.
type Result struct {
	Name        string  `json:"name"`
	Description string  `json:"description"`
	Verdict     Verdict `json:"verdict"`
	// Why says why it was skipped or broken off.
	Why     string             `json:"why,omitempty"`
	Figures map[string]float64 `json:"figures"`
	// Needed is what figures must be, and Missed which of them are not.
	Needed map[string]string `json:"needed"`
	Missed []string          `json:"missed,omitempty"`

	order []string
}

// Order is the order in which the figures tell their story.
func (r *Result) Order() []string { return r.order }

// note adds a figure that nothing depends on.
func (r *Result) note(name string, value float64) {
	if _, again := r.Figures[name]; !again {
		r.order = append(r.order, name)
	}
	r.Figures[name] = math.Round(value*100) / 100
}

func (r *Result) need(name string, value float64, met bool, words string) {
	r.note(name, value)
	r.Needed[name] = words
	if !met {
		r.Missed = append(r.Missed, name)
	}
}

func (r *Result) exactly(name string, value, want int64) {
	r.need(name, float64(value), value == want, fmt.Sprintf("= %d", want))
}

// within is exactly, where what happened allows for more or less.
func (r *Result) within(name string, value, least, most int64) {
	if least == most {
		r.exactly(name, value, least)
		return
	}
	r.need(name, float64(value), value >= least && value <= most, fmt.Sprintf("%d to %d", least, most))
}

func (r *Result) atMost(name string, value, most float64) {
	r.need(name, value, value <= most, fmt.Sprintf("≤ %g", most))
}

func (r *Result) atLeast(name string, value, least float64) {
	r.need(name, value, value >= least, fmt.Sprintf("≥ %g", least))
}

func (r *Result) below(name string, value, limit float64) {
	r.need(name, value, value < limit, fmt.Sprintf("< %g", limit))
}

// Scenario is one of the sixteen.
type Scenario struct {
	Name, Description string

	instances int
	// seconds is how long its traffic lasts unless told otherwise.
	seconds int
	cluster bool
	run     func(ctx context.Context, w *world, r *Result) error
}

// Names lists the scenarios in their order.
func Names() []string {
	var out []string
	for _, s := range Scenarios() {
		out = append(out, s.Name)
	}
	return out
}

// Run runs the named scenarios, or all of them, in their order, and tells each
// result when it is there. It fails if ctx ends; a scenario that fails is missed.
func Run(ctx context.Context, o Options, names []string, tell func(Result)) ([]Result, error) {
	results := []Result{}
	for _, s := range Scenarios() {
		if len(names) > 0 && !slices.Contains(names, s.Name) {
			continue
		}
		r := Result{Name: s.Name, Description: s.Description, Figures: map[string]float64{}, Needed: map[string]string{}}
		began := time.Now()
		err := s.try(ctx, o, &r)
		if ctx.Err() != nil {
			return results, ctx.Err()
		}
		switch {
		case errors.Is(err, errSkip):
			r.Verdict = Skipped
		case err != nil:
			r.Verdict, r.Why = Missed, err.Error()
		case len(r.Missed) > 0:
			r.Verdict = Missed
		default:
			r.Verdict = Passed
		}
		r.note("seconds", time.Since(began).Seconds())
		results = append(results, r)
		if tell != nil {
			tell(r)
		}
	}
	return results, nil
}

// errSkip is what a scenario ends with that these backends cannot run.
var errSkip = errors.New("skipped")

func (s Scenario) try(ctx context.Context, o Options, r *Result) (err error) {
	if s.cluster && !o.Shared {
		r.Why = "needs --redis with a cluster"
		return errSkip
	}
	w, err := newWorld(ctx, o, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.close(context.WithoutCancel(ctx))) }()
	if s.cluster && w.nodes < 2 {
		r.Why = "needs --redis with a cluster"
		return errSkip
	}
	return s.run(ctx, w, r)
}
