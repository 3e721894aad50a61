// Package faulty wraps every port with outages. A test says which calls are to
// fail, and how: before anything was done, after it was done, or not at all
// until released. The second is the one that finds bugs: the caller is told of
// a failure, and the deed is done. Calls are named by their method.
//
// Plan (plan.go) decides and counts; the wrappers are one line for each method:
// of the engine's ports in state.go, documents.go, dispatch.go, quota.go and
// results.go, of timers in timers.go, of refreshes in refresh.go, snapshots.go
// and eventlog.go, of tokens and the audit log in access.go, of requests with
// a key in idempotency.go, of notifications in notifications.go.
package faulty

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"

	"sluice/internal/domain"
)

// Any stands for every method.
const Any = "*"

// ErrInjected is in every error of a plan.
var ErrInjected = errors.New("injected")

// Plan decides the fate of each call. It is safe for concurrent use, and
// several wrappers may share one.
type Plan struct {
	mu      sync.Mutex
	rules   []*rule
	calls   map[string]int
	faults  map[string]int
	broken  map[string]func(context.Context) error
	dice    *rand.Rand
	pBefore float64
	pAfter  float64
	// left, if not negative, is how many calls are still answered, and fate
	// whether the last of them is done.
	left int
	fate failure
}

// rule is one scripted fault.
type rule struct {
	method string
	kind   failure
	left   int // how many calls it still meets; negative for all
	gate   *gate
}

type failure uint8

const (
	failBefore failure = iota + 1
	failAfter
	block
	pass
)

// gate is where blocked calls wait.
type gate struct {
	arrived chan struct{}
	open    chan struct{}
}

// NewPlan returns a plan by which everything works.
func NewPlan() *Plan {
	return &Plan{calls: map[string]int{}, faults: map[string]int{}, broken: map[string]func(context.Context) error{}, left: -1}
}

// Random returns a plan by which each call fails with the given probabilities
// before and after it was done. The same seed and the same order of calls give
// the same faults.
func Random(seed uint64, before, after float64) *Plan {
	p := NewPlan()
	p.dice, p.pBefore, p.pAfter = rand.New(rand.NewPCG(seed, seed)), before, after
	return p
}

// Dying returns a plan of a process that answers so many calls. It dies at the last
// of them, before or after it was done, as the seed has it; nothing is done any
// more then.
func Dying(seed uint64, calls int) *Plan {
	p := NewPlan()
	p.left, p.fate = calls, failBefore
	if rand.New(rand.NewPCG(seed, seed)).IntN(2) == 0 {
		p.fate = failAfter
	}
	return p
}

// Dead says whether such a process is dead.
func (p *Plan) Dead() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.left == 0
}

// Break lets every call of methods first do something else, whose error, if any,
// is that of the call: to fail as the test likes, or to take long. Mend ends it.
func (p *Plan) Break(fault func(context.Context) error, methods ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range methods {
		p.broken[m] = fault
	}
}

// Mend ends what Break did to methods.
func (p *Plan) Mend(methods ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range methods {
		delete(p.broken, m)
	}
}

// Pass lets the next n calls of a method through that would meet what is planned
// after it: Pass(m, 2) and FailAfter(m, 1) lose the answer to the third.
func (p *Plan) Pass(method string, n int) {
	p.add(&rule{method: method, kind: pass, left: n})
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

// Heal ends every fault, scripted and random; a dead process lives again. Blocked calls stay blocked until
// they are released.
func (p *Plan) Heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules, p.dice, p.left = nil, nil, -1
	clear(p.broken)
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
		if r.kind != pass {
			n += max(r.left, 0)
		}
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
	kind, g, fault := p.decide(method)
	switch kind {
	case failBefore:
		return false, domain.Errorf(domain.CodeUnavailable, "%w: %s was not done", ErrInjected, method)
	case failAfter:
		return true, nil
	case block:
		close(g.arrived)
		select {
		case <-g.open:
		case <-ctx.Done():
			return false, domain.Errorf(domain.CodeUnavailable, "%w", fmt.Errorf("%w: %s was not done: %w", ErrInjected, method, ctx.Err()))
		}
	}
	if fault != nil {
		return false, fault(ctx)
	}
	return false, nil
}

// note counts a call that cannot fail.
func (p *Plan) note(method string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls[method]++
}

// decide counts a call and finds what it meets: the death of the process, the
// first rule, what is broken, or bad luck.
func (p *Plan) decide(method string) (failure, *gate, func(context.Context) error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls[method]++
	if p.left >= 0 {
		return p.answer(method), nil, nil
	}
	for i, r := range p.rules {
		if (r.method != method && r.method != Any) || r.left == 0 {
			continue
		}
		if r.left--; r.left == 0 {
			p.rules = slices.Delete(p.rules, i, i+1)
		}
		if r.kind != pass {
			p.faults[method]++
		}
		return r.kind, r.gate, nil
	}
	if fault := p.broken[method]; fault != nil {
		p.faults[method]++
		return 0, nil, fault
	}
	return p.roll(method), nil, nil
}

// answer is what becomes of a call of a process that dies. The caller holds the
// lock.
func (p *Plan) answer(method string) failure {
	if p.left > 1 {
		p.left--
		return 0
	}
	p.faults[method]++
	if p.left == 0 {
		return failBefore
	}
	p.left = 0
	return p.fate
}

// roll is what becomes of a call by chance. The caller holds the lock.
func (p *Plan) roll(method string) failure {
	if p.dice == nil {
		return 0
	}
	kind := failure(0)
	switch roll := p.dice.Float64(); {
	case roll < p.pBefore:
		kind = failBefore
	case roll < p.pBefore+p.pAfter:
		kind = failAfter
	}
	if kind != 0 {
		p.faults[method]++
	}
	return kind
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
		return none, domain.Errorf(domain.CodeUnavailable, "%w: %s was done, and its answer is lost", ErrInjected, method)
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

// triple carries the three values of a method that returns four.
type triple[A, B, C any] struct {
	a A
	b B
	c C
}

// getTriple makes a call that returns three values.
func getTriple[A, B, C any](ctx context.Context, p *Plan, method string, call func() (A, B, C, error)) (A, B, C, error) {
	out, err := get(ctx, p, method, func() (triple[A, B, C], error) {
		a, b, c, err := call()
		return triple[A, B, C]{a, b, c}, err
	})
	return out.a, out.b, out.c, err
}
