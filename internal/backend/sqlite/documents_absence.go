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
)

func flagRepository(_ context.Context, c *driver.Conn, a *document.Absence) error {
	return Exec(c, `INSERT INTO repository_presence (account_id, repository, seen_at, gone_at, gone_last, gone_why)
		VALUES (?3, ?4, 0, ?2, ?2, ?1) ON CONFLICT (account_id, repository) DO UPDATE SET `+absenceClaim+" WHERE "+absenceClaimed, nil,
		string(a.Why), a.Since, a.Account, a.Repository)
}

func flagUnseen(_ context.Context, c *driver.Conn, a *document.Absence) error {
	return Exec(c, "UPDATE document SET "+absenceClaim+` WHERE account_id = ?3 AND kind = ?4 AND repository = ?5
		AND seen_at < ?6 AND `+absenceClaimed, nil,
		string(a.Why), a.Since, a.Account, string(a.Kind), a.Repository, a.NotSeenSince)
}
