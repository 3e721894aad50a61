package database

import (
	"context"
	"errors"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/sink"
)

// postgres is a PostgreSQL. All is done on one connection, which holds the lock: if
// it is lost, so is what it was about to store.
type postgres struct {
	config *pgx.ConnConfig
	// place is what people are told of it.
	place, schema, prefix string
	conn                  *pgx.Conn
	// stages are where rows of a table are put first.
	stages map[*table]string
}

// postgresParameters are what a URL may have for the driver.
var postgresParameters = []string{
	"sslmode", "sslrootcert", "sslcert", "sslkey", "sslpassword", "sslnegotiation", "channel_binding", "require_auth",
	"host", "port", "password", "passfile", "target_session_attrs", "connect_timeout",
}

// dialTimeout is how long a database may take to answer.
const dialTimeout = 10 * time.Second

// Postgres opens postgres://user:password@host:port/database?schema=…&prefix=….
func Postgres(u *url.URL) (sink.Target, error) {
	query := u.Query()
	p := &postgres{}
	var err error
	if p.schema, err = option(query, "schema"); err != nil {
		return nil, err
	}
	if p.prefix, err = option(query, "prefix"); err != nil {
		return nil, err
	}
	if err := whole(query, append(postgresParameters, "schema")...); err != nil {
		return nil, err
	}
	if strings.Trim(u.Path, "/") == "" {
		return nil, domain.Errorf(domain.CodeInvalid, "the URL of the sink names no database; it is like postgres://user:password@host:5432/database")
	}
	plain := *u
	plain.RawQuery = query.Encode()
	if p.config, err = pgx.ParseConfig(plain.String()); err != nil {
		// The driver's words may quote the URL.
		return nil, domain.Errorf(domain.CodeInvalid, "the URL of the sink is refused by the driver of PostgreSQL; it is like postgres://user:password@host:5432/database?sslmode=require")
	}
	if p.config.ConnectTimeout == 0 {
		p.config.ConnectTimeout = dialTimeout
	}
	p.config.RuntimeParams["application_name"] = holder()
	_, address := pgconn.NetworkAddress(p.config.Host, p.config.Port)
	p.place = "PostgreSQL at " + address + "/" + p.config.Database
	return &target{server: p, prefix: p.prefix}, nil
}

var postgresTypes = types{
	values: map[document.Type]columnType{
		document.TypeText:    {"text", []string{"text"}},
		document.TypeInteger: {"bigint", []string{"bigint"}},
		document.TypeBoolean: {"boolean", []string{"boolean"}},
		document.TypeInstant: {"timestamptz", []string{"timestamp with time zone"}},
		document.TypeList:    {"text[]", []string{"array"}},
	},
	name:       columnType{"text", []string{"text"}},
	raw:        columnType{"jsonb", []string{"jsonb"}},
	generation: columnType{"bigint", []string{"bigint"}},
}

func (p *postgres) types() *types            { return &postgresTypes }
func (p *postgres) quote(name string) string { return pgx.Identifier{name}.Sanitize() }
func (p *postgres) bind(n int) string        { return "$" + strconv.Itoa(n) }

func (p *postgres) called(table string) string {
	if p.schema == "" {
		return p.quote(table)
	}
	return pgx.Identifier{p.schema, table}.Sanitize()
}

func (p *postgres) connect(ctx context.Context) error {
	if p.conn != nil && !p.conn.IsClosed() {
		return nil
	}
	p.lost()
	conn, err := pgx.ConnectConfig(ctx, p.config)
	if err != nil {
		return unavailable(p.place, err)
	}
	p.conn = conn
	lock := "sluice sink " + p.schema + "." + p.prefix
	got := false
	if err := conn.QueryRow(ctx, "SELECT pg_try_advisory_lock(hashtextextended($1, 0))", lock).Scan(&got); err != nil {
		return p.described(err)
	}
	if !got {
		by := ""
		// Whoever has it may be gone by now, and then nobody can be named.
		_ = conn.QueryRow(ctx, `SELECT a.application_name FROM pg_locks l JOIN pg_stat_activity a USING (pid) WHERE l.locktype = 'advisory' AND l.granted
			AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
			AND (l.classid::bigint << 32) | l.objid::bigint = hashtextextended($1, 0) LIMIT 1`, lock).Scan(&by)
		return taken(p.place, by)
	}
	if p.schema != "" {
		if _, err := conn.Exec(ctx, "CREATE SCHEMA IF NOT EXISTS "+p.quote(p.schema)); err != nil {
			return p.described(err)
		}
	}
	return nil
}

func (p *postgres) columns(ctx context.Context, table string) (there []found, err error) {
	const sql = `SELECT c.column_name, c.data_type, c.is_nullable = 'NO' AND c.column_default IS NULL AND c.is_identity = 'NO' AND c.is_generated = 'NEVER',
			EXISTS (SELECT 1 FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY(i.indkey)
				WHERE i.indisprimary AND a.attname = c.column_name AND i.indrelid = format('%I.%I', c.table_schema, c.table_name)::regclass)
		FROM information_schema.columns c WHERE c.table_schema = COALESCE(NULLIF($1, ''), current_schema()) AND c.table_name = $2 ORDER BY c.ordinal_position`
	rows, err := p.conn.Query(ctx, sql, p.schema, table)
	if err != nil {
		return nil, p.described(err)
	}
	there, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (f found, err error) {
		return f, row.Scan(&f.name, &f.shown, &f.required, &f.key)
	})
	return there, p.described(err)
}

// staged makes a table for each table, of this connection alone, where rows are put
// first.
func (p *postgres) staged(ctx context.Context, tables []*table) error {
	p.stages = map[*table]string{}
	for i, t := range tables {
		stage := pgx.Identifier{"pg_temp", "_sluice_stage_" + strconv.Itoa(i)}.Sanitize()
		names := p.quoted(t)
		_, err := p.conn.Exec(ctx, "DROP TABLE IF EXISTS "+stage+"; CREATE TEMP TABLE "+p.quote("_sluice_stage_"+strconv.Itoa(i))+
			" ON COMMIT DELETE ROWS AS SELECT "+names+" FROM "+p.called(t.name)+" WHERE false")
		if err != nil {
			return p.described(err)
		}
		p.stages[t] = "_sluice_stage_" + strconv.Itoa(i)
	}
	return nil
}

func (p *postgres) quoted(t *table) string {
	names := t.names()
	for i := range names {
		names[i] = p.quote(names[i])
	}
	return strings.Join(names, ", ")
}

func (p *postgres) transact(ctx context.Context, do func(tx) error) error {
	if p.conn == nil || p.conn.IsClosed() {
		return unavailable(p.place, errors.New("the connection is lost"))
	}
	err := pgx.BeginFunc(ctx, p.conn, func(inner pgx.Tx) error { return do(&postgresTx{inner, p}) })
	return p.described(err)
}

func (p *postgres) lost() {
	if p.conn != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		// The lock goes with the connection; but others need not wait until the server
		// notices.
		_, _ = p.conn.Exec(ctx, "SELECT pg_advisory_unlock_all()")
		_ = p.conn.Close(ctx)
	}
	p.conn = nil
}

// described is an error in our words.
func (p *postgres) described(err error) error {
	var said *domain.Error
	if err == nil || errors.As(err, &said) {
		return err
	}
	var failed *pgconn.PgError
	if !errors.As(err, &failed) {
		return unavailable(p.place, err)
	}
	switch failed.Code[:2] {
	case "42", "23", "22", "2B", "3F":
		// Names, constraints and values.
		return refused(p.place, err)
	}
	return unavailable(p.place, err)
}
