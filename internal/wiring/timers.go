package wiring

import (
	"os"
	"strconv"

	"sluice/internal/timer"
	"sluice/internal/webhook"
)

// openTimers assembles the timers.
func (s *Service) openTimers(o Options, t timer.Options) error {
	sender, err := webhook.New(o.Config.Webhooks(o.Timers.Webhook))
	if err != nil {
		return err
	}
	s.closers = append(s.closers, func() error { sender.Close(); return nil })
	t.Sender, t.Hook, t.Server = sender, o.Timers.Hook, o.Timers.Server
	if t.Server == "" {
		t.Server = serverName()
	}
	t.Buried = s.Notifications.Changed
	t.RequestsOnly, t.Now, t.Slog = o.Engine.RequestsOnly, o.Engine.Now, o.Engine.Log
	s.Timers, err = timer.New(t)
	return err
}

// serverName tells this process from all others.
func serverName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	return host + "-" + strconv.Itoa(os.Getpid())
}
