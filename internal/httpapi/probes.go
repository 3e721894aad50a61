package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"sluice/internal/domain"
	"sluice/internal/httpapi/wire"
)

const (
	// checkTimeout is how long the store may take to prove that it works.
	checkTimeout = time.Second
	// checkLasts is how long that is believed: anybody may ask, and a proof is
	// a write.
	checkLasts = time.Second
)

// probeRoutes say whether the service works.
type probeRoutes struct {
	*common
	Checks    []Check
	readiness readiness
}

// Check proves that something works that the service needs.
type Check struct {
	// Name is shown to those who ask whether the service is ready.
	Name  string
	Check func(ctx context.Context) error
}

func (s *probeRoutes) registerProbes(api huma.API) {
	const tag = "probes"
	register(s, api, operation{id: "livez", method: http.MethodGet, path: "/livez", tag: tag,
		summary: "The process is alive"}, s.livez)
	ready := operation{id: "readyz", method: http.MethodGet, path: "/readyz", tag: tag,
		summary: "The service takes requests and its store can be read and written"}.huma()
	ready.Responses = map[string]*huma.Response{"200": {Description: "The service is ready", Content: map[string]*huma.MediaType{
		"application/json": {Schema: api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[probeAnswer](), true, "")},
		"text/plain":       {Schema: &huma.Schema{Type: huma.TypeString}, Example: "[+]lifecycle ok\n[+]state ok\nreadyz check passed\n"},
	}}}
	huma.Register(api, ready, s.readyz)
}

type probeAnswer struct {
	Status string `json:"status" enum:"ok"`
	// The others are told to those who ask for more.
	Checked *time.Time   `json:"checked_at,omitempty" doc:"When everything that the service needs was last checked"`
	TookMS  *int64       `json:"took_ms,omitempty" doc:"How long that took"`
	Checks  []wire.Check `json:"checks,omitempty" nullable:"false" doc:"What was looked at"`
}

type probeInput struct {
	Verbose string `query:"verbose" maxLength:"10" doc:"Has no effect here"`
}

func (s *probeRoutes) livez(context.Context, *probeInput) (*body[probeAnswer], error) {
	return &body[probeAnswer]{probeAnswer{Status: "ok"}}, nil
}

// readyInput tells whether verbose was given, also without a value.
type readyInput struct {
	Verbose string `query:"verbose" maxLength:"10" doc:"Also list what was checked, and when; any value, or none"`
	Accept  string `header:"Accept" maxLength:"1000" doc:"With verbose, text/plain brings a line for each check"`

	verbose bool
}

// Resolve implements huma.Resolver.
func (in *readyInput) Resolve(ctx huma.Context) []error {
	address := ctx.URL()
	in.verbose = address.Query().Has("verbose")
	return nil
}

// lines tells whether a line for each check is wanted, as Kubernetes has it.
func (in *readyInput) lines() bool {
	return in.verbose && strings.Contains(in.Accept, "text/plain") && !strings.Contains(in.Accept, "json")
}

func (s *probeRoutes) readyz(ctx context.Context, in *readyInput) (*huma.StreamResponse, error) {
	answer, failed := s.ready(ctx, in.verbose)
	return &huma.StreamResponse{Body: func(out huma.Context) {
		_, w := humago.Unwrap(out)
		switch {
		case in.lines():
			writeLines(w, answer.Checks, failed)
		case failed != nil:
			writeProblem(w, failed)
		default:
			w.Header().Set("Content-Type", "application/json")
			// A caller that went away gets no more.
			_ = json.NewEncoder(w).Encode(answer)
		}
	}}, nil
}

// ready looks at everything that the service needs.
func (s *probeRoutes) ready(ctx context.Context, verbose bool) (answer probeAnswer, failed *problemError) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	refuse := func(err error) *problemError {
		p := s.problem(ctx, "readyz", err)
		p.Checks = answer.Checks
		return p
	}
	why := s.Lifecycle.unready()
	if why != "" && !verbose {
		return answer, refuse(domain.Errorf(domain.CodeUnavailable, "%s", why))
	}
	found, err := s.readiness.get(ctx, s.Checks)
	if err != nil {
		return answer, refuse(domain.Errorf(domain.CodeUnavailable, "what the service needs was not checked in time: %w", err))
	}
	if verbose {
		took := found.took.Milliseconds()
		answer.Checked, answer.TookMS = &found.at, &took
		answer.Checks = append([]wire.Check{checked("lifecycle", lifecycleError(why), 0)}, found.checks...)
	}
	switch {
	case why != "":
		return answer, refuse(domain.Errorf(domain.CodeUnavailable, "%s", why))
	case found.err != nil:
		return answer, refuse(domain.Errorf(domain.CodeUnavailable, "something that the service needs does not work: %w", found.err))
	}
	answer.Status = "ok"
	return answer, nil
}

func lifecycleError(why string) error {
	if why == "" {
		return nil
	}
	return errors.New(why)
}

func checked(name string, err error, took time.Duration) wire.Check {
	c := wire.Check{Name: name, Status: "ok", TookMS: took.Milliseconds()}
	if err != nil {
		c.Status, c.Error = "failed", err.Error()
	}
	return c
}

// writeLines shows checks as Kubernetes' own servers do.
func writeLines(w http.ResponseWriter, checks []wire.Check, failed *problemError) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	status, verdict := http.StatusOK, "passed"
	if failed != nil {
		status, verdict = failed.Status, "failed"
	}
	w.WriteHeader(status)
	for _, c := range checks {
		mark, what := "+", c.Status
		if c.Error != "" {
			mark, what = "-", "failed: "+strings.ReplaceAll(c.Error, "\n", "; ")
		}
		fmt.Fprintf(w, "[%s]%s %s\n", mark, c.Name, what)
	}
	fmt.Fprintf(w, "readyz check %s\n", verdict)
}

// readiness remembers the last look at what the service needs. However many
// ask, one look is under way at a time, and none within a second after one.
type readiness struct {
	mu      sync.Mutex
	last    *found
	pending *found
}

// found is one look; its outcome stands when done is closed.
type found struct {
	done   chan struct{}
	at     time.Time
	took   time.Duration
	checks []wire.Check
	err    error
}

func (r *readiness) get(ctx context.Context, checks []Check) (*found, error) {
	look := r.current(ctx, checks)
	select {
	case <-look.done:
		return look, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// current is the look that stands, or one that has begun.
func (r *readiness) current(ctx context.Context, checks []Check) *found {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pending != nil {
		return r.pending
	}
	if r.last != nil && time.Since(r.last.at) < checkLasts {
		return r.last
	}
	look := &found{done: make(chan struct{})}
	r.pending = look
	// Others wait for it too, whatever becomes of the one who asked first.
	go r.look(context.WithoutCancel(ctx), look, checks)
	return look
}

func (r *readiness) look(ctx context.Context, look *found, checks []Check) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	began := time.Now()
	look.checks = make([]wire.Check, len(checks))
	failed := make([]error, len(checks))
	// At once: one that hangs does not take the others' time.
	var all sync.WaitGroup
	for i, check := range checks {
		all.Go(func() {
			began := time.Now()
			failed[i] = check.Check(ctx)
			look.checks[i] = checked(check.Name, failed[i], time.Since(began))
		})
	}
	all.Wait()
	look.err = errors.Join(failed...)
	look.at, look.took = time.Now(), time.Since(began)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last, r.pending = look, nil
	close(look.done)
}
