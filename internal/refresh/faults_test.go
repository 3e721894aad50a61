package refresh_test

import (
	"context"
	"crypto/sha256"
	"sync"
	"time"

	"sluice/internal/domain"
	"sluice/internal/refresh"
	"sluice/internal/testkit/faulty"
)

// faults lets calls of the ports fail, hang or be counted, by method.
type faults struct{ plan *faulty.Plan }

func newFaults() *faults { return &faults{faulty.NewPlan()} }

var errDown = domain.Errorf(domain.CodeUnavailable, "it is down")

func down(context.Context) error { return errDown }

// hang answers after a time that no caller wants to wait for.
func hang(d time.Duration) func(context.Context) error {
	return func(context.Context) error {
		time.Sleep(d)
		return nil
	}
}

// breaks lets methods fail from now on; nil ends that.
func (f *faults) breaks(fault func(context.Context) error, methods ...string) {
	if fault == nil {
		f.plan.Mend(methods...)
		return
	}
	f.plan.Break(fault, methods...)
}

func (f *faults) times(method string) int { return f.plan.Calls(method) }

// paused is how many consumers take nothing.
func (f *faults) paused() int {
	return f.plan.Calls("Consumer.Pause") - f.plan.Calls("Consumer.Resume")
}

// refusedKey is one that the store never accepts.
const refusedKey = "refused"

// pickyStore refuses a key.
type pickyStore struct{ refresh.Snapshots }

func (s pickyStore) Accept(ctx context.Context, events []refresh.Event) error {
	for _, e := range events {
		if e.Key == refusedKey {
			return domain.Errorf(domain.CodeInvalid, "%s is refused", e.Key)
		}
	}
	return s.Snapshots.Accept(ctx, events)
}

// script is an upstream whose answers a test decides.
type script struct {
	mu      sync.Mutex
	calls   map[string]int
	answers func(ctx context.Context, key string, n int) refresh.Fetched
}

// scripted answers with what a function says of a key's n-th call, from one.
func scripted(answers func(ctx context.Context, key string, n int) refresh.Fetched) *script {
	return &script{calls: map[string]int{}, answers: answers}
}

func (s *script) CheckKey(key string) (string, error) { return key, nil }

func (s *script) Fetch(ctx context.Context, key string, sent func()) refresh.Fetched {
	sent()
	s.mu.Lock()
	s.calls[key]++
	n := s.calls[key]
	s.mu.Unlock()
	return s.answers(ctx, key, n)
}

func (s *script) called(key string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[key]
}

func (s *script) all() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, calls := range s.calls {
		n += calls
	}
	return n
}

// is answers with a value.
func is(body string) refresh.Fetched {
	return refresh.Fetched{
		Verdict: refresh.FetchDone, Body: []byte(body), Hash: sha256.Sum256([]byte(body)), Received: len(body), HTTPStatus: 200,
	}
}

func always(body string) *script {
	return scripted(func(context.Context, string, int) refresh.Fetched { return is(body) })
}
