package versions_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	driver "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"sluice/internal/testkit"
)

// The schema of a database as lines that can be compared with another's.

func schemaOfFolder(t *testing.T, dir string) (lines []string) {
	t.Helper()
	conn, err := driver.OpenConn(filepath.Join(dir, "sluice.db"), driver.OpenReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	err = sqlitex.ExecuteTransient(conn, `SELECT type || ' ' || name || ': ' || coalesce(sql, '') FROM sqlite_master ORDER BY type, name`,
		&sqlitex.ExecOptions{ResultFunc: func(row *driver.Stmt) error {
			lines = append(lines, plain(row.ColumnText(0)))
			return nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

var blanks = regexp.MustCompile(`\s+`)

func plain(text string) string { return strings.TrimSpace(blanks.ReplaceAllString(text, " ")) }

func schemaOfMariaDB(t *testing.T, url string) []string {
	t.Helper()
	return query(t, url, `
		SELECT CONCAT_WS(' ', 'column', table_name, ordinal_position, column_name, column_type, is_nullable, column_default, extra, collation_name, generation_expression)
		FROM information_schema.columns WHERE table_schema = DATABASE()
		UNION ALL
		SELECT CONCAT_WS(' ', 'index', table_name, index_name, seq_in_index, column_name, sub_part, non_unique, collation)
		FROM information_schema.statistics WHERE table_schema = DATABASE()
		UNION ALL
		SELECT CONCAT_WS(' ', 'constraint', table_name, constraint_name, constraint_type)
		FROM information_schema.table_constraints WHERE table_schema = DATABASE()
		ORDER BY 1`)
}

func schemaOfPostgres(t *testing.T, url string) []string {
	t.Helper()
	return query(t, url, `
		SELECT concat_ws(' ', 'column', table_name, ordinal_position, column_name, data_type, character_maximum_length, collation_name, is_nullable, column_default, is_identity, generation_expression)
		FROM information_schema.columns WHERE table_schema = 'public'
		UNION ALL
		SELECT concat_ws(' ', 'index', indexname, indexdef) FROM pg_indexes WHERE schemaname = 'public'
		UNION ALL
		SELECT concat_ws(' ', 'constraint', conrelid::regclass, conname, pg_get_constraintdef(oid)) FROM pg_constraint WHERE connamespace = 'public'::regnamespace
		UNION ALL
		SELECT concat_ws(' ', 'table', relname, reloptions) FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'
		ORDER BY 1`)
}

func query(t *testing.T, url, text string) (lines []string) {
	t.Helper()
	rows, err := testkit.OpenSQL(t, url).QueryContext(t.Context(), text)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, plain(line))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return lines
}
