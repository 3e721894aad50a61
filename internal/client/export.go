package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"sluice/internal/domain"
	"sluice/internal/export"
	"sluice/internal/httpapi/wire"
)

// exportSilence is how long an export may bring nothing: the service may have
// to look far for the next row.
const exportSilence = 5 * time.Minute

// ExportQuery says what is exported. Zero times and no accounts do not
// restrict.
type ExportQuery struct {
	Kind   export.Kind
	Format export.Format
	// Accounts are ids or logins.
	Accounts     []string
	Since, Until time.Time
	// ChangedSince is a position of the feed of changes; "" exports all.
	ChangedSince string
}

func (q ExportQuery) values() url.Values {
	v := url.Values{"kind": {string(q.Kind)}, "format": {string(q.Format)}, "account": q.Accounts}
	for name, t := range map[string]time.Time{"since": q.Since, "until": q.Until} {
		if !t.IsZero() {
			v.Set(name, t.UTC().Format(time.RFC3339Nano))
		}
	}
	add(v, "changed_since", q.ChangedSince)
	return v
}

// Export writes the rows to w and returns how many they are. It fails with
// code unavailable if the service breaks off; what w has then is not whole.
func (c accountCalls) Export(ctx context.Context, q ExportQuery, w io.Writer) (rows int64, err error) {
	rows, _, err = c.ExportChanged(ctx, q, w)
	return rows, err
}

// ExportChanged is Export that also returns the position to give as ChangedSince the
// next time; "" if that was not given.
func (c accountCalls) ExportChanged(ctx context.Context, q ExportQuery, w io.Writer) (rows int64, position string, err error) {
	rows, header, err := c.fetch(ctx, api+"/export", q.values(), w)
	return rows, header.Get(wire.HeaderPosition), err
}

// download writes what an endpoint streams to w, and returns how many rows it
// says there were: without that word at its end the answer is cut short.
func (c *transport) download(ctx context.Context, path string, query url.Values, w io.Writer) (rows int64, err error) {
	rows, _, err = c.fetch(ctx, path, query, w)
	return rows, err
}

// fetch is download that also returns the header of the answer.
func (c *transport) fetch(ctx context.Context, path string, query url.Values, w io.Writer) (rows int64, header http.Header, err error) {
	stream, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	alive := time.AfterFunc(exportSilence, func() { cancel(errSilent) })
	defer alive.Stop()
	res, err := c.send(stream, http.MethodGet, path, query, nil)
	if err != nil {
		return 0, nil, c.brokenOff(stream, err)
	}
	defer func() { _ = res.Body.Close() }() // read to its end, or given up
	destination := &patient{w: w, alive: alive}
	if _, err := io.Copy(destination, res.Body); err != nil {
		if destination.err != nil {
			return 0, nil, destination.err
		}
		return 0, nil, c.brokenOff(stream, err)
	}
	rows, err = strconv.ParseInt(res.Trailer.Get(wire.TrailerRows), 10, 64)
	if err != nil {
		return 0, nil, domain.Errorf(domain.CodeUnavailable, "the export of %s ended without the trailer %s: it was cut short, or a proxy drops trailers", c.base, wire.TrailerRows)
	}
	return rows, res.Header, nil
}

// patient writes for as long as it takes: what the caller does with the rows is
// no silence of the service.
type patient struct {
	w     io.Writer
	alive *time.Timer
	err   error
}

// Write implements io.Writer.
func (p *patient) Write(b []byte) (int, error) {
	p.alive.Stop()
	n, err := p.w.Write(b)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	p.err = errors.Join(p.err, err)
	p.alive.Reset(exportSilence)
	return n, err
}
