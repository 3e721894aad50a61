package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"sluice/internal/domain"
)

func (s *server) registerDebug(api huma.API) {
	register(s, api, operation{id: "redis-stats", method: http.MethodGet, path: "/debug/redis/stats", tag: "probes",
		summary: "Show how Redis fares: counters alone, no keys are searched", errors: []int{http.StatusNotFound}}, s.redisStats)
}

func (s *server) redisStats(ctx context.Context, _ *struct{}) (*body[any], error) {
	if s.Redis == nil {
		return nil, domain.Errorf(domain.CodeNotFound, "this service uses no Redis; everything is in its own process")
	}
	stats, err := s.Redis(ctx)
	return &body[any]{stats}, err
}
