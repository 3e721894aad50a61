// Package faulty wraps the ports with outages. A test says which calls are to
// fail, and how: before anything was done, after it was done, or not at all
// until released. The second is the one that finds bugs: the caller is told of
// a failure, and the deed is done.
package faulty

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"

	"sluice/internal/domain"
)

// Any stands for every method.
const Any = "*"

// Plan decides the fate of each call. It is safe for concurrent use, and
// several wrappers may share one.
type Plan struct {
	mu      sync.Mutex
	rules   []*rule
	calls   map[string]int
	faults  map[string]int
	dice    *rand.Rand
	pBefore float64
	pAfter  float64
}

// rule is one scripted fault.
type rule struct {
	method string
	kind   kind
	left   int // how many calls it still meets; negative for all
	gate   *gate
}

type kind uint8

const (
	failBefore kind = iota + 1
	failAfter
	block
)

// gate is where blocked calls wait.
type gate struct {
	arrived chan struct{}
	open    chan struct{}
}

// NewPlan returns a plan by which everything works.
func NewPlan() *Plan {
	return &Plan{calls: map[string]int{}, faults: map[string]int{}}
}

// Random returns a plan by which each call fails with the given probabilities
// before and after it was done. The same seed and the same order of calls give
// the same faults.
func Random(seed uint64, before, after float64) *Plan {
	p := NewPlan()
	p.dice, p.pBefore, p.pAfter = rand.New(rand.NewPCG(seed, seed)), before, after
	return p
}

// FailBefore lets the next n calls of a method fail without doing anything;
// all further calls if n is negative.
func (p *Plan) FailBefore(method string, n int) {
	p.add(&rule{method: method, kind: failBefore, left: n})
}

// FailAfter lets the next n calls of a method do their work and then report a
// failure; all further calls if n is negative.
func (p *Plan) FailAfter(method string, n int) {
	p.add(&rule{method: method, kind: failAfter, left: n})
}

// Block stops the next call of a method before it does anything, until release
// is called or the call's context ends. arrived is closed when it is there.
func (p *Plan) Block(method string) (arrived <-chan struct{}, release func()) {
	g := &gate{arrived: make(chan struct{}), open: make(chan struct{})}
	p.add(&rule{method: method, kind: block, left: 1, gate: g})
	return g.arrived, sync.OnceFunc(func() { close(g.open) })
}

// Heal ends every fault, scripted and random. Blocked calls stay blocked until
// they are released.
func (p *Plan) Heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules, p.dice = nil, nil
}

// Calls says how often a method was called, whatever came of it.
func (p *Plan) Calls(method string) int { return p.count(p.calls, method) }

// Faults says how many calls of a method were made to fail.
func (p *Plan) Faults(method string) int { return p.count(p.faults, method) }

// Unmet says how many scripted faults no call has met yet: a test that ends
// with some has not tested what it meant to.
func (p *Plan) Unmet() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, r := range p.rules {
		n += max(r.left, 0)
	}
	return n
}

func (p *Plan) count(of map[string]int, method string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if method != Any {
		return of[method]
	}
	n := 0
	for _, c := range of {
		n += c
	}
	return n
}

func (p *Plan) add(r *rule) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules = append(p.rules, r)
}

// before is asked at the start of a call. It returns whether the call has to
// fail after it was done, or the error it fails with now.
func (p *Plan) before(ctx context.Context, method string) (failLater bool, err error) {
	kind, g := p.decide(method)
	switch kind {
	case failBefore:
		return false, domain.Errorf(domain.CodeUnavailable, "injected: %s was not done", method)
	case failAfter:
		return true, nil
	case block:
		close(g.arrived)
		select {
		case <-g.open:
		case <-ctx.Done():
			return false, domain.Errorf(domain.CodeUnavailable, "injected: %s was not done: %w", method, ctx.Err())
		}
	}
	return false, nil
}

// decide counts a call and finds the first rule that it meets.
func (p *Plan) decide(method string) (kind, *gate) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls[method]++
	for i, r := range p.rules {
		if (r.method != method && r.method != Any) || r.left == 0 {
			continue
		}
		if r.left--; r.left == 0 {
			p.rules = slices.Delete(p.rules, i, i+1)
		}
		p.faults[method]++
		return r.kind, r.gate
	}
	if p.dice == nil {
		return 0, nil
	}
	switch roll := p.dice.Float64(); {
	case roll < p.pBefore:
		p.faults[method]++
		return failBefore, nil
	case roll < p.pBefore+p.pAfter:
		p.faults[method]++
		return failAfter, nil
	}
	return 0, nil
}

// answer is what most methods return.
type answer[T any] func() (T, error)

// get makes a call that returns a value, as the plan has it. A call that
// failed by itself keeps its own error.
func get[T any](ctx context.Context, p *Plan, method string, call answer[T]) (T, error) {
	var none T
	failLater, err := p.before(ctx, method)
	if err != nil {
		return none, err
	}
	out, err := call()
	if err == nil && failLater {
		return none, domain.Errorf(domain.CodeUnavailable, "injected: %s was done, and its answer is lost", method)
	}
	return out, err
}

// do makes a call that returns an error alone.
func do(ctx context.Context, p *Plan, method string, call func() error) error {
	_, err := get(ctx, p, method, func() (struct{}, error) { return struct{}{}, call() })
	return err
}

// pair carries the two values of a method that returns three.
type pair[A, B any] struct {
	a A
	b B
}

// getPair makes a call that returns two values.
func getPair[A, B any](ctx context.Context, p *Plan, method string, call func() (A, B, error)) (A, B, error) {
	out, err := get(ctx, p, method, func() (pair[A, B], error) {
		a, b, err := call()
		return pair[A, B]{a, b}, err
	})
	return out.a, out.b, err
}
