package notify

import (
	"cmp"
	"context"
	"crypto/tls"
	"time"

	"sluice/internal/webhook"
)

// Round does what Run does again and again, until nothing is due.
func (s *Service) Round(ctx context.Context) (next time.Time, err error) {
	for begun := 1; begun > 0 && err == nil; {
		next, begun, err = s.round(ctx)
		s.workers.Wait()
		err = cmp.Or(err, s.failure())
	}
	return next, err
}

// Deliver has a target's messages brought by a function.
func (s *Service) Deliver(target string, bring func(context.Context, *Message) webhook.Result) {
	s.couriers[target] = deliverer(bring)
}

type deliverer func(context.Context, *Message) webhook.Result

func (d deliverer) send(ctx context.Context, m *Message) webhook.Result { return d(ctx, m) }
func (deliverer) close()                                                {}

// Look has the next round read the tables.
func (s *Service) Look() { s.hint(time.Time{}) }

// Trust has the mailboxes believe whom the configuration does.
func (s *Service) Trust(roots *tls.Config) {
	for _, c := range s.couriers {
		if b, ok := c.(*mailbox); ok {
			b.roots = roots
		}
	}
}

// BeforeSending is called between every claim and its attempt.
func (s *Service) BeforeSending(call func()) {
	for name, c := range s.couriers {
		s.couriers[name] = &interrupted{c, call}
	}
}

type interrupted struct {
	courier
	call func()
}

func (i *interrupted) send(ctx context.Context, m *Message) webhook.Result {
	i.call()
	return i.courier.send(ctx, m)
}

// Furthest is up to when everything was read, and whether there may be more.
func Furthest(events []Event, limit int) (time.Time, bool) { return furthest(events, limit) }
