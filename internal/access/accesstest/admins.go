package accesstest

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"sluice/internal/access"
	"sluice/internal/domain"
)

// rounds is how often two are let loose at each other.
const rounds = 5

// lastAdmins lets admins revoke each other at once, in two processes: one is left.
func lastAdmins(t *testing.T, one, other Store) {
	ctx := t.Context()
	ending := token("ending", access.Admin)
	ending.Expires = noon.Add(time.Hour)
	for _, add := range []access.StoredToken{token("a", access.Admin), token("b", access.Admin), token("reader", access.Read), ending} {
		if err := one.AddToken(ctx, add, false); err != nil {
			t.Fatal(err)
		}
	}
	for range rounds {
		var errs [2]error
		var both sync.WaitGroup
		for i, name := range []string{"a", "b"} {
			store := []Store{one, other}[i]
			both.Go(func() { errs[i] = store.RemoveToken(ctx, name, noon, false) })
		}
		both.Wait()
		if (errs[0] == nil) == (errs[1] == nil) || domain.CodeOf(errors.Join(errs[:]...)) != domain.CodeConflict {
			t.Fatalf("of two admins who revoke each other: %v, %v", errs[0], errs[1])
		}
		gone := "a"
		if errs[1] == nil {
			gone = "b"
		}
		if err := other.AddToken(ctx, token(gone, access.Admin), false); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"a", "b"} {
		if err := one.RemoveToken(ctx, name, noon, true); err != nil {
			t.Errorf("where the settings have a token: %v", err)
		}
	}
}

// readerAndLastAdmin makes a token for a reader while the last admin's goes: either
// is refused.
func readerAndLastAdmin(t *testing.T, one, other Store) {
	ctx := t.Context()
	for i := range rounds {
		admin, reader := token(fmt.Sprint("admin", i), access.Admin), token(fmt.Sprint("reader", i), access.Read)
		if err := one.AddToken(ctx, admin, false); err != nil {
			t.Fatal(err)
		}
		var added, removed error
		var both sync.WaitGroup
		both.Go(func() { added = one.AddToken(ctx, reader, false) })
		both.Go(func() { removed = other.RemoveToken(ctx, admin.Name, noon, false) })
		both.Wait()
		if (added == nil) == (removed == nil) {
			t.Fatalf("a reader's was added: %v; the last admin's was removed: %v", added, removed)
		}
		if added == nil {
			if err := errors.Join(one.RemoveToken(ctx, reader.Name, noon, false), one.RemoveToken(ctx, admin.Name, noon, false)); err != nil {
				t.Fatal(err)
			}
		}
	}
}
