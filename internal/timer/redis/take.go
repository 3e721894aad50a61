package redis

import (
	"context"
	"strconv"
	"time"

	"sluice/internal/domain"
	"sluice/internal/redisdb"
	"sluice/internal/timer"
)

// Take implements timer.Trigger. Of the calls of a process one waits for the
// next instant, the others for their turn. A call whose context ends while it
// looks returns what it took, if anything.
func (t *Trigger) Take(ctx context.Context, n int) (timer.Batch, error) {
	if err := checkTake(ctx, n); err != nil {
		return timer.Batch{}, err
	}
	waiting, done, ok := t.life.Begin(ctx)
	if !ok {
		return timer.Batch{}, errClosed()
	}
	defer done()
	t.listen.Do(func() { t.subscribe(ctx) })
	taken, err := t.takeOrWait(waiting, min(n, mostAtOnce))
	return taken, ended(ctx, waiting, err)
}

func checkTake(ctx context.Context, n int) error {
	if n < 1 {
		return domain.Errorf(domain.CodeInvalid, "take %d timers: at least 1 is needed", n)
	}
	return ctx.Err()
}

// ended explains the error of a call whose task ended with the caller's context
// or with the trigger.
func ended(ctx, task context.Context, err error) error {
	if err == nil || task.Err() == nil {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return errClosed()
}

func errClosed() error {
	return domain.Errorf(domain.CodeUnavailable, "the trigger is closed")
}

// subscribe begins to hear of earlier instants.
func (t *Trigger) subscribe(ctx context.Context) {
	listening, done, ok := t.life.Begin(context.WithoutCancel(ctx))
	if !ok {
		return
	}
	go func() {
		defer done()
		t.db.Listen(listening, redisdb.Listener{Channel: t.channel, Message: t.told, Missed: t.missed, Log: t.Log})
	}()
}

func (t *Trigger) told(_, message string) {
	if at, err := strconv.ParseInt(message, 10, 64); err == nil {
		t.hint(at)
	}
}

// hint lets an instant wake who waits if it is the earliest.
func (t *Trigger) hint(at int64) {
	if t.sight.hear(at) {
		redisdb.Notify(t.wake)
	}
}

// missed lets who waits look: announcements may have been missed, and the
// server may be another.
func (t *Trigger) missed() {
	t.sight.lose()
	redisdb.Notify(t.wake)
}

func (t *Trigger) takeOrWait(ctx context.Context, n int) (timer.Batch, error) {
	end := time.NewTimer(t.MaxWait)
	defer end.Stop()
	select {
	case t.seat <- struct{}{}:
	case <-end.C:
		return timer.Batch{Now: t.sight.clock()}, nil
	case <-ctx.Done():
		return timer.Batch{}, ctx.Err()
	}
	defer func() { <-t.seat }()
	for {
		if wait := t.sight.wait(t.MaxWait); wait > 0 {
			over, err := t.pause(ctx, wait, end.C)
			if err != nil {
				return timer.Batch{}, err
			}
			if over {
				return timer.Batch{Now: t.sight.clock()}, nil
			}
			continue
		}
		taken, err := t.look(ctx, n)
		if err != nil || len(taken.Taken) > 0 {
			return taken, err
		}
		if ctx.Err() != nil {
			return timer.Batch{}, ctx.Err()
		}
	}
}

// pause waits until there may be a reason to look, or the call is over.
func (t *Trigger) pause(ctx context.Context, wait time.Duration, end <-chan time.Time) (over bool, err error) {
	next := time.NewTimer(wait)
	defer next.Stop()
	select {
	case <-next.C:
	case <-t.wake:
	case <-end:
		return true, nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
	return false, nil
}

// look takes what is due. The end of ctx does not end it at once: what is taken
// by then would be lost to everybody for the grace.
func (t *Trigger) look(ctx context.Context, n int) (timer.Batch, error) {
	patient, cancel := patience(ctx)
	defer cancel()
	seen := t.sight.begin()
	m, err := t.run(patient, scripts.take,
		strconv.Itoa(n), strconv.FormatInt(t.Grace.Microseconds(), 10), timer.RebuildID, seen)
	if err != nil {
		t.sight.lose()
		return timer.Batch{}, err
	}
	answer, err := m.AsStrSlice()
	if err != nil || len(answer) < 4 {
		t.sight.lose()
		return timer.Batch{}, redisdb.Failure(err)
	}
	var numbers [3]int64
	for i := range numbers {
		if numbers[i], err = strconv.ParseInt(answer[i], 10, 64); err != nil {
			return timer.Batch{}, err
		}
	}
	now, token, next, ids := numbers[0], numbers[1], numbers[2], answer[4:]
	if next < 0 {
		next = never
	}
	t.sight.end(answer[3], now, next, len(ids) == n)
	taken := timer.Batch{Now: time.UnixMicro(now).UTC(), Taken: make([]timer.Taken, len(ids))}
	for i, id := range ids {
		taken.Taken[i] = timer.Taken{ID: id, Token: token}
	}
	return taken, nil
}

// patience returns a context that outlasts ctx a little.
func patience(ctx context.Context) (context.Context, context.CancelFunc) {
	patient, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		redisdb.Pause(patient, graceTime)
		cancel()
	})
	return patient, func() {
		stop()
		cancel()
	}
}
