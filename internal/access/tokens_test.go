package access_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"sluice/internal/access"
	"sluice/internal/domain"
)

func TestRoles(t *testing.T) {
	roles := access.Roles()
	for i, have := range roles {
		for j, need := range roles {
			if have.Allows(need) != (i >= j) {
				t.Errorf("%s allows %s: %v", have, need, have.Allows(need))
			}
		}
		for _, none := range []access.Role{"", "root", "everybody"} {
			if none.Allows(have) || have.Allows(none) {
				t.Errorf("%q and %s allow each other", none, have)
			}
		}
	}
	if _, err := access.ParseRole("root"); domain.CodeOf(err) != domain.CodeInvalid || !strings.Contains(err.Error(), "operate") {
		t.Errorf("got %v", err)
	}
}

func process(s *shelf, c *clock) *access.Tokens {
	return access.NewTokens(access.TokensOptions{Store: s, Now: c.Now})
}

func TestTokenIsKnownByItsDigest(t *testing.T) {
	store, c, ctx := newShelf(), newClock(), t.Context()
	tokens := process(store, c)
	if tokens.Any(ctx) {
		t.Error("a new store has tokens")
	}
	made, secret, err := tokens.Create(ctx, "alice", access.Admin, 0)
	if err != nil {
		t.Fatal(err)
	}
	if len(secret) < 32 || !strings.HasPrefix(secret, made.Prefix) || len(made.Prefix) > 16 {
		t.Errorf("the token has %d characters, and its prefix is %q", len(secret), made.Prefix)
	}
	stored := store.tokens["alice"]
	if stored.Digest != access.DigestOf(secret) || strings.Contains(fmt.Sprintf("%+v", stored), secret) {
		t.Errorf("stored is %+v", stored)
	}
	if who, err := tokens.Recognise(ctx, secret); err != nil || who.Actor != "token:alice" || who.Role != access.Admin || who.Token == "" || strings.Contains(secret, who.Token) {
		t.Errorf("recognised as %+v, %v", who, err)
	}
	for _, wrong := range []string{"", secret + "x", secret[:len(secret)-1], made.Prefix, "sluice_", strings.ToUpper(secret), string(stored.Digest[:])} {
		_, err := tokens.Recognise(ctx, wrong)
		refused(t, err, domain.CodeUnauthorized)
		if wrong != "" && err != nil && strings.Contains(err.Error(), wrong) {
			t.Errorf("the refusal repeats the token: %v", err)
		}
	}
	_, second, err := tokens.Create(ctx, "bob", access.Read, 0)
	if err != nil || second == secret {
		t.Errorf("another token: %v", err)
	}
}

func TestWhatCannotBeMade(t *testing.T) {
	store, c, ctx := newShelf(), newClock(), t.Context()
	tokens := process(store, c)
	_, _, err := tokens.Create(ctx, "first", access.Read, 0)
	refused(t, err, domain.CodeConflict)
	if _, _, err := access.NewTokens(access.TokensOptions{Store: newShelf(), Guarded: true}).Create(ctx, "first", access.Read, 0); err != nil {
		t.Errorf("where the settings have a token: %v", err)
	}
	if _, _, err := tokens.Create(ctx, "first", access.Admin, 0); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", "a b", "-x", "a/b", "ä", "a:b", strings.Repeat("x", 64), "a\n"} {
		_, _, err := tokens.Create(ctx, name, access.Read, 0)
		refused(t, err, domain.CodeInvalid)
	}
	_, _, err = tokens.Create(ctx, "x", "root", 0)
	refused(t, err, domain.CodeInvalid)
	_, _, err = tokens.Create(ctx, "x", access.Read, -time.Hour)
	refused(t, err, domain.CodeInvalid)
	_, _, err = tokens.Create(ctx, "first", access.Read, 0)
	refused(t, err, domain.CodeConflict)
	if len(store.tokens) != 1 {
		t.Errorf("there are %d tokens", len(store.tokens))
	}
}

