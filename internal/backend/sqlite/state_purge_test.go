package sqlite_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"sluice/internal/backend/sqlite"
	"sluice/internal/quota/bucketed"
	"sluice/internal/ration/keeper"
	"sluice/internal/state"
)

// traces counts a text in all files of a folder.
func traces(t *testing.T, dir, text string) map[string]int {
	t.Helper()
	found := map[string]int{}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		content, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(content, []byte(text)); n > 0 {
			found[f.Name()] = n
		}
	}
	return found
}

// TestAPurgeLeavesNoTrace looks for what was purged in the files themselves: in the
// write-ahead log, and in pages that are free or half empty.
func TestAPurgeLeavesNoTrace(t *testing.T) {
	dir := t.TempDir()
	db, err := sqlite.Open(t.Context(), sqlite.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	store, err := sqlite.NewState(t.Context(), db, nil, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	const login = "unmistakable"
	spec := func(login string) state.AccountSpec {
		return state.AccountSpec{Source: "github", Login: login, Name: "owner of " + login, Credential: state.Sealed{KeyID: "k", Data: []byte("sealed " + login)}}
	}
	account, err := store.PutAccount(t.Context(), spec(login))
	if err != nil {
		t.Fatal(err)
	}
	// Others before and after share its pages; its rows move between them.
	for i := range 60 {
		if _, err := store.PutAccount(t.Context(), spec(fmt.Sprint("other-", i))); err != nil {
			t.Fatal(err)
		}
		if i%10 == 0 {
			again := spec(login)
			again.Credential.Data = bytes.Repeat([]byte("sealed "+login), i+1)
			if _, err := store.PutAccount(t.Context(), again); err != nil {
				t.Fatal(err)
			}
		}
	}
	drawn := sqlite.NewRations(db)
	if err := drawn.Save(t.Context(), []keeper.Stored{{Group: bucketed.Group("owner of " + login), Count: "core", Spent: 9, Seq: 1}, {Group: bucketed.Group("owner of other-1"), Count: "core", Spent: 9, Seq: 1}}); err != nil {
		t.Fatal(err)
	}
	if len(traces(t, dir, login)) == 0 {
		t.Fatal("there is nothing to be purged")
	}
	if err := store.BeginPurge(t.Context(), account.ID); err != nil {
		t.Fatal(err)
	}
	if removed, err := store.PurgeBatch(t.Context(), account.ID, 100); err != nil || removed[state.PurgedWindows] != 1 {
		t.Fatalf("removed are %v, %v; want what the owner drew on rations", removed, err)
	}
	if _, err := store.EndPurge(t.Context(), account.ID); err != nil {
		t.Fatal(err)
	}
	if left, err := drawn.Groups(t.Context()); err != nil || len(left) != 1 {
		t.Errorf("of what was drawn on rations there is left %q, %v; want that of another owner", left, err)
	}
	if left := traces(t, dir, login); len(left) > 0 {
		t.Errorf("while the service runs there is left %v", left)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if left := traces(t, dir, login); len(left) > 0 {
		t.Errorf("after it there is left %v", left)
	}
	if info, err := os.Stat(filepath.Join(dir, sqlite.FileName+"-wal")); err != nil || info.Size() > 0 {
		t.Errorf("the write-ahead log is not left empty: %v, %v", info, err)
	}
}
