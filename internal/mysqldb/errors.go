package mysqldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"slices"

	"github.com/go-sql-driver/mysql"

	"sluice/internal/domain"
)

// Numbers of errors, the same for MySQL and MariaDB.
const (
	errTableMissing = 1146
	errLockTimeout  = 1205
)

// errAgain are the errors after which the server wants the transaction to be
// repeated: a deadlock, a lock that was not to be had, a row that changed
// under a snapshot, and a conflict between the members of a group.
var errAgain = []uint16{1213, errLockTimeout, 1020, 3101}

// errDown are the errors of a server that cannot serve for now: too many
// connections, no memory, no disk, shutting down, network trouble, a statement
// or connection that was ended, read-only, or not yet part of its cluster.
var errDown = []uint16{
	1021, 1037, 1038, 1040, 1041, 1047, 1053, 1114, 1129, 1158, 1159, 1160, 1161, 1180, 1203, 1206, 1226, 1290, 1317,
	1792, 1836, 1927, 1969, 3024, 3032, 3168,
}

// errDenied are those of a server that does not let this user in.
var errDenied = []uint16{1044, 1045, 1049, 1130, 1251, 1698}

// errData are those of values that a column does not take.
var errData = []uint16{1048, 1153, 1264, 1265, 1366, 1406, 3140}

func isNumber(err error, numbers ...uint16) bool {
	var m *mysql.MySQLError
	return errors.As(err, &m) && slices.Contains(numbers, m.Number)
}

// describe gives an error of the database a code. The end of the caller's own
// context stays what it is: whatever else went wrong came of that.
func (d *DB) describe(ctx context.Context, err error) error {
	var coded *domain.Error
	if err == nil || errors.As(err, &coded) {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	switch {
	case d.closed.Load():
		return domain.Errorf(domain.CodeUnavailable, "the database is closed")
	case isNumber(err, errAgain...):
		return domain.Errorf(domain.CodeUnavailable, "MySQL at %s is too busy: others hold the same rows: %w", d.name, err)
	case isNumber(err, errDown...), isNumber(err, errDenied...), isLost(err):
		return domain.Errorf(domain.CodeUnavailable, "MySQL at %s does not answer, or takes no writes: %w", d.name, err)
	case isNumber(err, errData...), errors.Is(err, mysql.ErrPktTooLarge):
		return domain.Errorf(domain.CodeInvalid, "MySQL at %s refuses a value: %w", d.name, err)
	}
	return err
}

// isLost reports whether the connection is gone. What a transaction did is
// then unknown only if that happened while it was being committed, and even
// then may be repeated.
func isLost(err error) bool {
	for _, lost := range []error{
		driver.ErrBadConn, mysql.ErrInvalidConn, mysql.ErrMalformPkt, mysql.ErrPktSync, mysql.ErrPktSyncMul, mysql.ErrBusyBuffer,
		sql.ErrConnDone, sql.ErrTxDone, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed,
	} {
		if errors.Is(err, lost) {
			return true
		}
	}
	var network net.Error
	return errors.As(err, &network)
}

// refused tells whoever starts the program what to do about a server that does
// not let it in: trying later will not help.
func refused(name string, err error) error {
	if isNumber(err, errDenied...) {
		return domain.Errorf(domain.CodeInvalid, "MySQL at %s refuses this user; check user, password and database in the URL: %w", name, err)
	}
	return err
}
