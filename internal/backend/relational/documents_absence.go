package relational

import (
	"context"
	"encoding/hex"
	"strconv"
	"strings"

	"sluice/internal/document"
)

// The rule of document.Mark.Claim, with {why} for the reason and {at} for the
// instant: what a claim sets, and for whom. Assignments are made from left to
// right, so that a column is changed after those that go by it; {t} is the table
// in an upsert.
const (
	claimSince = "CASE WHEN {t}gone_why = {why} AND {t}seen_at <= {t}gone_last THEN LEAST({t}gone_at, {at}) ELSE {at} END"
	claimLast  = "GREATEST({t}gone_last, {at})"
	claimAll   = "gone_at = " + claimSince + ", gone_last = " + claimLast + ", gone_why = {why}"
	claimed    = "{t}seen_at <= {at} AND ({t}gone_last < {at} OR ({t}gone_why = {why} AND {t}gone_at > {at}))"
	ofKind     = " WHERE account_id = {account} AND kind = {kind} AND repository = {repository}"
)

func flagRepository(ctx context.Context, tx *Tx, a *document.Absence) error {
	return claimAbsence(ctx, tx, a, `INSERT INTO repository_presence (account_id, repository, seen_at, gone_at, gone_last, gone_why)
		VALUES ({account}, {repository}, 0, {at}, {at}, {why}) `+tx.Dialect().Upsert(Upsert{Key: "account_id, repository", Set: strings.ReplaceAll(
		"gone_at = CASE WHEN "+claimed+" THEN "+claimSince+" ELSE {t}gone_at END, "+
			"gone_why = CASE WHEN {t}seen_at <= {at} AND {t}gone_last < {at} THEN {why} ELSE {t}gone_why END, "+
			"gone_last = CASE WHEN {t}seen_at <= {at} THEN "+claimLast+" ELSE {t}gone_last END", "{t}", "repository_presence.")}))
}

func flagUnseen(ctx context.Context, tx *Tx, a *document.Absence) error {
	return claimAbsence(ctx, tx, a, "UPDATE document SET "+claimAll+ofKind+" AND seen_at < {unseen} AND "+claimed+ofNumbers(a))
}

// ofNumbers restricts a statement to the numbers of an absence.
func ofNumbers(a *document.Absence) string {
	if len(a.Numbers) == 0 {
		return ""
	}
	texts := make([]string, len(a.Numbers))
	for i, n := range a.Numbers {
		texts[i] = strconv.FormatInt(n, 10)
	}
	return " AND number IN (" + strings.Join(texts, ",") + ")"
}

func claimAbsence(ctx context.Context, tx *Tx, a *document.Absence, sql string) error {
	_, err := absenceStatement(a, sql).Exec(ctx, tx)
	return err
}

// absenceStatement puts an absence into SQL. Nothing of it is anybody's text: the
// reason is a known one, and the kind is written as digits.
func absenceStatement(a *document.Absence, sql string) *Statement {
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	var s Statement
	s.Write(strings.NewReplacer(
		"{account}", number(a.Account), "{repository}", number(a.Repository), "{kind}", "X'"+hex.EncodeToString(keyOf(string(a.Kind), kindWidth))+"'",
		"{why}", "'"+string(a.Why)+"'", "{at}", number(Micros(a.Since)),
		"{unseen}", number(Micros(a.NotSeenSince)), "{t}", "",
	).Replace(sql))
	return &s
}
