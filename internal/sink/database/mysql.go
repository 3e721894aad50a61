package database

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"sluice/internal/certificate"
	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/sink"
)

// mysqlServer is a MySQL or MariaDB. All is done on one connection, which holds the
// lock: if it is lost, so is what it was about to store.
type mysqlServer struct {
	config *mysql.Config
	// place is what people are told of it.
	place, prefix string
	pool          *sql.DB
	conn          *sql.Conn
	// packet is how long a statement may be.
	packet int
}

// mysqlTLS are the values of tls.
var mysqlTLS = []string{"", "true", "false", "skip-verify", "preferred"}

const (
	// mysqlTime is how long a statement may take, the end of a backfill included.
	mysqlTime = 10 * time.Minute
	// statementBytes is about how long a statement is.
	statementBytes = 1 << 20
)

// MySQL opens mysql://user:password@host:port/database?tls=true&prefix=….
func MySQL(u *url.URL) (sink.Target, error) {
	query := u.Query()
	m := &mysqlServer{config: mysql.NewConfig()}
	var err error
	if m.prefix, err = option(query, "prefix"); err != nil {
		return nil, err
	}
	if err := whole(query, "tls", "ca", "cert", "key"); err != nil {
		return nil, err
	}
	c := m.config
	c.DBName = strings.Trim(u.Path, "/")
	if u.Hostname() == "" || c.DBName == "" {
		return nil, domain.Errorf(domain.CodeInvalid, "the URL of the sink names no host or no database; it is like mysql://user:password@host:3306/database")
	}
	if !slices.Contains(mysqlTLS, query.Get("tls")) {
		return nil, domain.Errorf(domain.CodeInvalid, "the option tls of the sink's URL is true, false, skip-verify or preferred")
	}
	port := u.Port()
	if port == "" {
		port = "3306"
	}
	c.Net, c.Addr = "tcp", net.JoinHostPort(u.Hostname(), port)
	c.User = u.User.Username()
	c.Passwd, _ = u.User.Password()
	c.TLSConfig = query.Get("tls")
	if query.Has("ca") || query.Has("cert") || query.Has("key") {
		c.TLSConfig = ""
		if c.TLS, err = certificate.Files(query.Get("ca"), query.Get("cert"), query.Get("key")); err != nil {
			return nil, domain.Errorf(domain.CodeInvalid, "the URL of the sink: %w", err)
		}
		c.TLS.ServerName = u.Hostname()
	}
	c.Timeout, c.ReadTimeout, c.WriteTimeout = dialTimeout, mysqlTime, mysqlTime
	c.InterpolateParams, c.MaxAllowedPacket, c.Logger = true, 0, &mysql.NopLogger{}
	// The modes that this relies on, whatever the server's are: what does not fit is an
	// error, and a backslash escapes.
	c.Params = map[string]string{"sql_mode": "'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'", "time_zone": "'+00:00'"}
	c.ConnectionAttributes = "program_name:" + strings.NewReplacer(":", " ", ",", " ").Replace(holder())
	m.place = "MySQL at " + c.Addr + "/" + c.DBName
	return &target{server: m, prefix: m.prefix}, nil
}

const mysqlText = "LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"

var mysqlTypes = types{
	values: map[document.Type]columnType{
		document.TypeText:    {mysqlText, []string{"longtext"}},
		document.TypeInteger: {"BIGINT", []string{"bigint"}},
		document.TypeBoolean: {"BOOLEAN", []string{"tinyint"}},
		document.TypeInstant: {"DATETIME(6)", []string{"datetime"}},
		document.TypeList:    {"JSON", []string{"json", "longtext"}},
	},
	// What is text is compared without the spaces at its end.
	name:       columnType{"VARBINARY(512)", []string{"varbinary"}},
	raw:        columnType{"JSON", []string{"json", "longtext"}},
	generation: columnType{"BIGINT", []string{"bigint"}},
}

func (m *mysqlServer) types() *types { return &mysqlTypes }
func (m *mysqlServer) quote(name string) string {
	return "`" + strings.ReplaceAll(name, "`", "``") + "`"
}
func (m *mysqlServer) bind(int) string                            { return "?" }
func (m *mysqlServer) called(table string) string                 { return m.quote(table) }
func (m *mysqlServer) staged(_ context.Context, _ []*table) error { return nil }

func (m *mysqlServer) connect(ctx context.Context) error {
	if m.conn != nil && m.conn.PingContext(ctx) == nil {
		return nil
	}
	m.lost()
	connector, err := mysql.NewConnector(m.config)
	if err != nil {
		return domain.Errorf(domain.CodeInvalid, "the options of the sink's URL for %s are refused by the driver", m.place)
	}
	m.pool = sql.OpenDB(connector)
	if m.conn, err = m.pool.Conn(ctx); err != nil {
		return m.described(err)
	}
	if err := m.conn.QueryRowContext(ctx, "SELECT @@max_allowed_packet").Scan(&m.packet); err != nil {
		return m.described(err)
	}
	sum := sha256.Sum256([]byte(m.config.DBName + "/" + m.prefix))
	lock := "sluice sink " + hex.EncodeToString(sum[:16])
	got := sql.NullInt64{}
	if err := m.conn.QueryRowContext(ctx, "SELECT GET_LOCK(?, 0)", lock).Scan(&got); err != nil {
		return m.described(err)
	}
	if got.Int64 != 1 {
		by := sql.NullString{}
		// Whoever has it may be gone by now, and then nobody can be named.
		_ = m.conn.QueryRowContext(ctx, "SELECT CONCAT('connection ', id, ' of ', user, ' from ', host) FROM information_schema.processlist WHERE id = IS_USED_LOCK(?)", lock).Scan(&by)
		return taken(m.place, by.String)
	}
	return nil
}