// TestRevokedTokenEndsEverywhere revokes in one process what another has seen.
func TestRevokedTokenEndsEverywhere(t *testing.T) {
	store, c, ctx := newShelf(), newClock(), t.Context()
	here, there := process(store, c), process(store, c)
	_, admin, err := here.Create(ctx, "admin", access.Admin, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, secret, err := here.Create(ctx, "bob", access.Operate, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []*access.Tokens{here, there} {
		if _, err := p.Recognise(ctx, secret); err != nil {
			t.Fatal(err)
		}
	}
	if err := here.Revoke(ctx, "bob"); err != nil {
		t.Fatal(err)
	}
	_, err = here.Recognise(ctx, secret)
	refused(t, err, domain.CodeUnauthorized)
	c.pass(3 * time.Second)
	_, err = there.Recognise(ctx, secret)
	refused(t, err, domain.CodeUnauthorized)
	refused(t, here.Revoke(ctx, "bob"), domain.CodeNotFound)
	if _, err := there.Recognise(ctx, admin); err != nil {
		t.Error(err)
	}
}

func TestLastAdminGoesLast(t *testing.T) {
	store, c, ctx := newShelf(), newClock(), t.Context()
	tokens := process(store, c)
	for name, role := range map[string]access.Role{"one": access.Admin} {
		if _, _, err := tokens.Create(ctx, name, role, 0); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := tokens.Create(ctx, "ending", access.Admin, time.Hour); err != nil {
		t.Fatal(err)
	}
	if _, _, err := tokens.Create(ctx, "reader", access.Read, 0); err != nil {
		t.Fatal(err)
	}
	// One that will have ended tomorrow is no other admin.
	err := tokens.Revoke(ctx, "one")
	if refused(t, err, domain.CodeConflict); !strings.Contains(err.Error(), "does not end") {
		t.Errorf("it does not say why: %v", err)
	}
	c.pass(2 * time.Hour)
	refused(t, tokens.Revoke(ctx, "one"), domain.CodeConflict)
	for _, name := range []string{"ending", "reader", "one"} {
		if err := tokens.Revoke(ctx, name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if tokens.Any(ctx) {
		t.Error("there are tokens left")
	}
}

func TestTokenExpires(t *testing.T) {
	store, c, ctx := newShelf(), newClock(), t.Context()
	tokens := process(store, c)
	_, secret, err := tokens.Create(ctx, "short", access.Admin, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	c.pass(time.Hour - time.Microsecond)
	if _, err := tokens.Recognise(ctx, secret); err != nil {
		t.Error(err)
	}
	c.pass(time.Microsecond)
	_, err = tokens.Recognise(ctx, secret)
	refused(t, err, domain.CodeUnauthorized)
}

// TestLastUse is exact to the hour, and costs one write an hour.
func TestLastUse(t *testing.T) {
	store, c, ctx := newShelf(), newClock(), t.Context()
	tokens := process(store, c)
	_, secret, err := tokens.Create(ctx, "used", access.Admin, 0)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 * 60 {
		if _, err := tokens.Recognise(ctx, secret); err != nil {
			t.Fatal(err)
		}
		c.pass(time.Minute)
	}
	list := must[[]access.Token](t)(tokens.List(ctx))
	if want := newClock().now.Truncate(time.Hour).Add(3 * time.Hour); !list[0].LastUsed.Equal(want) || store.touched != 4 {
		t.Errorf("last used at %s after %d writes, want %s after 4", list[0].LastUsed, store.touched, want)
	}
}

// TestKnownForSeconds counts how often the store is asked.
func TestKnownForSeconds(t *testing.T) {
	store, c, ctx := newShelf(), newClock(), t.Context()
	tokens := process(store, c)
	for range 1000 {
		tokens.Any(ctx)
		_, _ = tokens.Recognise(ctx, "sluice_wrong")
	}
	if store.asked != 1 {
		t.Errorf("the store was asked %d times", store.asked)
	}
	c.pass(3 * time.Second)
	tokens.Any(ctx)
	if store.asked != 2 {
		t.Errorf("the store was asked %d times", store.asked)
	}
}

// TestStoreIsDown: what was known may look for some minutes, and change nothing; no
// door opens.
func TestStoreIsDown(t *testing.T) {
	store, c, ctx := newShelf(), newClock(), t.Context()
	tokens := process(store, c)
	_, secret, err := tokens.Create(ctx, "alice", access.Admin, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tokens.Recognise(ctx, secret); err != nil {
		t.Fatal(err)
	}
	store.fail(errDown)
	for range 10 {
		c.pass(20 * time.Second)
		who, err := tokens.Recognise(ctx, secret)
		if err != nil || who.Role != access.Read {
			t.Errorf("got %+v, %v", who, err)
		}
		_, err = tokens.Recognise(ctx, "sluice_other")
		refused(t, err, domain.CodeUnavailable)
	}
	c.pass(3 * time.Minute)
	_, err = tokens.Recognise(ctx, secret)
	refused(t, err, domain.CodeUnavailable)
	if !tokens.Any(ctx) {
		t.Error("where the store is down there are no tokens")
	}
	store.fail(nil)
	c.pass(3 * time.Second)
	if who, err := tokens.Recognise(ctx, secret); err != nil || who.Role != access.Admin {
		t.Errorf("got %+v, %v", who, err)
	}
}
