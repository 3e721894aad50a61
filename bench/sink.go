package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"sluice/bench/report"
	"sluice/internal/document"
	"sluice/internal/sink"
	"sluice/internal/sink/targets"
)

const (
	sinkRows   = 200_000
	sinkBatch  = 1_000
	sinkTarget = 0.5
)

// sinkTable is a table with a column of each type.
var sinkTable = sink.Table{Name: "issues", Kind: "issue", Raw: true, Columns: []document.Column{
	{Name: "id", Type: document.TypeInteger}, {Name: "account", Type: document.TypeText}, {Name: "repository", Type: document.TypeText},
	{Name: "title", Type: document.TypeText}, {Name: "state", Type: document.TypeText}, {Name: "created_at", Type: document.TypeInstant},
	{Name: "updated_at", Type: document.TypeInstant}, {Name: "deleted", Type: document.TypeBoolean}, {Name: "labels", Type: document.TypeList},
}}

func sinkRow(n int) sink.Row {
	at := time.Unix(1_700_000_000+int64(n), 0).UTC()
	return sink.Row{
		Key: document.Key{Account: 1, Kind: "issue", Name: fmt.Sprint(n)},
		Values: []document.Value{
			document.Integer(int64(n)), document.Text("somebody"), document.Text("somebody/repository"), document.Text(fmt.Sprintf("Issue %d does not do what it says", n)),
			document.Text("open"), document.Instant(at), document.Instant(at), document.Boolean(false), document.List("bug", "help wanted"),
		},
		Raw: fmt.Appendf(nil, `{"id":%d,"title":"Issue %d","state":"open","labels":[{"name":"bug"},{"name":"help wanted"}],"body":"It was fine yesterday, and today it is not. %[1]d"}`, n, n),
	}
}

// ownDatabase makes a database for one benchmark alone: others leave views behind.
func ownDatabase(ctx context.Context, server, name string) (url string, err error) {
	conn, err := pgx.Connect(ctx, server+"/postgres")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	for _, statement := range []string{"DROP DATABASE IF EXISTS " + name, "CREATE DATABASE " + name} {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return "", err
		}
	}
	return server + "/" + name, nil
}

// sinkPostgres measures a backfill, and a second one over the same rows, beside one
// COPY of these rows into a table of the same columns and key.
func sinkPostgres(ctx context.Context, l *lab) (err error) {
	url, err := l.servers.Postgres(ctx)
	if err != nil {
		return err
	}
	rows := l.size(sinkRows, 5_000)
	url, err = ownDatabase(ctx, url, "sink")
	if err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	var plain, first, again []float64
	for range l.rounds() {
		if _, err := conn.Exec(ctx, "DROP TABLE IF EXISTS issues, plain, _sluice_sink"); err != nil {
			return err
		}
		speeds, err := carryTwice(ctx, url, rows)
		if err != nil {
			return err
		}
		first, again = append(first, speeds[0]), append(again, speeds[1])
		speed, err := copyPlain(ctx, conn, rows)
		if err != nil {
			return err
		}
		plain = append(plain, speed)
	}
	for _, m := range []struct {
		name   string
		speeds []float64
		aimed  bool
	}{{"sink_postgres_backfill", first, true}, {"sink_postgres_again", again, false}} {
		line := report.Line{Name: m.name, Value: report.Median(m.speeds), Unit: "rows/s"}
		ratio := report.Median(report.Ratios(m.speeds, plain))
		line = line.Against("one COPY", report.Median(plain)).WithRatio(ratio)
		if m.aimed {
			line = line.Aim(fmt.Sprintf(">= %.1fx", sinkTarget), ratio >= sinkTarget)
		}
		if err := l.report.Add(line); err != nil {
			return err
		}
	}
	return nil
}

// carryTwice is how many rows a second are carried: the first time, and over rows that
// are there.
func carryTwice(ctx context.Context, url string, rows int) (speeds [2]float64, err error) {
	target, err := targets.Open(url)
	if err != nil {
		return speeds, err
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	if err := target.Prepare(ctx, []sink.Table{sinkTable}); err != nil {
		return speeds, err
	}
	for i := range speeds {
		began := time.Now()
		for n := 0; n < rows; n += sinkBatch {
			b := &sink.Batch{Progress: sink.Progress{Feed: "bench", Generation: int64(i + 1)}}
			for k := range min(sinkBatch, rows-n) {
				b.Rows = append(b.Rows, sinkRow(n+k))
			}
			if err := target.Apply(ctx, b); err != nil {
				return speeds, err
			}
		}
		speeds[i] = float64(rows) / time.Since(began).Seconds()
	}
	return speeds, nil
}

// copyPlain is how many rows a second one COPY takes.
func copyPlain(ctx context.Context, conn *pgx.Conn, rows int) (float64, error) {
	if _, err := conn.Exec(ctx, "CREATE TABLE plain (LIKE issues INCLUDING ALL)"); err != nil {
		return 0, err
	}
	names := []string{"_sluice_account", "_sluice_name"}
	for _, c := range sinkTable.Columns {
		names = append(names, c.Name)
	}
	began := time.Now()
	_, err := conn.CopyFrom(ctx, pgx.Identifier{"plain"}, append(names, "raw", "_sluice_generation"), pgx.CopyFromSlice(rows, func(n int) ([]any, error) {
		r := sinkRow(n)
		v := r.Values
		labels, err := v[8].Members()
		return []any{r.Key.Account, r.Key.Name, v[0].Integer, v[1].Text, v[2].Text, v[3].Text, v[4].Text, v[5].Instant, v[6].Instant, v[7].Boolean, labels, r.Raw, int64(1)}, err
	}))
	return float64(rows) / time.Since(began).Seconds(), err
}
