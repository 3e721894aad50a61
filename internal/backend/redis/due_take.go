package redis

import (
	"context"
	"strconv"
	"time"

	"sluice/internal/domain"
	"sluice/internal/due"
)

// Take implements due.Set. A call whose context ends while it looks returns what
// it took, if anything.
func (s *DueSet) Take(ctx context.Context, n int) (due.Batch, error) {
	if err := checkTake(ctx, n); err != nil {
		return due.Batch{}, err
	}
	waiting, done, ok := s.life.begin(ctx)
	if !ok {
		return due.Batch{}, errClosed("due set")
	}
	defer done()
	s.listen.Do(func() { s.subscribe(ctx) })
	batch, err := s.takeOrWait(waiting, min(n, dueBatch))
	return batch, takeError(ctx, waiting, err)
}

func checkTake(ctx context.Context, n int) error {
	if n < 1 {
		return domain.Errorf(domain.CodeInvalid, "take %d entries: at least 1 is needed", n)
	}
	return ctx.Err()
}

// takeError explains the error of a call whose task ended with the caller's context
// or with the set.
func takeError(ctx, task context.Context, err error) error {
	if err == nil || task.Err() == nil {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return errClosed("due set")
}

func (s *DueSet) takeOrWait(ctx context.Context, n int) (batch due.Batch, err error) {
	err = s.waiter.Wait(ctx, func() (found bool, wait time.Duration, err error) {
		if wait := s.next.wait(s.MaxWait); wait > 0 {
			return false, wait, nil
		}
		batch, err = s.look(ctx, n)
		return len(batch.Taken) > 0, s.next.wait(s.MaxWait), err
	})
	if err == nil && len(batch.Taken) == 0 {
		batch.Now = s.next.clock()
	}
	return batch, err
}

// subscribe begins to hear of earlier instants.
func (s *DueSet) subscribe(ctx context.Context) {
	listening, done, ok := s.life.begin(context.WithoutCancel(ctx))
	if !ok {
		return
	}
	go func() {
		defer done()
		s.db.listen(listening, listener{Channel: s.channel, Message: s.told, Missed: s.missed, Log: s.Log})
	}()
}

func (s *DueSet) told(_, message string) {
	if at, err := strconv.ParseInt(message, 10, 64); err == nil {
		s.hint(at)
	}
}

// hint lets an instant wake who waits if it is the earliest.
func (s *DueSet) hint(at int64) {
	if s.next.hear(at) {
		s.waiter.Wake()
	}
}

// missed lets who waits look: announcements may have been missed, and the
// server may be another.
func (s *DueSet) missed() {
	s.next.lose()
	s.waiter.Wake()
}

// look takes what is due. The end of ctx does not end it at once: what is taken
// by then would be lost to everybody for the grace.
func (s *DueSet) look(ctx context.Context, n int) (due.Batch, error) {
	patient, cancel := withGrace(ctx)
	defer cancel()
	seen := s.next.begin()
	m, err := s.run(patient, dueScripts.take,
		strconv.Itoa(n), strconv.FormatInt(s.Grace.Microseconds(), 10), due.RebuildID, seen)
	if err != nil {
		s.next.lose()
		return due.Batch{}, err
	}
	answer, err := m.AsStrSlice()
	if err != nil || len(answer) < 4 {
		s.next.lose()
		return due.Batch{}, failure(err)
	}
	var numbers [3]int64
	for i := range numbers {
		if numbers[i], err = strconv.ParseInt(answer[i], 10, 64); err != nil {
			return due.Batch{}, err
		}
	}
	now, token, next, ids := numbers[0], numbers[1], numbers[2], answer[4:]
	if next < 0 {
		next = never
	}
	s.next.end(answer[3], now, next, len(ids) == n)
	batch := due.Batch{Now: time.UnixMicro(now).UTC(), Taken: make([]due.Taken, len(ids))}
	for i, id := range ids {
		batch.Taken[i] = due.Taken{ID: id, Token: token}
	}
	return batch, nil
}
