package engine_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"sluice/internal/domain"
	"sluice/internal/engine"
	"sluice/internal/quota"
	"sluice/internal/source"
)

// slowOnce is a quota whose first grant reaches who asked half a minute later, as
// one does that a process got before it stood still.
type slowOnce struct {
	quota.Keeper
	granted, refunded atomic.Int64
}

func (k *slowOnce) Reserve(ctx context.Context, ask quota.Ask) (quota.Decision, error) {
	d, err := k.Keeper.Reserve(ctx, ask)
	if k.granted.Add(1) == 1 {
		time.Sleep(30 * time.Second)
	}
	return d, err
}

func (k *slowOnce) Refund(ctx context.Context, p quota.Permit, r quota.Response) error {
	k.refunded.Add(1)
	return k.Keeper.Refund(ctx, p, r)
}

// TestAnOldGrantIsNotUsed: a call is made soon after it was granted or not at all.
// What is granted now and called much later meets a window that counts others.
func TestAnOldGrantIsNotUsed(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		upstream := newItems(1)
		keeper := &slowOnce{}
		var early atomic.Int64
		answer := upstream.Answer
		upstream.Answer = func(ctx context.Context, c source.Call) source.Result {
			if keeper.granted.Load() < 2 {
				early.Add(1)
			}
			return answer(ctx, c)
		}
		m := newTeam(t, upstream)
		front := m.join(engine.Config{}, nil)
		run := m.signup(front, "octocat")
		keeper.Keeper = m.ports.Quota
		worker := m.works(func(p *engine.Ports) { p.Quota = keeper })
		run = m.ends(worker, run.ID)
		if run.Status != domain.RunCompleted || run.Failed != 0 {
			t.Errorf("the run is %s with %+v", run.Status, run.RunCounts)
		}
		if early.Load() != 0 || keeper.refunded.Load() != 1 {
			t.Errorf("%d calls were made with the old grant, %d grants given back", early.Load(), keeper.refunded.Load())
		}
	})
}