func (m *mysqlServer) columns(ctx context.Context, table string) (there []found, err error) {
	rows, err := m.conn.QueryContext(ctx, "SELECT column_name, data_type, is_nullable = 'NO' AND column_default IS NULL AND extra NOT LIKE '%auto_increment%' AND extra NOT LIKE '%GENERATED%', column_key = 'PRI' "+
		"FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = ? ORDER BY ordinal_position", table)
	if err != nil {
		return nil, m.described(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var f found
		if err := rows.Scan(&f.name, &f.shown, &f.required, &f.key); err != nil {
			return nil, m.described(err)
		}
		there = append(there, f)
	}
	return there, m.described(rows.Err())
}

func (m *mysqlServer) transact(ctx context.Context, do func(tx) error) error {
	if m.conn == nil {
		return unavailable(m.place, errors.New("the connection is lost"))
	}
	inner, err := m.conn.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return m.described(err)
	}
	if err := do(&mysqlTx{inner, m}); err != nil {
		// A transaction that cannot be given up ends with its connection.
		_ = inner.Rollback()
		return m.described(err)
	}
	return m.described(inner.Commit())
}

func (m *mysqlServer) lost() {
	if m.conn != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		// The lock goes with the connection, and that with the pool; but others need not
		// wait until the server notices.
		_, _ = m.conn.ExecContext(ctx, "DO RELEASE_ALL_LOCKS()")
		_ = m.conn.Close()
	}
	if m.pool != nil {
		_ = m.pool.Close()
	}
	m.conn, m.pool = nil, nil
}

// described is an error in our words.
func (m *mysqlServer) described(err error) error {
	var said *domain.Error
	if err == nil || errors.As(err, &said) {
		return err
	}
	var failed *mysql.MySQLError
	if !errors.As(err, &failed) {
		return unavailable(m.place, err)
	}
	switch failed.Number {
	case 1048, 1054, 1060, 1062, 1091, 1146, 1264, 1265, 1292, 1364, 1366, 1406, 1451, 1452, 3140, 4025:
		// Names, constraints and values.
		return refused(m.place, err)
	}
	return unavailable(m.place, err)
}

type mysqlTx struct {
	*sql.Tx
	*mysqlServer
}

func (x *mysqlTx) exec(ctx context.Context, statement string, args ...any) error {
	_, err := x.ExecContext(ctx, statement, args...)
	return err
}

func (x *mysqlTx) row(ctx context.Context, statement string, args []any, into ...any) (bool, error) {
	err := x.QueryRowContext(ctx, statement, args...).Scan(into...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// upsert stores rows by statements of many rows each.
func (x *mysqlTx) upsert(ctx context.Context, t *table, rows []*sink.Row, p *sink.Progress) error {
	names, set := make([]string, len(t.columns)), []string{}
	for i, c := range t.columns {
		names[i] = x.quote(c.name)
		if i >= 2 {
			set = append(set, names[i]+" = VALUES("+names[i]+")")
		}
	}
	begin := "INSERT INTO " + x.called(t.name) + " (" + strings.Join(names, ", ") + ") VALUES "
	end := " ON DUPLICATE KEY UPDATE " + strings.Join(set, ", ")
	one := "(" + strings.TrimSuffix(strings.Repeat("?,", len(names)), ",") + ")"
	limit := min(statementBytes, x.packet/3)
	for len(rows) > 0 {
		var args []any
		n, size := 0, 0
		for n < len(rows) && (n == 0 || size+rowSize(rows[n]) < limit) {
			size += rowSize(rows[n])
			args = plainRow(args, t, rows[n], p.Generation, mysqlInstant)
			n++
		}
		if err := x.exec(ctx, begin+strings.TrimSuffix(strings.Repeat(one+",", n), ",")+end, args...); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

// mysqlInstant is an instant as a DATETIME(6) in UTC.
func mysqlInstant(at time.Time) any { return at.UTC().Format("2006-01-02 15:04:05.000000") }

func (x *mysqlTx) remove(ctx context.Context, t *table, keys []document.Key) error {
	for len(keys) > 0 {
		n := min(len(keys), 200)
		var args []any
		for _, k := range keys[:n] {
			args = append(args, k.Account, shortName(k.Name))
		}
		sql := "DELETE FROM " + x.called(t.name) + " WHERE (" + columnAccount + ", " + columnName + ") IN (" + strings.TrimSuffix(strings.Repeat("(?,?),", n), ",") + ")"
		if err := x.exec(ctx, sql, args...); err != nil {
			return err
		}
		keys = keys[n:]
	}
	return nil
}

// rowSize is about how long a row is in a statement.
func rowSize(r *sink.Row) int {
	size := 100 + 2*len(r.Raw)
	for i := range r.Values {
		size += 30 + 2*len(r.Values[i].Text)
	}
	return size
}

// plainRow appends the values of a row for a database that has neither lists nor
// JSON of its own to bind: these are texts.
func plainRow(args []any, t *table, r *sink.Row, generation int64, instant func(time.Time) any) []any {
	args = append(args, r.Key.Account, shortName(r.Key.Name))
	for i := range t.Columns {
		v := &r.Values[i]
		switch of := t.Columns[i].Type; {
		case v.Null:
			args = append(args, nil)
		case of == document.TypeInteger:
			args = append(args, v.Integer)
		case of == document.TypeBoolean:
			args = append(args, v.Boolean)
		case of == document.TypeInstant:
			args = append(args, instant(v.Instant))
		default:
			args = append(args, v.Text)
		}
	}
	if t.Raw && len(r.Raw) > 0 {
		args = append(args, string(storableJSON(r.Raw)))
	} else if t.Raw {
		args = append(args, nil)
	}
	return append(args, generation)
}
