package mysql_test

import (
	"database/sql"
	"testing"
	"time"

	"sluice/internal/mysqldb"
	"sluice/internal/testkit"
	"sluice/internal/timer/mysql"
)

func BenchmarkTmp(b *testing.B) {
	db := open(b, testkit.MariaDB(b))
	store, ids, now := mysql.New(db), benchIDs(b.N), time.Now()
	putAll(b, store, ids, now)
	var tl, tu, tc time.Duration
	for _, mode := range []string{"update", "upsert"} {
		tl, tu, tc = 0, 0, 0
		for first := 0; first+500 <= len(ids); first += 500 {
			part := ids[first : first+500]
			t0 := time.Now()
			var t2 time.Time
			err := db.Tx(b.Context(), func(tx *sql.Tx) error {
				var l mysqldb.Statement
				l.Write("SELECT id, at, set_at, status, webhook, next_at, ended_at, server, tries, error, payload FROM timer FORCE INDEX (PRIMARY) WHERE id IN (")
				for i, id := range part {
					if i > 0 {
						l.Write(",")
					}
					l.Blob([]byte(id))
				}
				l.Write(") ORDER BY id FOR UPDATE")
				n := 0
				if err := l.Query(b.Context(), tx, func(r *sql.Rows) error { n++; return nil }); err != nil {
					return err
				}
				t1 := time.Now()
				tl += t1.Sub(t0)
				var u mysqldb.Statement
				switch mode {
				case "upsert":
					u.Write("INSERT INTO timer (id, at, set_at, status, next_at, ended_at, server, tries, error) VALUES ")
					for i, id := range part {
						if i > 0 {
							u.Write(",")
						}
						u.Write("(").Blob([]byte(id)).Write(",1,1,3,0,").Int(now.UnixMicro()).Write(",'s',0,'')")
					}
					u.Write(` ON DUPLICATE KEY UPDATE at = VALUES(at), set_at = VALUES(set_at), status = VALUES(status), next_at = VALUES(next_at),
		ended_at = VALUES(ended_at), server = VALUES(server), tries = VALUES(tries), error = VALUES(error)`)
				case "update":
					u.Write("UPDATE timer FORCE INDEX (PRIMARY) SET status=3, next_at=0, ended_at=77777777777, server='t' WHERE id IN (")
					for i, id := range part {
						if i > 0 {
							u.Write(",")
						}
						u.Blob([]byte(id))
					}
					u.Write(")")
				case "join":
					u.Write("UPDATE timer FORCE INDEX (PRIMARY) JOIN (")
					for i, id := range part {
						if i > 0 {
							u.Write(" UNION ALL ")
						}
						u.Write("SELECT ").Blob([]byte(id)).Write(" AS i,3 AS s,0 AS n,").Int(now.UnixMicro()).Write(" AS e,'s' AS v")
					}
					u.Write(") x ON timer.id = x.i SET status=s, next_at=n, ended_at=e, server=v")
				}
				_, err := u.Exec(b.Context(), tx)
				t2 = time.Now()
				tu += t2.Sub(t1)
				return err
			})
			tc += time.Since(t2)
			if err != nil {
				b.Fatal(err)
			}
		}
		b.Logf("%s: lock %v update %v commit %v for %d", mode, tl, tu, tc, len(ids))
	}
}
