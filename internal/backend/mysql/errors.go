package mysql

import (
	"errors"
	"slices"

	"github.com/go-sql-driver/mysql"

	"sluice/internal/backend/relational"
)

// Numbers of errors, the same for MySQL and MariaDB.
const (
	errTableMissing = 1146
	errLockTimeout  = 1205
)

// errAgain are the errors after which the server wants the transaction to be
// repeated: a deadlock, a row that changed under a snapshot, and a conflict
// between the members of a group.
var errAgain = []uint16{1213, 1020, 3101}

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

// errOutOfRange is the error of an addition that overflows: that of refuse.
const errOutOfRange = 1690

// classify says what an error of the driver means.
func classify(err error) relational.Problem {
	switch {
	case isNumber(err, errLockTimeout):
		return relational.Locked
	case isNumber(err, errAgain...):
		return relational.Again
	case isNumber(err, errDown...), isLost(err):
		return relational.Down
	case isNumber(err, errDenied...):
		return relational.Denied
	case isNumber(err, errData...), errors.Is(err, mysql.ErrPktTooLarge):
		return relational.BadValue
	case isNumber(err, errOutOfRange):
		return relational.Refused
	}
	return relational.Other
}

// isLost reports whether the driver has given a connection up.
func isLost(err error) bool {
	for _, lost := range []error{mysql.ErrInvalidConn, mysql.ErrMalformPkt, mysql.ErrPktSync, mysql.ErrPktSyncMul, mysql.ErrBusyBuffer} {
		if errors.Is(err, lost) {
			return true
		}
	}
	return false
}
