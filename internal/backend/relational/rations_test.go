package relational_test

import (
	"testing"
	"time"

	"sluice/internal/backend/relational"
	"sluice/internal/quota/bucketed"
	"sluice/internal/ration/keeper"
	"sluice/internal/ration/rationtest"
	"sluice/internal/state"
	"sluice/internal/testkit"
)

func TestRations(t *testing.T) {
	t.Parallel()
	eachServer(t, testRations)
}

func testRations(t *testing.T, on server) {
	on.after(t)
	rationtest.RunStore(t, func(t *testing.T) keeper.Store {
		db, err := connect(t.Context(), on.fresh(t))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		return relational.NewRations(db)
	})
}

func TestRationsAreMoved(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, on server) {
		// It is not recorded: a migration may read a table through.
		// What a migration has set is known to one connection.
		db, err := on.open(t.Context(), on.bare(t), 1)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		exec := func(statement string) error {
			_, err := db.Exec(t.Context(), statement)
			return err
		}
		rationtest.RunMoved(t, "../"+on.name+"/schema", exec, relational.NewState(db, nil, time.Now), relational.NewRations(db))
	})
}

// TestWaitsForItsQuota: the view of jobs knows of rations.
func TestWaitsForItsQuota(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, on server) {
		url := on.fresh(t)
		db, asked := open(t, url), testkit.OpenSQL(t, url)
		rationtest.RunWaits(t, relational.NewState(db, nil, time.Now), relational.NewRations(db), bucketed.Group, func(query string) (text string) {
			t.Helper()
			if err := asked.QueryRowContext(t.Context(), query).Scan(&text); err != nil {
				t.Fatal(err)
			}
			return text
		})
	})
}

// TestPurgedOwnersRationsGo: with an account goes what is stored of the rations that it drew
// on, unless another account draws on them too.
func TestPurgedOwnersRationsGo(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, on server) {
		db := open(t, on.fresh(t))
		store, drawn := relational.NewState(db, nil, time.Now), relational.NewRations(db)
		put := func(login, owner string) int64 {
			t.Helper()
			a, err := store.PutAccount(t.Context(), state.AccountSpec{
				Source: "github", Login: login, Name: owner, Credential: state.Sealed{KeyID: "k", Data: []byte("sealed " + login)},
			})
			if err != nil {
				t.Fatal(err)
			}
			return a.ID
		}
		alone, shares := put("octocat", "ann"), put("hubot", "bob")
		put("monalisa", "bob")
		var rows []keeper.Stored
		for _, owner := range []string{"ann", "bob"} {
			rows = append(rows, keeper.Stored{Group: bucketed.Group(owner), Count: "core", Spent: 9, Seq: 1})
		}
		if err := drawn.Save(t.Context(), rows); err != nil {
			t.Fatal(err)
		}
		for id, want := range map[int64]int64{alone: 1, shares: 0} {
			if err := store.BeginPurge(t.Context(), id); err != nil {
				t.Fatal(err)
			}
			if removed, err := store.PurgeBatch(t.Context(), id, 100); err != nil || removed[state.PurgedWindows] != want {
				t.Errorf("of account %d are removed %v, %v; want %d rows of rations", id, removed, err, want)
			}
		}
		if left, err := drawn.Groups(t.Context()); err != nil || len(left) != 1 || left[0] != bucketed.Group("bob") {
			t.Errorf("there is left %q, %v; want what the owner of two accounts drew", left, err)
		}
	})
}
