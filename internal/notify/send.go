package notify

import (
	"context"
	"time"

	"sluice/internal/webhook"
)

// sendTime bounds one attempt, far below the lease of a claim.
const sendTime = 30 * time.Second

// courier brings messages to one target. One attempt is made; what is wrong is
// said in the result, without secrets.
type courier interface {
	send(ctx context.Context, m *Message) webhook.Result
	close()
}

// SenderOptions is what no target says.
type SenderOptions struct {
	UserAgent string
	Now       func() time.Time
}

// open makes the courier of a target, with its secrets.
func (t Target) open(o SenderOptions) (courier, error) {
	if t.Type == TypeEmail {
		return openEmail(t, o)
	}
	url, err := t.reveal("url", t.URL)
	if err != nil {
		return nil, err
	}
	options := webhook.Options{AllowPrivate: t.AllowPrivate, UserAgent: o.UserAgent, Now: o.Now}
	if t.Type == TypeSlack {
		// Whoever knows the address may post there: nothing is signed.
		options.Unsigned = true
		return openHook(url, options, (*Message).slack)
	}
	if options.Secret, err = t.reveal("secret", t.Secret); err != nil {
		return nil, err
	}
	return openHook(url, options, (*Message).webhook)
}

// hook is a target that is reached over HTTP.
type hook struct {
	url    string
	sender *webhook.Sender
	body   func(*Message) ([]byte, error)
}

func openHook(url string, o webhook.Options, body func(*Message) ([]byte, error)) (courier, error) {
	sender, err := webhook.New(o)
	if err != nil {
		return nil, err
	}
	return &hook{url: url, sender: sender, body: body}, nil
}

func (h *hook) send(ctx context.Context, m *Message) webhook.Result {
	body, err := h.body(m)
	if err != nil {
		return webhook.Result{Error: "the message cannot be written: " + err.Error(), Permanent: true}
	}
	return h.sender.Send(ctx, webhook.Message{ID: m.ID, URL: h.url, Body: body})
}

func (h *hook) close() { h.sender.Close() }
