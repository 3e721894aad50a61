// Package hook sends what was collected, and what changes of it, to a webhook: batches
// of rows as JSON, signed as all webhooks of the program are.
//
// A receiver keeps nothing of ours, so that how far the sink is lies in our own store.
// A batch is sent until it is taken; it may come twice, under the same id if its rows
// are the same. What a receiver refuses, or does not take for long, is set aside in the same
// store (letters.go), and the next batch is sent.
package hook

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"sluice/internal/backoff"
	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/export"
	"sluice/internal/sink"
	"sluice/internal/webhook"
)

// Sender makes one attempt; *webhook.Sender does.
type Sender interface {
	Check(ctx context.Context, address string) error
	Send(ctx context.Context, m webhook.Message) webhook.Result
}

// Options say where batches go.
type Options struct {
	// Name is the sink's, under which the store keeps how far it is.
	Name string
	// URL is the receiver's. It may hold a secret.
	URL    string
	Sender Sender
	Store  Store
	// GiveUp is how long a batch is tried before it is set aside; four hours.
	GiveUp time.Duration
	Now    func() time.Time
}

// String keeps the address out of whatever prints options.
func (o Options) String() string { return "sink " + o.Name }

// GoString keeps the address out of whatever prints options.
func (o Options) GoString() string { return o.String() }

// Hook is a sink.Target that sends webhooks.
type Hook struct {
	options Options

	tables []table
	held   standing
	// notBefore is when the receiver may be asked again.
	notBefore time.Time
}

var (
	_ sink.Target   = (*Hook)(nil)
	_ sink.Lettered = (*Hook)(nil)
)

type table struct {
	name string
	rows *export.JSONRows
}

// standing is what the store keeps of a sink.
type standing struct {
	Progress sink.Progress `json:"progress"`
	// Receiver is a hash of the address that it is about.
	Receiver string `json:"receiver"`
	// Columns are those of the tables, for whoever adds some.
	Columns map[string][]string `json:"columns"`
	// FailingSince is when the batch that is tried was first not taken.
	FailingSince time.Time `json:"failing_since,omitzero"`
}

// New returns a target that asks nothing of its receiver yet.
func New(o Options) *Hook {
	o.GiveUp = cmp.Or(o.GiveUp, webhook.GiveUpAfter)
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Hook{options: o}
}

// Prepare implements sink.Target.
func (h *Hook) Prepare(ctx context.Context, tables []sink.Table) error {
	if err := h.options.Sender.Check(ctx, h.options.URL); err != nil {
		return err
	}
	h.tables = nil
	columns := map[string][]string{}
	for _, t := range tables {
		h.tables = append(h.tables, table{t.Name, export.NewJSONRows(t.Columns)})
		for _, c := range t.Columns {
			columns[t.Name] = append(columns[t.Name], c.Name+" "+string(c.Type))
		}
		if t.Raw {
			columns[t.Name] = append(columns[t.Name], "raw")
		}
	}
	data, err := h.options.Store.Standing(ctx, h.options.Name)
	if err != nil {
		return err
	}
	h.held = standing{}
	if data != nil {
		if err := json.Unmarshal(data, &h.held); err != nil {
			return domain.Errorf(domain.CodeCorrupt, "how far the sink %s is cannot be read; `sluice sync --anew` begins it anew: %w", h.options.Name, err)
		}
	}
	receiver := digest(h.options.URL)
	switch {
	case data == nil:
	case h.held.Receiver != receiver:
		// Another receiver has nothing yet.
		h.held.Progress = sink.Progress{Generation: h.held.Progress.Generation}
	case h.held.lacks(columns):
		h.held.Progress.Backfilled, h.held.Progress.After = false, document.Key{}
	}
	h.held.Receiver, h.held.Columns = receiver, columns
	return nil
}

// lacks says whether batches were sent without some of the columns.
func (s *standing) lacks(columns map[string][]string) bool {
	for name, want := range columns {
		if slices.ContainsFunc(want, func(c string) bool { return !slices.Contains(s.Columns[name], c) }) {
			return true
		}
	}
	return false
}

func digest(parts ...any) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", parts))
	return hex.EncodeToString(sum[:16])
}

// Progress implements sink.Target.
func (h *Hook) Progress(context.Context) (sink.Progress, error) {
	return h.held.Progress, nil
}

// Apply implements sink.Target: it returns when the receiver has taken the batch, or it
// is set aside.
func (h *Hook) Apply(ctx context.Context, b *sink.Batch) error {
	if err := h.forget(ctx, b.Purged); err != nil {
		return err
	}
	if len(b.Rows)+len(b.Purged) == 0 && !b.Sweep {
		return h.stand(ctx, b.Progress, nil)
	}
	id, body, err := h.body(b)
	if err != nil {
		return err
	}
	if wait := h.notBefore.Sub(h.options.Now()); wait > 0 && !backoff.Sleep(ctx, wait) {
		return ctx.Err()
	}
	result := h.options.Sender.Send(ctx, webhook.Message{ID: id, URL: h.options.URL, Body: body})
	if result.OK {
		return h.stand(ctx, b.Progress, nil)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	now := h.options.Now()
	h.notBefore = now.Add(result.RetryAfter)
	if h.held.FailingSince.IsZero() {
		h.held.FailingSince = now
		if err := h.save(ctx, h.held, nil); err != nil {
			return err
		}
	}
	if !refused(result) && now.Sub(h.held.FailingSince) < h.options.GiveUp {
		return domain.Errorf(domain.CodeUnavailable, "%s", result.Error)
	}
	letter := &Stored{ID: id, Sink: h.options.Name, At: now, Status: result.Status, Reason: result.Error, Body: body}
	return h.stand(ctx, b.Progress, letter)
}

// refused says whether the receiver would refuse the same batch again. An address that
// cannot be used is not its answer.
func refused(r webhook.Result) bool {
	switch r.Status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return false
	}
	return r.Status >= 400 && r.Status < 500
}

// stand stores how far the sink is.
func (h *Hook) stand(ctx context.Context, p sink.Progress, letter *Stored) error {
	next := h.held
	next.Progress, next.FailingSince = p, time.Time{}
	if err := h.save(ctx, next, letter); err != nil {
		return err
	}
	h.held = next
	return nil
}

func (h *Hook) save(ctx context.Context, s standing, letter *Stored) error {
	data, err := json.Marshal(s)
	if err != nil {
		return domain.Errorf(domain.CodeInternal, "write how far the sink %s is: %w", h.options.Name, err)
	}
	return h.options.Store.Stand(ctx, h.options.Name, data, letter)
}

// Close implements sink.Target.
func (h *Hook) Close() error { return nil }
