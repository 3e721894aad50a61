package cli

import (
	"context"
	"net/http"
	"strings"
	"time"

	"sluice/internal/client"
	"sluice/internal/ration/keeper"
)

// announcedPatience is how long a service that has announced itself on a data
// folder may take to say that it lives, before the folder is read without it.
const announcedPatience = 2 * time.Second

// readBeside is the session of a command that reads while another process holds
// the data folder. That one's API answers, as it knows most; where it does not,
// because it starts, stops or hangs, the folder is read itself.
func (a *App) readBeside(ctx context.Context, o *options, url string) (*session, error) {
	hc, err := trusting(o)
	if err != nil {
		return nil, err
	}
	if err := a.lives(ctx, hc, url); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		say(a.screen, "sluice: the service at %s does not answer (%v); this is what %s holds\n", url, err, o.Service.DataDir)
		s, err := a.open(ctx, o, "sluice", toRead)
		if err == nil {
			s.held = true
		}
		return s, err
	}
	folder := &besides{service: hc.Transport, opening: keeper.NewTurn(), open: func() (*session, error) {
		// It serves what comes after, and ends with the session.
		return a.open(context.WithoutCancel(ctx), o, "sluice", toRead)
	}}
	if folder.service == nil {
		folder.service = http.DefaultTransport
	}
	hc.Transport = folder
	c, err := client.New(url, o.HTTP.Token, hc)
	if err != nil {
		return nil, err
	}
	return &session{Client: c, folder: folder}, nil
}

// lives asks a service whether it is there.
func (a *App) lives(ctx context.Context, hc *http.Client, url string) error {
	ctx, cancel := context.WithTimeout(ctx, announcedPatience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/livez", http.NoBody)
	if err != nil {
		return err
	}
	answer, err := hc.Do(request)
	if err != nil {
		return err
	}
	return answer.Body.Close()
}

// besides carries requests to a service. Those that only read, and find that it has
// gone meanwhile, are answered from the data folder.
type besides struct {
	service http.RoundTripper
	open    func() (*session, error)

	// opening is whose turn it is to open or close the folder.
	opening keeper.Turn
	own     *session
}

// RoundTrip implements http.RoundTripper.
func (b *besides) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := b.service.RoundTrip(r)
	// Nothing happens in a folder that nobody works on: a stream would be silent.
	if err == nil || r.Method != http.MethodGet || r.Context().Err() != nil || strings.HasSuffix(r.URL.Path, "/events") || r.Header.Get("Accept") == "text/event-stream" {
		return answer, err
	}
	own, failed := b.folder(r.Context())
	if failed != nil {
		return nil, err
	}
	return own.calls.RoundTrip(r)
}

func (b *besides) folder(ctx context.Context) (*session, error) {
	if err := b.opening.Take(ctx); err != nil {
		return nil, err
	}
	defer b.opening.End()
	if b.own != nil {
		return b.own, nil
	}
	own, err := b.open()
	if err == nil {
		b.own = own
	}
	return own, err
}

func (b *besides) close(ctx context.Context) error {
	if err := b.opening.Take(ctx); err != nil {
		return err
	}
	defer b.opening.End()
	if b.own == nil {
		return nil
	}
	return b.own.Close(ctx)
}
