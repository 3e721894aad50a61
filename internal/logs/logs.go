// Package logs writes log lines, as text or JSON. Lines that tell of an event
// have its name, and those about a request its correlation id and trace.
package logs

import (
	"context"
	"io"
	"log/slog"

	"sluice/internal/traces"
)

// The formats.
const (
	Text = "text"
	JSON = "json"
)

// EventAttribute is what the name of an event stands in.
const EventAttribute = "event"

// New returns a log that writes lines of a level and above.
func New(w io.Writer, format string, level slog.Leveler) *slog.Logger {
	options := &slog.HandlerOptions{Level: level}
	var lines slog.Handler = slog.NewTextHandler(w, options)
	if format == JSON {
		lines = slog.NewJSONHandler(w, options)
	}
	return slog.New(Named(lines))
}

// Named adds names and ids to what a handler gets.
func Named(next slog.Handler) slog.Handler { return named{next} }

type named struct{ slog.Handler }

// Handle implements slog.Handler.
func (h named) Handle(ctx context.Context, r slog.Record) error {
	if name := EventName(r.Message); name != "" {
		r.AddAttrs(slog.String(EventAttribute, name))
	}
	if id := Correlation(ctx); id != "" {
		r.AddAttrs(slog.String(CorrelationAttribute, id))
	}
	if id := traces.IDOf(ctx); id != "" {
		r.AddAttrs(slog.String("trace_id", id))
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h named) WithAttrs(attributes []slog.Attr) slog.Handler {
	return named{h.Handler.WithAttrs(attributes)}
}

// WithGroup implements slog.Handler.
func (h named) WithGroup(name string) slog.Handler { return named{h.Handler.WithGroup(name)} }
