package postgres

import (
	"errors"
	"slices"

	"github.com/jackc/pgx/v5/pgconn"

	"sluice/internal/backend/relational"
	"sluice/internal/domain"
)

// Codes of errors: https://www.postgresql.org/docs/current/errcodes-appendix.html
const (
	codeLockTimeout    = "55P03"
	codeReadOnly       = "25006"
	codeDivision       = "22012"
	codeTableMissing   = "42P01"
	codeUnknownSetting = "42704"
	codePrivilege      = "42501"
)

// codesAgain are those after which the server wants the transaction to be
// repeated: it could not be put in order with others, or was the victim of a
// deadlock.
var codesAgain = []string{"40001", "40P01"}

// codesDown, and classesDown, are those of a server that cannot serve for now:
// network trouble, no memory, no disk, too many connections, shutting down,
// starting up, a statement or connection that was ended, read-only.
var (
	codesDown   = []string{codeReadOnly, "25P03", "25P04", "55006"}
	classesDown = []string{"08", "53", "57", "58"}
)

// codesDenied are those of a server that does not let this user in, or has no
// such database, or does not let it do what it has to.
var codesDenied = []string{"28000", "28P01", "3D000", "3F000", codePrivilege}

// codesData, and the class 22, are those of values that a column does not take.
var codesData = []string{"23502", "23514", "54000"}

// codesCorrupt are those of tables or indexes that are damaged.
var codesCorrupt = []string{"XX001", "XX002"}

func codeOf(err error) string {
	var answer *pgconn.PgError
	if errors.As(err, &answer) {
		return answer.Code
	}
	return ""
}

func isCode(err error, codes ...string) bool {
	code := codeOf(err)
	return code != "" && slices.Contains(codes, code)
}

// classify says what an error means.
func classify(err error) relational.Problem {
	var value *valueError
	if errors.As(err, &value) {
		return relational.BadValue
	}
	code := codeOf(err)
	if code == "" {
		if isLost(err) {
			return relational.Down
		}
		return relational.Other
	}
	switch {
	case code == codeLockTimeout:
		return relational.Locked
	case code == codeDivision:
		return relational.Refused
	case slices.Contains(codesAgain, code):
		return relational.Again
	case slices.Contains(codesDown, code), slices.Contains(classesDown, code[:2]):
		return relational.Down
	case slices.Contains(codesDenied, code):
		return relational.Denied
	case slices.Contains(codesData, code), code[:2] == "22":
		return relational.BadValue
	}
	return relational.Other
}

// isLost reports whether an error is the driver's for a connection that could
// not be made, or is gone.
func isLost(err error) bool {
	var connect *pgconn.ConnectError
	return errors.As(err, &connect) || errors.Is(err, pgconn.ErrConnClosed) || pgconn.Timeout(err) || errors.Is(err, errSession)
}

// marked gives errors of which nobody else knows the meaning their code.
func marked(err error) error {
	if isCode(err, codesCorrupt...) {
		return domain.Errorf(domain.CodeCorrupt, "PostgreSQL has found damaged data; restore it from a backup, or see REINDEX: %w", err)
	}
	return err
}
