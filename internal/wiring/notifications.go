package wiring

import (
	"sluice/internal/notify"
)

// openNotifications assembles what tells people of what happened. Where nobody is
// to be told it does nothing.
func (s *Service) openNotifications(o *Options, store notify.Store) (err error) {
	var attempted func(string, notify.Outcome)
	if o.Meter != nil {
		attempted = o.Meter.Notified
	}
	s.Notifications, err = notify.New(notify.Options{
		Attempted: attempted, Store: store, Targets: o.Config.Notify, Now: o.Engine.Now, Log: o.Engine.Log,
		Sender: notify.SenderOptions{UserAgent: o.Timers.Webhook.UserAgent, Now: o.Timers.Webhook.Now},
	})
	if err != nil {
		return err
	}
	s.closers = append(s.closers, func() error { s.Notifications.Close(); return nil })
	if s.Notifications.Active() {
		s.background = append(s.background, s.Notifications.Run)
		o.Engine.Notices = s.Notifications
	}
	return nil
}
