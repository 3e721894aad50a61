package postgres

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"sluice/internal/backend/relational"
)

// OpenQueries answers SQL as the user of a URL, who may read the views and nothing
// else. Nothing is sent before somebody asks.
func OpenQueries(url string) (*relational.Queries, error) {
	config, err := parseURL(url)
	if err != nil {
		return nil, err
	}
	// One statement at a time, and values as the server writes them.
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	return relational.NewQueries(stdlib.OpenDB(*config), queries), nil
}

const declare = "DECLARE asked NO SCROLL CURSOR FOR "

var queries = &relational.QueryDialect{
	Limit: func(limit time.Duration) []string {
		return []string{fmt.Sprintf("SET statement_timeout = %d", limit.Milliseconds())}
	},
	Begin: []string{"SET TIME ZONE 'UTC'", "BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"},
	Powers: `SELECT (SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
			WHERE n.nspname = current_schema() AND c.relkind IN ('r', 'p') AND has_any_column_privilege(c.oid, 'SELECT, INSERT, UPDATE, REFERENCES'))
		+ (SELECT count(*) FROM pg_roles r WHERE r.rolname LIKE 'pg\_%' AND pg_has_role(current_user, r.oid, 'MEMBER'))
		+ (SELECT count(*) FROM pg_roles r WHERE r.rolname = current_user AND (r.rolsuper OR r.rolcreaterole OR r.rolreplication OR r.rolbypassrls))
		+ (SELECT count(*) FROM pg_extension WHERE extname IN ('dblink', 'postgres_fdw', 'file_fdw', 'adminpack'))`,
	Tables: `SELECT c.relname::text, a.attname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
			JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
		WHERE n.nspname = current_schema() AND c.relkind = 'v' AND has_table_privilege(c.oid, 'SELECT') ORDER BY c.relname, a.attnum`,
	// A cursor is of something that reads, and of one statement.
	Ask: func(statement string, rows int) ([]string, string) {
		return []string{declare + statement}, "FETCH FORWARD " + strconv.Itoa(rows) + " FROM asked"
	},
	Explain: explainQuery,
}

func explainQuery(err error, statement string) (text string, offset int, invalid bool) {
	var refused *pgconn.PgError
	if !errors.As(err, &refused) {
		return "", -1, false
	}
	offset = -1
	// Positions count characters from 1, in what was sent.
	if at := int(refused.Position) - 1 - len(declare); refused.Position > 0 && at >= 0 {
		characters := []rune(statement)
		offset = len(string(characters[:min(at, len(characters))]))
	}
	// Class 57 is the server's own trouble, and the end of its patience.
	return refused.Message, offset, !strings.HasPrefix(refused.Code, "57") && !strings.HasPrefix(refused.Code, "53") && !strings.HasPrefix(refused.Code, "08")
}
