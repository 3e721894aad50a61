package timer

import (
	"context"
	"time"

	"sluice/internal/domain"
	"sluice/internal/due"
)

// requests are what people ask of timers. Each changes a row and tells the trigger.
type requests struct {
	Options
	register Register
	intents  *intents
	counters Counters
}

// Set stores timers and has them fire when their instants come. Setting one
// that is there with the same content changes nothing. Other content is another
// timer if that one is COMPLETED, and otherwise an error of code conflict: that
// timer stays as it is, and the others are set.
func (s *requests) Set(ctx context.Context, specs ...Spec) ([]Stored, error) {
	now := s.Now().Truncate(time.Microsecond)
	checked, err := s.checkAll(ctx, specs, now)
	if err != nil {
		return nil, err
	}
	// Between the store and the trigger a timer is known to this process alone.
	done, err := s.intents.hold(ctx)
	if err != nil {
		return nil, err
	}
	stored, err := s.register.Put(ctx, checked, now)
	if err != nil {
		done(refused(err))
		return nil, err
	}
	entries := make([]due.Entry, 0, len(stored))
	var clash error
	for i, one := range stored {
		if !one.NextAt.IsZero() {
			entries = append(entries, entryOf(one.ID, one.NextAt))
		}
		if one.New {
			s.counters.Set.Add(1)
		} else if clash == nil {
			clash = differs(checked[i], one.Timer, now)
		}
	}
	done(s.schedule(ctx, entries...))
	return stored, clash
}

// differs explains why a timer cannot be set although its id is taken.
func differs(asked Spec, there Timer, now time.Time) error {
	if asked.asksFor(there, now) {
		return nil
	}
	at := there.At.Format(time.RFC3339Nano)
	if there.Status.HasFired() {
		advice := "set it again when its webhook has been told"
		if there.Status == Dead {
			advice = "have it delivered again first"
		}
		return domain.Errorf(domain.CodeConflict, "a timer %s with other content fired at %s and is %s; %s, or choose another id",
			there.ID, there.FiredAt.Format(time.RFC3339Nano), there.Status, advice)
	}
	advice := "reschedule it, if only its time differs, or choose another id"
	if there.Status == Canceled {
		advice = "reschedule it, so that it waits again, or choose another id"
	}
	return domain.Errorf(domain.CodeConflict, "there is a timer %s with other content, set for %s and %s; %s", there.ID, at, there.Status, advice)
}

func (s *requests) checkAll(ctx context.Context, specs []Spec, now time.Time) ([]Spec, error) {
	checked := make([]Spec, len(specs))
	seen := make(map[string]struct{}, len(specs))
	for i, spec := range specs {
		var err error
		if checked[i], err = spec.check(now); err != nil {
			return nil, err
		}
		if _, twice := seen[spec.ID]; twice {
			return nil, domain.Errorf(domain.CodeInvalid, "timer %s is named twice", spec.ID)
		}
		seen[spec.ID] = struct{}{}
		if spec.Webhook == "" {
			continue
		}
		if s.Sender == nil {
			return nil, domain.Errorf(domain.CodeInvalid, "timer %s names a webhook, and this service sends none", spec.ID)
		}
		if err := s.Sender.Check(ctx, spec.Webhook); err != nil {
			return nil, err
		}
	}
	return checked, nil
}

// refused tells whether a change was certainly not made.
func refused(err error) bool {
	switch domain.CodeOf(err) {
	case domain.CodeNotFound, domain.CodeConflict, domain.CodeInvalid:
		return true
	}
	return false
}

// schedule makes the trigger know of timers. If that fails their intent stays, and
// has the trigger filled from the store.
func (s *requests) schedule(ctx context.Context, entries ...due.Entry) bool {
	if len(entries) == 0 {
		return true
	}
	err := s.Trigger.Put(ctx, entries...)
	if err != nil {
		s.Slog.Warn("the trigger does not take timers; it is filled again later", "timers", len(entries), "error", err)
	}
	return err == nil
}

// Timer returns a timer.
func (s *requests) Timer(ctx context.Context, id string) (Timer, error) {
	return s.register.Timer(ctx, id)
}

// Timers lists timers.
func (s *requests) Timers(ctx context.Context, q Query) ([]Timer, error) {
	return s.register.Timers(ctx, q)
}

// Cancel keeps a timer from firing.
func (s *requests) Cancel(ctx context.Context, id string) (Timer, error) {
	canceled, err := s.register.Cancel(ctx, id)
	if err != nil {
		return canceled, err
	}
	s.forget(ctx, id)
	return canceled, nil
}

// forget has the trigger forget a timer that was canceled. If it does not,
// whoever takes the timer finds it canceled.
func (s *requests) forget(ctx context.Context, id string) {
	done, err := s.intents.hold(ctx)
	if err == nil {
		err = s.Trigger.Remove(ctx, DueID(id))
		done(s.remind(ctx, id))
	}
	if err != nil {
		s.Slog.Warn("a canceled timer cannot be removed from the trigger", "timer", id, "error", err)
	}
}

// remind tells the trigger again of a timer that it was told to forget:
// somebody may have rescheduled it, and have told the trigger before that.
func (s *requests) remind(ctx context.Context, id string) (told bool) {
	now, err := s.register.Timer(ctx, id)
	if err != nil {
		// Whoever takes it now finds out.
		return s.schedule(ctx, entryOf(id, s.Now()))
	}
	return now.NextAt.IsZero() || s.schedule(ctx, entryOf(id, now.NextAt))
}

// Reschedule gives a timer that has not fired another instant.
func (s *requests) Reschedule(ctx context.Context, id string, at time.Time) (Timer, error) {
	if err := CheckInstant(at); err != nil {
		return Timer{}, err
	}
	return s.move(ctx, func() (Timer, error) {
		return s.register.Reschedule(ctx, id, at.UTC().Truncate(time.Microsecond), s.Now())
	})
}

// Redeliver has the webhook of a DEAD timer called again.
func (s *requests) Redeliver(ctx context.Context, id string) (Timer, error) {
	return s.move(ctx, func() (Timer, error) { return s.register.Redeliver(ctx, id, s.Now()) })
}

// move changes a timer's row and then tells the trigger.
func (s *requests) move(ctx context.Context, change func() (Timer, error)) (Timer, error) {
	done, err := s.intents.hold(ctx)
	if err != nil {
		return Timer{}, err
	}
	moved, err := change()
	if err != nil {
		done(refused(err))
		return moved, err
	}
	done(s.schedule(ctx, entryOf(moved.ID, moved.NextAt)))
	return moved, nil
}
