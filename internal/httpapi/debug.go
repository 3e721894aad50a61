package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"sluice/internal/domain"
)

// debugRoutes serve what helps to find faults.
type debugRoutes struct {
	*common
	Redis func(ctx context.Context) (any, error)
}

func (s *debugRoutes) registerDebug(api huma.API) {
	register(s, api, operation{id: "redis-stats", method: http.MethodGet, path: "/debug/redis/stats", tag: "probes",
		summary: "Show the state of Redis, from its counters; no keys are scanned", errors: []int{http.StatusNotFound}}, s.redisStats)
}

func (s *debugRoutes) redisStats(ctx context.Context, _ *struct{}) (*body[any], error) {
	if s.Redis == nil {
		return nil, domain.Errorf(domain.CodeNotFound, "this service does not use Redis; everything is in its own process")
	}
	stats, err := s.Redis(ctx)
	return &body[any]{stats}, err
}
