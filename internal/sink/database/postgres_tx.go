package database

import (
	"context"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"sluice/internal/document"
	"sluice/internal/sink"
)

type postgresTx struct {
	pgx.Tx
	*postgres
}

func (x *postgresTx) exec(ctx context.Context, sql string, args ...any) error {
	_, err := x.Exec(ctx, sql, args...)
	return err
}

func (x *postgresTx) row(ctx context.Context, sql string, args []any, into ...any) (bool, error) {
	err := x.QueryRow(ctx, sql, args...).Scan(into...)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// upsert copies rows to the stage and takes them from there. During the first
// backfill nothing is there yet, so that they can be copied to where they belong; if
// one is there after all, nothing was copied.
func (x *postgresTx) upsert(ctx context.Context, t *table, rows []*sink.Row, p *sink.Progress) error {
	if p.Generation == 1 && !p.Backfilled {
		err := pgx.BeginFunc(ctx, x.Tx, func(inner pgx.Tx) error {
			where := pgx.Identifier{t.name}
			if x.schema != "" {
				where = pgx.Identifier{x.schema, t.name}
			}
			return copyRows(ctx, inner, where, t, rows, p.Generation)
		})
		var failed *pgconn.PgError
		if !errors.As(err, &failed) || failed.Code != "23505" {
			return err
		}
	}
	if err := copyRows(ctx, x.Tx, pgx.Identifier{"pg_temp", x.stages[t]}, t, rows, p.Generation); err != nil {
		return err
	}
	names := x.quoted(t)
	var set []string
	for _, c := range t.columns[2:] {
		name := x.quote(c.name)
		set = append(set, name+" = EXCLUDED."+name)
	}
	stage := pgx.Identifier{"pg_temp", x.stages[t]}.Sanitize()
	if err := x.exec(ctx, "INSERT INTO "+x.called(t.name)+" ("+names+") SELECT "+names+" FROM "+stage+
		" ON CONFLICT ("+columnAccount+", "+columnName+") DO UPDATE SET "+strings.Join(set, ", ")); err != nil {
		return err
	}
	return x.exec(ctx, "DELETE FROM "+stage)
}

func copyRows(ctx context.Context, to pgx.Tx, where pgx.Identifier, t *table, rows []*sink.Row, generation int64) error {
	values := make([]any, len(t.columns))
	_, err := to.CopyFrom(ctx, where, t.names(), pgx.CopyFromSlice(len(rows), func(i int) ([]any, error) {
		return values, postgresRow(values, t, rows[i], generation)
	}))
	return err
}

// postgresRow sets the values of a row.
func postgresRow(values []any, t *table, r *sink.Row, generation int64) (err error) {
	values[0], values[1] = r.Key.Account, shortName(r.Key.Name)
	for i := range t.Columns {
		if values[2+i], err = postgresValue(t.Columns[i].Type, &r.Values[i]); err != nil {
			return err
		}
	}
	if t.Raw {
		values[2+len(t.Columns)] = nil
		if len(r.Raw) > 0 {
			values[2+len(t.Columns)] = storableJSON(r.Raw)
		}
	}
	values[len(values)-1] = generation
	return nil
}

func postgresValue(of document.Type, v *document.Value) (any, error) {
	if v.Null {
		return nil, nil
	}
	switch of {
	case document.TypeInteger:
		return v.Integer, nil
	case document.TypeBoolean:
		return v.Boolean, nil
	case document.TypeInstant:
		return v.Instant, nil
	case document.TypeList:
		members, err := v.Members()
		if members == nil {
			members = []string{}
		}
		return members, err
	case document.TypeText:
	}
	return v.Text, nil
}

func (x *postgresTx) remove(ctx context.Context, t *table, keys []document.Key) error {
	accounts, names := make([]int64, len(keys)), make([]string, len(keys))
	for i, k := range keys {
		accounts[i], names[i] = k.Account, shortName(k.Name)
	}
	return x.exec(ctx, "DELETE FROM "+x.called(t.name)+" USING unnest($1::bigint[], $2::text[]) AS k (account, name) WHERE "+
		columnAccount+" = k.account AND "+columnName+" = k.name", accounts, names)
}
