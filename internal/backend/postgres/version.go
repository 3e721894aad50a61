package postgres

import (
	"errors"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"sluice/internal/domain"
)

// leastVersion is the oldest that has what is used: a limit for sessions that
// are idle.
const leastVersion = 14

// checkVersion refuses servers that lack what is used.
func checkVersion(text string) error {
	number, _, _ := strings.Cut(text, " ")
	major, _, _ := strings.Cut(number, ".")
	// Versions to come are told as 19beta1; what is no number is too old.
	digits := major
	if i := strings.IndexFunc(major, func(r rune) bool { return r < '0' || r > '9' }); i >= 0 {
		digits = major[:i]
	}
	if have, err := strconv.Atoi(digits); err != nil || have < leastVersion {
		return domain.Errorf(domain.CodeInvalid, "the server is PostgreSQL %s; %d or newer is needed", number, leastVersion)
	}
	return nil
}

// tooOld recognizes a server that does not know what every session begins with,
// and therefore does not get as far as to tell its version.
func tooOld(err error) error {
	var answer *pgconn.PgError
	if errors.As(err, &answer) && answer.Code == codeUnknownSetting {
		return domain.Errorf(domain.CodeInvalid,
			"the server does not know a setting of PostgreSQL %d; that or a newer one is needed, without a pooler in between that passes on a few settings only: %w",
			leastVersion, err)
	}
	return err
}

// checkEncoding refuses databases that cannot hold every text.
func checkEncoding(encoding string) error {
	if encoding != "UTF8" {
		return domain.Errorf(domain.CodeInvalid, "the database has the encoding %s; create it with ENCODING 'UTF8'", encoding)
	}
	return nil
}
