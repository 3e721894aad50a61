package httpapi

import (
	"context"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"sluice/internal/domain"
	"sluice/internal/httpapi/wire"
)

// task is something that may take longer than an answer can be waited for.
type task[O any] func(ctx context.Context) (O, error)

// registerTask adds an endpoint that carries out a task while the caller is
// there: a stream that shows signs of life, and ends with what came of it.
// Whatever can be refused is refused before it begins.
func registerTask[I, O any](s host, api huma.API, o operation, prepare func(*I) (task[O], error)) {
	registerCheckedTask(s, api, o, func(_ context.Context, in *I) (task[O], error) { return prepare(in) })
}

// registerCheckedTask is registerTask for a task that is refused by what is stored.
func registerCheckedTask[I, O any](s host, api huma.API, o operation, prepare func(context.Context, *I) (task[O], error)) {
	op := o.huma()
	var out O
	op.Responses = eventResponses(api, "done (the result, which ends the stream)", exampleEvent("", wire.EventDone, "{}"),
		map[string]any{wire.EventDone: out})
	huma.Register(api, op, func(ctx context.Context, in *I) (*huma.StreamResponse, error) {
		do, err := prepare(ctx, in)
		if err != nil {
			return nil, s.problem(ctx, o.id, err)
		}
		//nolint:contextcheck // huma's context carries the request's
		return &huma.StreamResponse{Body: func(ctx huma.Context) { carryOut(s, ctx, o.id, do) }}, nil
	})
}

// carryOut does a task. It ends early with the caller or the service.
func carryOut[O any](s host, hctx huma.Context, operation string, do task[O]) {
	r, w := humago.Unwrap(hctx)
	ctx, cancel := s.untilStopping(r.Context())
	defer cancel()
	out := openStream(w)
	quiet := stayAlive(out)
	defer quiet() // even if it panics
	result, err := do(ctx)
	quiet()
	if err == nil {
		_ = out.event(wire.EventDone, result) // A caller that went away gets no more.
		return
	}
	if ctx.Err() != nil && r.Context().Err() == nil {
		err = domain.Errorf(domain.CodeUnavailable, "the service is stopping; nothing is lost; ask again when it is back: %w", err)
	}
	_ = out.event(wire.EventError, s.problem(ctx, operation, err).Problem)
}

// stayAlive shows signs of life until what it returns was called, which may be
// done twice.
func stayAlive(out *eventStream) (quiet func()) {
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		heartbeat := time.NewTicker(wire.Heartbeat)
		defer heartbeat.Stop()
		for {
			select {
			case <-heartbeat.C:
				// To a caller that went away nothing can be said; the request's
				// context ends the task.
				_ = out.comment("heartbeat")
			case <-stop:
				return
			}
		}
	}()
	return sync.OnceFunc(func() { close(stop); <-ended })
}
