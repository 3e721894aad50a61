package hook

import (
	"context"
	"encoding/json"
	"slices"

	"sluice/internal/domain"
	"sluice/internal/sink"
	"sluice/internal/webhook"
)

// allLetters is more than a sink has that somebody looks after.
const allLetters = 1_000_000

// Letters implements sink.Lettered.
func (h *Hook) Letters(ctx context.Context, limit int) (letters []sink.Letter, err error) {
	stored, err := h.options.Store.Letters(ctx, h.options.Name, limit)
	for _, s := range stored {
		letters = append(letters, sink.Letter{ID: s.ID, At: s.At, Status: s.Status, Reason: s.Reason, Bytes: len(s.Body)})
	}
	return letters, err
}

// CountLetters implements sink.Lettered.
func (h *Hook) CountLetters(ctx context.Context) (int64, error) {
	return h.options.Store.CountLetters(ctx, h.options.Name)
}

// own returns a letter of this sink.
func (h *Hook) own(ctx context.Context, id string) (Stored, error) {
	s, err := h.options.Store.Letter(ctx, id)
	if err == nil && s.Sink != h.options.Name {
		err = domain.Errorf(domain.CodeNotFound, "the sink %s has no letter %s", h.options.Name, id)
	}
	return s, err
}

// Redrive implements sink.Lettered. The letter is what it was: a receiver that has had
// newer rows since tells by the position.
func (h *Hook) Redrive(ctx context.Context, id string) error {
	letter, err := h.own(ctx, id)
	if err != nil {
		return err
	}
	result := h.options.Sender.Send(ctx, webhook.Message{ID: id, URL: h.options.URL, Body: letter.Body})
	if err := ctx.Err(); err != nil {
		return err
	}
	if !result.OK {
		return domain.Errorf(domain.CodeUnavailable, "the letter %s stays: %s", id, result.Error)
	}
	_, err = h.options.Store.Discard(ctx, id)
	return err
}

// Discard implements sink.Lettered.
func (h *Hook) Discard(ctx context.Context, id string) error {
	if _, err := h.own(ctx, id); err != nil {
		return err
	}
	_, err := h.options.Store.Discard(ctx, id)
	return err
}

// forget takes the rows of accounts out of letters, of which nothing is to stay.
func (h *Hook) forget(ctx context.Context, purged []int64) error {
	if len(purged) == 0 {
		return nil
	}
	letters, err := h.options.Store.Letters(ctx, h.options.Name, allLetters)
	if err != nil {
		return err
	}
	for _, letter := range letters {
		var b Batch
		if err := json.Unmarshal(letter.Body, &b); err != nil {
			return domain.Errorf(domain.CodeCorrupt, "the letter %s of the sink %s cannot be read; discard it: %w", letter.ID, h.options.Name, err)
		}
		had := len(b.Rows)
		b.Rows = slices.DeleteFunc(b.Rows, func(r Row) bool { return slices.Contains(purged, r.Account) })
		if len(b.Rows) == had {
			continue
		}
		body, err := encode(&b)
		if err == nil {
			err = h.options.Store.Rewrite(ctx, letter.ID, body)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
