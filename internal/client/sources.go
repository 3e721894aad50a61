package client

import (
	"context"
	"net/http"
	"net/url"

	"sluice/internal/catalogue"
	"sluice/internal/httpapi/wire"
)

func sourcePath(name string) string { return api + "/sources/" + url.PathEscape(name) }

// Sources lists all sources.
func (c sourceCalls) Sources(ctx context.Context) (list wire.SourceList, err error) {
	err = c.call(ctx, http.MethodGet, api+"/sources", nil, nil, &list)
	return list, err
}

// Source shows one of them.
func (c sourceCalls) Source(ctx context.Context, name string) (d catalogue.Detail, err error) {
	err = c.call(ctx, http.MethodGet, sourcePath(name), nil, nil, &d)
	return d, err
}

// CheckSource says what is wrong with a file, or what it would collect.
func (c sourceCalls) CheckSource(ctx context.Context, file string) (checked catalogue.Checked, err error) {
	err = c.call(ctx, http.MethodPost, api+"/sources/check", nil, wire.SourceCheck{File: file}, &checked)
	return checked, err
}

// AddSource adds a source, or changes the file of one that was added.
func (c sourceCalls) AddSource(ctx context.Context, in catalogue.Addition) (added wire.SourceAnswer, err error) {
	err = c.call(ctx, http.MethodPost, api+"/sources", nil, in, &added)
	return added, err
}

// ProbeSource asks the upstream of a source at most three times.
func (c sourceCalls) ProbeSource(ctx context.Context, name string, in wire.SourceProbe) (p catalogue.Probe, err error) {
	err = c.call(ctx, http.MethodPost, sourcePath(name)+"/probe", nil, in, &p)
	return p, err
}

// RemoveSource removes a source that was added.
func (c sourceCalls) RemoveSource(ctx context.Context, name string) error {
	return c.call(ctx, http.MethodDelete, sourcePath(name), nil, nil, nil)
}
