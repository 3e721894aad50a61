package postgres

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"

	"sluice/internal/backend/relational"
	"sluice/internal/document/views"
)

// dialect is what PostgreSQL speaks differently from others.
var dialect = &relational.Dialect{
	Name:                 "PostgreSQL",
	ForShare:             "FOR SHARE",
	Overtake:             overtake,
	CurrentSchema:        "current_schema()",
	LongText:             `TEXT COLLATE "C"`,
	Size:                 "SELECT pg_database_size(current_database())",
	Views:                views.PostgreSQL(),
	ReplaceView:          replaceView,
	AuthorIs:             "LOWER(LEFT(d.author, 100)) = ?",
	RowsOnce:             true,
	ErrorEndsTransaction: true,
	Upsert:               upsert,
	Refuse:               refuse,
	Exactly:              exactly,
	Classify:             classify,
	TryLock:              tryLock,
	Unlock:               unlock,
}

// overtake locks the table, which those who lock a row of it hold too: those who
// share a row let others join them, for as long as there are any, whoever waits
// for the row alone.
func overtake(table string) string { return "LOCK TABLE " + table + " IN EXCLUSIVE MODE" }

// refuse divides by zero.
func refuse(number *relational.Statement) *relational.Statement {
	s := &relational.Statement{}
	s.Write("SELECT 1 / (CASE WHEN (")
	s.Append(number)
	return s.Write(") = 0 THEN 1 ELSE 0 END)")
}

// exactly divides by zero unless an UPDATE has changed so many rows.
func exactly(update *relational.Statement, rows int64) []*relational.Statement {
	s := &relational.Statement{}
	s.Write("WITH changed AS (")
	s.Append(update)
	s.Write(" RETURNING 1) SELECT 1 / (CASE WHEN (SELECT COUNT(*) FROM changed) = ").Int(rows).Write(" THEN 1 ELSE 0 END)")
	return []*relational.Statement{s}
}

// lockKey is the number that the server knows a lock by.
func lockKey(name string) int64 {
	sum := sha256.Sum256([]byte(name))
	return int64(binary.BigEndian.Uint64(sum[:8]))
}

func tryLock(ctx context.Context, conn *sql.Conn, name string) (got bool, err error) {
	err = conn.QueryRowContext(ctx, "SELECT pg_try_advisory_lock(?)", lockKey(name)).Scan(&got)
	return got, err
}

func unlock(ctx context.Context, conn *sql.Conn, name string) error {
	return conn.QueryRowContext(ctx, "SELECT pg_advisory_unlock(?)", lockKey(name)).Scan(new(bool))
}

// upsert is ON CONFLICT.
func upsert(u relational.Upsert) string {
	conflict := "ON CONFLICT (" + u.Key + ") DO "
	switch {
	case len(u.Replace) > 0:
		return conflict + "UPDATE SET " + relational.Overwrite(u.Replace...) + " WHERE " + u.When
	case u.Set != "":
		return conflict + "UPDATE SET " + u.Set
	}
	return conflict + "NOTHING"
}
