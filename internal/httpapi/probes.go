package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"sluice/internal/domain"
)

// checkTimeout is how long the store may take to prove that it works.
const checkTimeout = time.Second

func (s *server) registerProbes(api huma.API) {
	const tag = "probes"
	register(s, api, operation{id: "livez", method: http.MethodGet, path: "/livez", tag: tag,
		summary: "The process is alive"}, s.livez)
	register(s, api, operation{id: "readyz", method: http.MethodGet, path: "/readyz", tag: tag,
		summary: "The service takes requests and its store can be read and written"}, s.readyz)
}

type probeAnswer struct {
	Status string `json:"status" enum:"ok"`
}

func (s *server) livez(context.Context, *struct{}) (*body[probeAnswer], error) {
	return &body[probeAnswer]{probeAnswer{"ok"}}, nil
}

func (s *server) readyz(ctx context.Context, _ *struct{}) (*body[probeAnswer], error) {
	if why := s.Lifecycle.unready(); why != "" {
		return nil, domain.Errorf(domain.CodeUnavailable, "%s", why)
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	if err := s.Check(ctx); err != nil {
		return nil, domain.Errorf(domain.CodeUnavailable, "something that the service needs does not work: %w", err)
	}
	return &body[probeAnswer]{probeAnswer{"ok"}}, nil
}
