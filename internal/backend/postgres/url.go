package postgres

import (
	"net/url"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"sluice/internal/domain"
)

// schemes are those of a URL.
var schemes = []string{"postgres", "postgresql"}

// parameters are what may follow a URL after the question mark. What a session
// begins with is not the URL's business, except where its tables are.
var parameters = []string{
	"sslmode", "sslrootcert", "sslcert", "sslkey", "sslpassword", "sslnegotiation", "sslsni", "channel_binding", "require_auth",
	"host", "port", "password", "passfile", "target_session_attrs", "search_path",
}

// sslModes are the values of sslmode.
var sslModes = []string{"disable", "allow", "prefer", "require", "verify-ca", "verify-full"}

// Speaks reports whether a URL is one of PostgreSQL.
func Speaks(text string) bool {
	scheme, _, ok := strings.Cut(text, "://")
	return ok && slices.Contains(schemes, scheme)
}

const example = "postgres://user:password@host:5432/database?sslmode=require"

// parseURL turns postgres://user:password@host:port/database?sslmode=… into the
// driver's words. What is wrong is told without the URL's secrets, and without
// the driver's words, as nobody vouches for what they quote.
func parseURL(text string) (*pgx.ConnConfig, error) {
	u, err := url.Parse(text)
	if err != nil || !slices.Contains(schemes, u.Scheme) {
		return nil, domain.Errorf(domain.CodeInvalid,
			"the PostgreSQL URL %s cannot be understood; it is like %s, with %%-escapes for special characters", Redact(text), example)
	}
	values, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, domain.Errorf(domain.CodeInvalid, "what follows the question mark in the PostgreSQL URL %s cannot be understood", Redact(text))
	}
	for name, given := range values {
		if !slices.Contains(parameters, name) || len(given) != 1 {
			return nil, domain.Errorf(domain.CodeInvalid, "the PostgreSQL URL %s has an unknown parameter %s, or has it twice; there are %s",
				Redact(text), name, strings.Join(parameters, ", "))
		}
	}
	if mode := values.Get("sslmode"); values.Has("sslmode") && !slices.Contains(sslModes, mode) {
		return nil, domain.Errorf(domain.CodeInvalid, "the PostgreSQL URL %s has an unknown sslmode; there are %s", Redact(text), strings.Join(sslModes, ", "))
	}
	if u.Host == "" && !values.Has("host") {
		return nil, domain.Errorf(domain.CodeInvalid, "the PostgreSQL URL %s names no host; it is like %s", Redact(text), example)
	}
	if name := strings.TrimPrefix(u.Path, "/"); name == "" || strings.Contains(name, "/") {
		return nil, domain.Errorf(domain.CodeInvalid, "the PostgreSQL URL %s names no database; it is like %s", Redact(text), example)
	}
	config, err := pgx.ParseConfig(text)
	if err != nil {
		return nil, domain.Errorf(domain.CodeInvalid,
			"the options in the PostgreSQL URL %s are refused by the driver; check the host, the port, and that the files it names can be read", Redact(text))
	}
	tune(config)
	return config, nil
}

// tune sets how the driver behaves.
func tune(config *pgx.ConnConfig) {
	config.ConnectTimeout, config.DialFunc = dialTimeout, dial
	// Nothing is prepared: see interpolate.go. This is about migrations alone.
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
}

// place is where a database is, for people.
func place(config *pgconn.Config) string {
	_, address := pgconn.NetworkAddress(config.Host, config.Port)
	return address + "/" + config.Database
}

// Redact returns a URL without its password and without its parameters, one of
// which may be a password too. Where the password would be is not known of
// anything else, so that nothing of it is returned.
func Redact(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Scheme == "" || u.Opaque != "" || u.Host == "" && u.Path == "" {
		return "(not a URL)"
	}
	u.RawQuery, u.Fragment = "", ""
	return u.Redacted()
}
