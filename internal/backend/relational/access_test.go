package relational_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"sluice/internal/access"
	"sluice/internal/access/accesstest"
	"sluice/internal/backend/relational"
)

func TestAccess(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, on server) {
		accesstest.Run(t, func(t *testing.T) (accesstest.Store, accesstest.Store) {
			url := on.fresh(t)
			return relational.NewAccess(open(t, url)), relational.NewAccess(open(t, url))
		})
	})
}

// TestTrailIsPartOfTheChange writes for a request: its entry is there if and only
// if the change is.
func TestTrailIsPartOfTheChange(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, on server) {
		db := open(t, on.fresh(t))
		store := relational.NewAccess(db)
		for i, change := range []func(ctx context.Context, fail error) error{
			func(ctx context.Context, fail error) error {
				return db.Tx(ctx, func(tx *relational.Tx) error { return fail })
			},
			// The last statement commits by itself.
			func(ctx context.Context, fail error) error {
				return db.Tx(ctx, func(tx *relational.Tx) error {
					if fail != nil {
						return fail
					}
					_, err := tx.ExecContext(relational.Final(ctx), "UPDATE id_sequence SET last_id = last_id + 1 WHERE name = 'job'")
					return err
				})
			},
			func(ctx context.Context, fail error) error {
				if fail != nil {
					_, err := db.Exec(ctx, "UPDATE no_such_table SET x = 1")
					return errors.Join(err, fail)
				}
				_, err := db.Exec(ctx, "UPDATE id_sequence SET last_id = last_id + 1 WHERE name = 'job'")
				return err
			},
		} {
			trail := access.NewTrail(time.Now(), access.Identity{Actor: "token:x", Role: access.Operate}, "::1", "set-timer", "/api/v1/timers")
			ctx := access.WithTrail(t.Context(), trail)
			logged := func(want int) {
				t.Helper()
				entries, err := store.Entries(t.Context(), access.Query{Limit: 10})
				if err != nil || len(entries) != want {
					t.Fatalf("change %d: the log has %+v, %v, want %d", i, entries, err, want)
				}
			}
			refused := errors.New("refused")
			if err := change(ctx, refused); !errors.Is(err, refused) {
				t.Fatal(err)
			}
			logged(i)
			for range 2 {
				if err := change(ctx, nil); err != nil {
					t.Fatal(err)
				}
				logged(i + 1)
			}
		}
	})
}

// TestTrailsOfACrowd sets timers for many requests at once, which share
// transactions.
func TestTrailsOfACrowd(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, on server) {
		db := open(t, on.fresh(t))
		accesstest.Crowd(t, relational.NewAccess(db), relational.NewTimers(db).Put)
	})
}
