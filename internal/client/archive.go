package client

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"time"

	"sluice/internal/archive"
	"sluice/internal/httpapi/wire"
)

const archivePath = api + "/archive"

// VerifyArchive reads files of the archive back, for as long as it takes.
func (c snapshotCalls) VerifyArchive(ctx context.Context, q wire.ArchiveVerifyRequest) (wire.ArchiveVerified, error) {
	return carryOut[wire.ArchiveVerified](ctx, c.transport, archivePath+"/verify", q)
}

// RestoreArchive puts archived values back into the store, for as long as it
// takes.
func (c snapshotCalls) RestoreArchive(ctx context.Context, q wire.ArchiveRestoreRequest) (wire.ArchiveRestored, error) {
	return carryOut[wire.ArchiveRestored](ctx, c.transport, archivePath+"/restore", q)
}

// RunArchive archives what is old enough, for as long as it takes.
func (c snapshotCalls) RunArchive(ctx context.Context) (archive.Done, error) {
	return carryOut[archive.Done](ctx, c.transport, archivePath+"/run", nil)
}

// ExportArchive writes archived values to w as lines of JSON and returns how
// many. It fails with code unavailable if the service breaks off; what w has
// then is not whole.
func (c snapshotCalls) ExportArchive(ctx context.Context, q wire.ArchiveRestoreRequest, w io.Writer) (int64, error) {
	query := url.Values{}
	add(query, "source", q.Source)
	add(query, "key", q.Key)
	add(query, "from", q.From)
	add(query, "to", q.To)
	return c.download(ctx, archivePath+"/values", query, w)
}

// carryOut has the service do something that may take long, and returns what
// came of it.
func carryOut[T any](ctx context.Context, c *transport, path string, in any) (T, error) {
	var none T
	stream, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	alive := time.AfterFunc(silence, func() { cancel(errSilent) })
	defer alive.Stop()
	res, err := c.send(stream, http.MethodPost, path, nil, in)
	if err != nil {
		return none, c.brokenOff(stream, err)
	}
	defer func() { _ = res.Body.Close() }()
	for result, err := range events[T](res.Body, one[T](wire.EventDone), func() { alive.Reset(silence) }) {
		if err != nil {
			return none, c.brokenOff(stream, err)
		}
		return result, nil
	}
	return none, c.brokenOff(stream, io.ErrUnexpectedEOF)
}
