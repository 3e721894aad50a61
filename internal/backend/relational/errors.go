package relational

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"

	"sluice/internal/domain"
)

// errAgain is returned by a transaction that wants to be repeated, as it has
// seen what others changed meanwhile.
var errAgain = errors.New("others have changed the same rows")

// Problem says what an error means, however it is wrapped.
func (d *DB) Problem(err error) Problem {
	switch {
	case err == nil:
		return Other
	case errors.Is(err, errAgain):
		return Again
	}
	if p := d.options.Dialect.Classify(err); p != Other {
		return p
	}
	if isLost(err) {
		return Down
	}
	return Other
}

// IsLocked reports whether an error tells that a lock was not to be had in
// time, because another transaction has it.
func (d *DB) IsLocked(err error) bool { return d.Problem(err) == Locked }

// IsRefused reports whether an error is that of a Refuse.
func (d *DB) IsRefused(err error) bool { return d.Problem(err) == Refused }

// Describe gives an error of the database a code. The end of the caller's own
// context stays what it is: whatever else went wrong came of that.
func (d *DB) Describe(ctx context.Context, err error) error {
	var coded *domain.Error
	if err == nil || errors.As(err, &coded) {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if d.closed.Load() {
		return domain.Errorf(domain.CodeUnavailable, "the database is closed")
	}
	server, name := d.options.Dialect.Name, d.options.Name
	switch d.Problem(err) {
	case Again, Locked:
		return domain.Errorf(domain.CodeUnavailable, "%s at %s is too busy: others hold the same rows: %w", server, name, err)
	case Down, Denied:
		return domain.Errorf(domain.CodeUnavailable, "%s at %s does not answer, or takes no writes: %w", server, name, err)
	case BadValue:
		return domain.Errorf(domain.CodeInvalid, "%s at %s refuses a value: %w", server, name, err)
	case Other, Refused:
	}
	return err
}

// Denied tells whoever starts the program what to do about a server that does
// not let it in: trying later will not help.
func (d *DB) Denied(err error) error {
	if d.Problem(err) == Denied {
		return domain.Errorf(domain.CodeInvalid, "%s at %s refuses this user; check user, password and database in the URL: %w",
			d.options.Dialect.Name, d.options.Name, err)
	}
	return err
}

// isLost reports whether the connection is gone. What a transaction did is
// then unknown only if that happened while it was being committed, and even
// then may be repeated.
func isLost(err error) bool {
	for _, lost := range []error{driver.ErrBadConn, sql.ErrConnDone, sql.ErrTxDone, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed} {
		if errors.Is(err, lost) {
			return true
		}
	}
	var network net.Error
	return errors.As(err, &network)
}
