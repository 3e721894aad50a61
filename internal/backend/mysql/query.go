package mysql

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"sluice/internal/backend/relational"
)

// OpenQueries answers SQL as the user of a URL, who may read the views and nothing
// else. Nothing is sent before somebody asks.
func OpenQueries(url string) (*relational.Queries, error) {
	config, err := parseURL(url)
	if err != nil {
		return nil, err
	}
	config.Timeout = dialTimeout
	config.MultiStatements = false
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, err
	}
	return relational.NewQueries(sql.OpenDB(connector), queries), nil
}

var queries = &relational.QueryDialect{
	// The first is MariaDB's, the second MySQL's.
	Limit: func(limit time.Duration) []string {
		return []string{fmt.Sprintf("SET SESSION max_statement_time = %d", int(limit.Seconds())),
			fmt.Sprintf("SET SESSION max_execution_time = %d", limit.Milliseconds())}
	},
	Begin: []string{"SET SESSION time_zone = '+00:00'", "START TRANSACTION READ ONLY"},
	// Of tables, a user sees those that he may do something with.
	Powers: `SELECT (SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_type <> 'VIEW')
		+ (SELECT COUNT(*) FROM information_schema.user_privileges WHERE privilege_type <> 'USAGE')`,
	Tables: `SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = DATABASE() ORDER BY table_name, ordinal_position`,
	Ask:    func(statement string, _ int) ([]string, string) { return nil, statement },
	Explain: func(err error, _ string) (string, int, bool) {
		var refused *mysql.MySQLError
		if !errors.As(err, &refused) {
			return "", -1, false
		}
		// 1969 and 3024 are the end of its patience, and 1040 and 1203 too many users.
		for _, number := range []uint16{1969, 3024, 1040, 1203, 1317} {
			if refused.Number == number {
				return "", -1, false
			}
		}
		return strings.TrimSpace(refused.Message), -1, true
	},
}
