package timer

import (
	"context"
	"time"

	"sluice/internal/domain"
)

// Set stores timers and has them fire when their instants come. Setting one
// that is there with the same content changes nothing. Other content is an
// error of code conflict: that timer stays as it is, and the others are set.
func (s *Service) Set(ctx context.Context, specs ...Spec) ([]Stored, error) {
	checked, err := s.checkAll(ctx, specs)
	if err != nil {
		return nil, err
	}
	// Between the store and the trigger a timer is known to this process alone.
	done, err := s.guards.hold(ctx)
	if err != nil {
		return nil, err
	}
	stored, err := s.Store.Put(ctx, checked, s.Now())
	if err != nil {
		done(refused(err))
		return nil, err
	}
	dues := make([]Due, 0, len(stored))
	var clash error
	for i, one := range stored {
		if !one.NextAt.IsZero() {
			dues = append(dues, Due{one.ID, one.NextAt})
		}
		if one.New {
			s.counters.Set.Add(1)
		} else if clash == nil {
			clash = differs(checked[i], one.Timer)
		}
	}
	done(s.tell(ctx, dues))
	return stored, clash
}

// differs explains why a timer cannot be set although its id is taken.
func differs(asked Spec, there Timer) error {
	if asked.same(there.Spec) {
		return nil
	}
	what := "for " + there.At.Format(time.RFC3339Nano)
	if there.Status != Waiting {
		what += " and is " + there.Status.String()
	}
	return domain.Errorf(domain.CodeConflict, "there is a timer %s with other content, set %s; reschedule or cancel it, or choose another id", there.ID, what)
}

func (s *Service) checkAll(ctx context.Context, specs []Spec) ([]Spec, error) {
	checked := make([]Spec, len(specs))
	seen := make(map[string]struct{}, len(specs))
	for i, spec := range specs {
		var err error
		if checked[i], err = spec.check(); err != nil {
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

// tell makes the trigger know of timers. If that fails their guard stays, and
// has the trigger filled from the store.
func (s *Service) tell(ctx context.Context, dues []Due) bool {
	if len(dues) == 0 {
		return true
	}
	err := s.Trigger.Set(ctx, dues...)
	if err != nil {
		s.Slog.Warn("the trigger does not take timers; it is filled again later", "timers", len(dues), "error", err)
	}
	return err == nil
}

// Timer returns a timer.
func (s *Service) Timer(ctx context.Context, id string) (Timer, error) { return s.Store.Timer(ctx, id) }

// Timers lists timers.
func (s *Service) Timers(ctx context.Context, q Query) ([]Timer, error) {
	return s.Store.Timers(ctx, q)
}

// Cancel keeps a timer from firing.
func (s *Service) Cancel(ctx context.Context, id string) (Timer, error) {
	canceled, err := s.Store.Cancel(ctx, id)
	if err != nil {
		return canceled, err
	}
	s.forget(ctx, id)
	return canceled, nil
}

// forget has the trigger forget a timer that was canceled. If it does not,
// whoever takes the timer finds it canceled.
func (s *Service) forget(ctx context.Context, id string) {
	done, err := s.guards.hold(ctx)
	if err == nil {
		err = s.Trigger.Remove(ctx, id)
		done(s.remind(ctx, id))
	}
	if err != nil {
		s.Slog.Warn("the trigger does not forget a timer", "timer", id, "error", err)
	}
}

// remind tells the trigger again of a timer that it was told to forget:
// somebody may have rescheduled it, and have told the trigger before that.
func (s *Service) remind(ctx context.Context, id string) (told bool) {
	now, err := s.Store.Timer(ctx, id)
	if err != nil {
		// Whoever takes it now finds out.
		return s.tell(ctx, []Due{{id, s.Now()}})
	}
	return now.NextAt.IsZero() || s.tell(ctx, []Due{{id, now.NextAt}})
}

// Reschedule gives a timer that has not fired another instant.
func (s *Service) Reschedule(ctx context.Context, id string, at time.Time) (Timer, error) {
	if err := CheckInstant(at); err != nil {
		return Timer{}, err
	}
	return s.move(ctx, func() (Timer, error) {
		return s.Store.Reschedule(ctx, id, at.UTC().Truncate(time.Microsecond), s.Now())
	})
}

// Redeliver has the webhook of a DEAD timer called again.
func (s *Service) Redeliver(ctx context.Context, id string) (Timer, error) {
	return s.move(ctx, func() (Timer, error) { return s.Store.Redeliver(ctx, id, s.Now()) })
}

// move changes a timer's row and then tells the trigger.
func (s *Service) move(ctx context.Context, change func() (Timer, error)) (Timer, error) {
	done, err := s.guards.hold(ctx)
	if err != nil {
		return Timer{}, err
	}
	moved, err := change()
	if err != nil {
		done(refused(err))
		return moved, err
	}
	done(s.tell(ctx, []Due{{moved.ID, moved.NextAt}}))
	return moved, nil
}
