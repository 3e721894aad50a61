package sqlite

import (
	"context"

	driver "zombiezen.com/go/sqlite"

	"sluice/internal/document"
)

// The rule of document.Mark.Claim, with ?1 for the reason and ?2 for the
// instant: what a claim sets, and for whom.
const (
	absenceClaim = "gone_at = CASE WHEN gone_why = ?1 AND seen_at <= gone_last THEN min(gone_at, ?2) ELSE ?2 END, " +
		"gone_last = max(gone_last, ?2), gone_why = ?1"
	absenceClaimed = "seen_at <= ?2 AND (gone_last < ?2 OR (gone_why = ?1 AND gone_at > ?2))"
	absenceOfKind  = " WHERE account_id = ?3 AND kind = ?4 AND repository = ?5 AND seen_at < ?6 AND "
	ofNumbers      = " AND number IN (SELECT value FROM json_each(?7))"
)

// absenceStatement completes a statement about what an absence is about.
func absenceStatement(statement string, a *document.Absence) (sql string, args []any) {
	args = []any{string(a.Why), a.Since, a.Account, string(a.Kind), a.Repository, a.NotSeenSince}
	statement += absenceOfKind + absenceClaimed
	if len(a.Numbers) > 0 {
		return statement + ofNumbers, append(args, idList(a.Numbers))
	}
	return statement, args
}

func flagRepository(_ context.Context, c *driver.Conn, a *document.Absence) error {
	return Exec(c, `INSERT INTO repository_presence (account_id, repository, seen_at, gone_at, gone_last, gone_why)
		VALUES (?3, ?4, 0, ?2, ?2, ?1) ON CONFLICT (account_id, repository) DO UPDATE SET `+absenceClaim+" WHERE "+absenceClaimed, nil,
		string(a.Why), a.Since, a.Account, a.Repository)
}

func flagUnseen(_ context.Context, c *driver.Conn, a *document.Absence) error {
	sql, args := absenceStatement("UPDATE document SET "+absenceClaim, a)
	return Exec(c, sql, nil, args...)
}
