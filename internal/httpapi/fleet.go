package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"sluice/internal/domain"
	"sluice/internal/fleet"
	"sluice/internal/httpapi/wire"
)

// Fleet knows what the installation consists of.
type Fleet interface {
	fleet.Roll
	Backends(ctx context.Context) []fleet.Backend
}

// fleetRoutes tell of the processes of an installation and of what they work with.
type fleetRoutes struct {
	*common
	Fleet Fleet
}

func (s *fleetRoutes) registerFleet(api huma.API) {
	const tag = "probes"
	register(s, api, operation{id: "list-processes", method: http.MethodGet, path: "/api/v1/processes", tag: tag,
		summary: "List the processes of the installation, which are asked to answer now"}, s.listProcesses)
	register(s, api, operation{id: "list-backends", method: http.MethodGet, path: "/api/v1/backends", tag: tag,
		summary: "List the databases and servers that the service works with, and how they fare"}, s.listBackends)
}

func (s *fleetRoutes) listProcesses(ctx context.Context, _ *struct{}) (*body[wire.ProcessList], error) {
	if s.Fleet == nil {
		return nil, errNoFleet()
	}
	all, err := s.Fleet.Processes(ctx)
	return &body[wire.ProcessList]{wire.ProcessList{Items: all}}, err
}

func (s *fleetRoutes) listBackends(ctx context.Context, _ *struct{}) (*body[wire.BackendList], error) {
	if s.Fleet == nil {
		return nil, errNoFleet()
	}
	return &body[wire.BackendList]{wire.BackendList{Items: s.Fleet.Backends(ctx)}}, nil
}

func errNoFleet() error {
	return domain.Errorf(domain.CodeUnavailable, "this process does not know what the installation consists of")
}
