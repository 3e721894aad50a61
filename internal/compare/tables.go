package compare

import (
	"context"
	"database/sql"
	"errors"
	"iter"
	"net"
	"net/url"
	"regexp"
	"strings"

	"github.com/go-sql-driver/mysql"
	// The driver of PostgreSQL is known by its name.
	_ "github.com/jackc/pgx/v5/stdlib"

	"sluice/internal/domain"
)

// Table is a side that is a table, or a view, of a database that speaks SQL.
type Table struct {
	// URL is mysql://… or postgres://…; it is not shown, as it may hold a password.
	URL string
	// Name is the table's, with its schema if need be.
	Name string
}

// String keeps the password out of whatever prints a table.
func (t *Table) String() string { return "table " + t.Name }

var tableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_$]*(\.[A-Za-z_][A-Za-z0-9_$]*)?$`)

// IsDatabase says whether a URL leads to a database.
func IsDatabase(address string) bool {
	scheme, _, _ := strings.Cut(address, "://")
	return scheme == "mysql" || scheme == "postgres" || scheme == "postgresql"
}

func (t *Table) connect() (*sql.DB, string, error) {
	if !tableName.MatchString(t.Name) {
		return nil, "", domain.Errorf(domain.CodeInvalid, "%q is not the name of a table; give one with --table, such as commits or archive.commits", t.Name)
	}
	u, err := url.Parse(t.URL)
	if err != nil {
		return nil, "", domain.Errorf(domain.CodeInvalid, "the URL of the database cannot be read; give one like mysql://USER@HOST/DATABASE")
	}
	if u.Scheme != "mysql" {
		db, err := sql.Open("pgx", t.URL)
		return db, `"`, err
	}
	config := mysql.NewConfig()
	config.Net, config.Addr, config.DBName, config.User = "tcp", u.Host, strings.TrimPrefix(u.Path, "/"), u.User.Username()
	if _, _, err := net.SplitHostPort(u.Host); err != nil {
		config.Addr = net.JoinHostPort(u.Host, "3306")
	}
	config.Passwd, _ = u.User.Password()
	config.ParseTime = true
	if u.Query().Get("tls") != "" {
		config.TLSConfig = u.Query().Get("tls")
	}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, "", domain.Errorf(domain.CodeInvalid, "the URL of the database cannot be used")
	}
	return sql.OpenDB(connector), "`", nil
}

// query asks for all rows; the order is made here, as databases do not agree on
// that of texts.
func (t *Table) query(ctx context.Context, tail string) (*sql.DB, *sql.Rows, error) {
	db, quote, err := t.connect()
	if err != nil {
		return nil, nil, err
	}
	name := quote + strings.ReplaceAll(t.Name, ".", quote+"."+quote) + quote
	rows, err := db.QueryContext(ctx, "SELECT * FROM "+name+tail)
	if err != nil {
		return nil, nil, errors.Join(domain.Errorf(domain.CodeUnavailable, "%s cannot be read: %w", t, err), db.Close())
	}
	return db, rows, nil
}

// Columns implements Side.
func (t *Table) Columns(ctx context.Context) ([]string, error) {
	db, rows, err := t.query(ctx, " LIMIT 0")
	if err != nil {
		return nil, err
	}
	names, err := rows.Columns()
	return names, errors.Join(err, rows.Err(), rows.Close(), db.Close())
}

// Rows implements Side.
func (t *Table) Rows(ctx context.Context) iter.Seq2[Fields, error] {
	return func(yield func(Fields, error) bool) {
		db, rows, err := t.query(ctx, "")
		if err != nil {
			yield(nil, err)
			return
		}
		defer func() { _ = errors.Join(rows.Close(), db.Close()) }() // what could not be read was told
		names, err := rows.Columns()
		if err != nil {
			yield(nil, err)
			return
		}
		for rows.Next() {
			values, into := make([]any, len(names)), make([]any, len(names))
			for i := range values {
				into[i] = &values[i]
			}
			if err := rows.Scan(into...); err != nil {
				yield(nil, err)
				return
			}
			fields := make(Fields, len(names))
			for i, name := range names {
				fields[name] = values[i]
			}
			if !yield(fields, nil) {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(nil, domain.Errorf(domain.CodeUnavailable, "%s cannot be read to its end: %w", t, err))
		}
	}
}
