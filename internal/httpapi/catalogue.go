package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"sluice/internal/access"
	"sluice/internal/catalogue"
	"sluice/internal/domain"
	"sluice/internal/httpapi/wire"
)

// Catalogue lists sources and changes which there are; *catalogue.Catalogue is one.
type Catalogue interface {
	List(ctx context.Context) ([]catalogue.Item, error)
	Get(ctx context.Context, name string) (catalogue.Detail, error)
	Add(ctx context.Context, in catalogue.Addition) (added catalogue.Detail, isNew bool, err error)
	Remove(ctx context.Context, name string) error
	Probe(ctx context.Context, name, target, token string) (catalogue.Probe, error)
}

// noCatalogue is where nobody keeps one.
type noCatalogue struct{}

func noSources() error {
	return domain.Errorf(domain.CodeUnavailable, "this service keeps no list of sources")
}

// List implements Catalogue.
func (noCatalogue) List(context.Context) ([]catalogue.Item, error) { return nil, noSources() }

// Get implements Catalogue.
func (noCatalogue) Get(context.Context, string) (catalogue.Detail, error) {
	return catalogue.Detail{}, noSources()
}

// Add implements Catalogue.
func (noCatalogue) Add(context.Context, catalogue.Addition) (catalogue.Detail, bool, error) {
	return catalogue.Detail{}, false, noSources()
}

// Remove implements Catalogue.
func (noCatalogue) Remove(context.Context, string) error { return noSources() }

// Probe implements Catalogue.
func (noCatalogue) Probe(context.Context, string, string, string) (catalogue.Probe, error) {
	return catalogue.Probe{}, noSources()
}

// sourceRoutes serve the sources that there are.
type sourceRoutes struct {
	*common
	Catalogue Catalogue
}

// mostOfFile is what a request with a file has at most: a file of 256 KiB, whose
// characters may be escaped.
const mostOfFile = 1 << 20

func (s *sourceRoutes) registerSources(api huma.API) {
	const tag, path = "sources", "/api/v1/sources"
	if s.Catalogue == nil {
		s.Catalogue = noCatalogue{}
	}
	register(s, api, operation{id: "list-sources", method: http.MethodGet, path: path, tag: tag,
		summary: "List the sources: of the program, of the settings, and those that were added"}, s.listSources)
	register(s, api, operation{id: "get-source", method: http.MethodGet, path: path + "/{name}", tag: tag,
		summary: "Show a source: its file, what runs ask for, its tables", errors: []int{http.StatusNotFound}}, s.getSource)
	register(s, api, operation{id: "check-source", method: http.MethodPost, path: path + "/check", tag: tag, body: mostOfFile,
		summary: "Say what is wrong with a file, or what it would collect", errors: []int{http.StatusUnprocessableEntity}}, s.checkSource)
	register(s, api, operation{id: "add-source", method: http.MethodPost, path: path, tag: tag, body: mostOfFile, status: http.StatusCreated,
		summary: "Add a source, or change the file of one that was added", errors: []int{http.StatusConflict, http.StatusUnprocessableEntity}}, s.addSource)
	register(s, api, operation{id: "probe-source", method: http.MethodPost, path: path + "/{name}/probe", tag: tag,
		summary: "Ask the upstream of a source at most three times, and propose what its file lacks",
		errors:  []int{http.StatusNotFound, http.StatusConflict, http.StatusUnprocessableEntity}}, s.probeSource)
	register(s, api, operation{id: "remove-source", method: http.MethodDelete, path: path + "/{name}", tag: tag,
		summary: "Remove a source that was added and has no accounts", status: http.StatusNoContent,
		errors: []int{http.StatusNotFound, http.StatusConflict}}, s.removeSource)
}

type probeSource struct {
	Name string `path:"name" maxLength:"50" doc:"The name of the source"`
	Body wire.SourceProbe
}

func (s *sourceRoutes) probeSource(ctx context.Context, in *probeSource) (*body[catalogue.Probe], error) {
	access.About(ctx, in.Body.Target)
	p, err := s.Catalogue.Probe(ctx, in.Name, in.Body.Target, in.Body.Token)
	return &body[catalogue.Probe]{p}, err
}

func (s *sourceRoutes) listSources(ctx context.Context, _ *struct{}) (*body[wire.SourceList], error) {
	list, err := s.Catalogue.List(ctx)
	return &body[wire.SourceList]{wire.SourceList{Items: notNull(list)}}, err
}

type sourceRef struct {
	Name string `path:"name" maxLength:"50" doc:"The name of the source"`
}

func (s *sourceRoutes) getSource(ctx context.Context, in *sourceRef) (*body[catalogue.Detail], error) {
	d, err := s.Catalogue.Get(ctx, in.Name)
	return &body[catalogue.Detail]{d}, err
}

func (*sourceRoutes) checkSource(_ context.Context, in *body[wire.SourceCheck]) (*body[catalogue.Checked], error) {
	return &body[catalogue.Checked]{catalogue.Check([]byte(in.Body.File))}, nil
}

type sourceAdded struct {
	Status int
	Body   wire.SourceAnswer
}

func (s *sourceRoutes) addSource(ctx context.Context, in *body[catalogue.Addition]) (*sourceAdded, error) {
	access.About(ctx, in.Body.About())
	d, isNew, err := s.Catalogue.Add(ctx, in.Body)
	if err != nil {
		return nil, err
	}
	out := &sourceAdded{http.StatusOK, wire.SourceAnswer{Detail: d, New: isNew}}
	if isNew {
		out.Status = http.StatusCreated
	}
	return out, nil
}

func (s *sourceRoutes) removeSource(ctx context.Context, in *sourceRef) (*struct{}, error) {
	return nil, s.Catalogue.Remove(ctx, in.Name)
}
