// Package accesstest is the conformance suite of what keeps tokens and the audit
// log.
package accesstest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/internal/access"
	"sluice/internal/domain"
	"sluice/internal/timer"
)

// Store is what the suite is about.
type Store interface {
	access.TokenStore
	access.AuditStore
}

// Run tries a store; open returns an empty one, and another process' view of the
// same.
func Run(t *testing.T, open func(t *testing.T) (one, other Store)) {
	for name, test := range map[string]func(*testing.T, Store, Store){
		"Tokens": tokens, "TokensAtOnce": tokensAtOnce, "LastAdmins": lastAdmins, "ReaderAndLastAdmin": readerAndLastAdmin, "Entries": entries, "EntriesAreRemoved": removal, "Words": words,
	} {
		t.Run(name, func(t *testing.T) {
			one, other := open(t)
			test(t, one, other)
		})
	}
}

// noon is an instant that every store can keep.
var noon = time.Date(2026, 11, 16, 12, 0, 0, 123000, time.UTC)

func token(name string, role access.Role) access.StoredToken {
	return access.StoredToken{
		Token:  access.Token{Name: name, Role: role, Prefix: "sluice_" + name, Created: noon},
		Digest: access.DigestOf("the token " + name),
	}
}

func tokens(t *testing.T, one, other Store) {
	ctx := t.Context()
	if list, err := one.Tokens(ctx); err != nil || len(list) != 0 {
		t.Fatalf("a new store has %v, %v", list, err)
	}
	robot, alice, upper := token("robot", access.Read), token("alice", access.Admin), token("Alice", access.Operate)
	robot.Expires = noon.Add(time.Hour)
	for _, add := range []access.StoredToken{robot, alice, upper} {
		if err := one.AddToken(ctx, add, true); err != nil {
			t.Fatal(err)
		}
	}
	again := token("alice", access.Read)
	again.Digest = access.DigestOf("another")
	if err := other.AddToken(ctx, again, true); domain.CodeOf(err) != domain.CodeConflict {
		t.Errorf("the name twice: %v", err)
	}
	list, err := other.Tokens(ctx)
	if want := []access.StoredToken{upper, alice, robot}; err != nil || !reflect.DeepEqual(list, want) {
		t.Errorf("got %+v, %v\nwant %+v", list, err, want)
	}
	hour := noon.Truncate(time.Hour)
	for _, at := range []time.Time{hour, hour.Add(-time.Hour)} {
		if err := errors.Join(one.TouchToken(ctx, "robot", at), one.TouchToken(ctx, "nobody", at)); err != nil {
			t.Error(err)
		}
	}
	if err := other.RemoveToken(ctx, "alice", noon, true); err != nil {
		t.Error(err)
	}
	if err := one.RemoveToken(ctx, "alice", noon, true); domain.CodeOf(err) != domain.CodeNotFound {
		t.Errorf("removed twice: %v", err)
	}
	robot.LastUsed = hour
	list, err = one.Tokens(ctx)
	if want := []access.StoredToken{upper, robot}; err != nil || !reflect.DeepEqual(list, want) {
		t.Errorf("got %+v, %v\nwant %+v", list, err, want)
	}
}

// tokensAtOnce lets two processes take one name.
func tokensAtOnce(t *testing.T, one, other Store) {
	const names = 5
	errs := make([]error, 2*names)
	var both sync.WaitGroup
	for i := range errs {
		store := []Store{one, other}[i%2]
		both.Go(func() { errs[i] = store.AddToken(t.Context(), token(fmt.Sprint("name", i/2), access.Read), true) })
	}
	both.Wait()
	for i := 0; i < len(errs); i += 2 {
		first, second := errs[i], errs[i+1]
		if (first == nil) == (second == nil) || domain.CodeOf(errors.Join(first, second)) != domain.CodeConflict {
			t.Errorf("of two with one name: %v, %v", first, second)
		}
	}
	if list, err := one.Tokens(t.Context()); err != nil || len(list) != names {
		t.Errorf("there are %d, %v", len(list), err)
	}
}

// trails makes finished entries, a second apart.
func trails(count int) []access.Entry {
	all := make([]access.Entry, count)
	for i := range all {
		who := access.Identity{Actor: access.ActorToken([]string{"alice", "robot"}[i%2]), Role: access.Operate}
		action := []string{"pause-account", "cancel-run", "set-timer"}[i%3]
		trail := access.NewTrail(noon.Add(time.Duration(i)*time.Second), who, "203.0.113.7", action, "/api/v1/things/"+fmt.Sprint(i))
		all[i], _ = trail.Due()
		all[i].Status, all[i].Outcome = 200, access.Done
	}
	return all
}

func entries(t *testing.T, one, other Store) {
	ctx := t.Context()
	all := trails(12)
	// One of them was begun in the transaction of its change.
	begun := all[5]
	begun.Status, begun.Outcome = 0, access.Unfinished
	if err := one.Record(ctx, begun); err != nil {
		t.Fatal(err)
	}
	if got, err := other.Entries(ctx, access.Query{Limit: 5}); err != nil || !reflect.DeepEqual(got, []access.Entry{begun}) {
		t.Errorf("got %+v, %v\nwant %+v", got, err, begun)
	}
	if err := other.Record(ctx, all...); err != nil {
		t.Fatal(err)
	}
	// What has its outcome keeps it.
	changed := all[3]
	changed.Status = 500
	if err := one.Record(ctx, changed); err != nil {
		t.Fatal(err)
	}
	newest := slices.Clone(all)
	slices.Reverse(newest)
	for name, c := range map[string]struct {
		query access.Query
		want  func(access.Entry) bool
	}{
		"all":    {access.Query{}, func(access.Entry) bool { return true }},
		"before": {access.Query{Before: all[7].ID}, func(e access.Entry) bool { return e.ID < all[7].ID }},
		"from":   {access.Query{From: all[7].ID}, func(e access.Entry) bool { return e.ID >= all[7].ID }},
		"actor":  {access.Query{Actor: "token:robot"}, func(e access.Entry) bool { return e.Actor == "token:robot" }},
		"action": {access.Query{Action: "set-timer", Before: all[9].ID}, func(e access.Entry) bool { return e.Action == "set-timer" && e.ID < all[9].ID }},
		"none":   {access.Query{Actor: "token:ROBOT"}, func(access.Entry) bool { return false }},
	} {
		want := slices.DeleteFunc(slices.Clone(newest), func(e access.Entry) bool { return !c.want(e) })
		c.query.Limit = 100
		if got, err := one.Entries(ctx, c.query); err != nil || len(got) != len(want) || len(want) > 0 && !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, %v\nwant %+v", name, got, err, want)
		}
		c.query.Limit = 2
		if got, err := one.Entries(ctx, c.query); err != nil || len(got) != min(2, len(want)) {
			t.Errorf("%s: %d of two, %v", name, len(got), err)
		}
	}
}

func removal(t *testing.T, one, other Store) {
	ctx := t.Context()
	all := trails(10)
	if err := one.Record(ctx, all...); err != nil {
		t.Fatal(err)
	}
	left := 10
	for _, want := range []int{4, 3, 0} {
		removed, err := other.RemoveEntries(ctx, all[7].ID, 4)
		left -= removed
		if err != nil || removed != want {
			t.Errorf("removed %d, %v, want %d", removed, err, want)
		}
		if got, err := one.Entries(ctx, access.Query{Limit: 100}); err != nil || len(got) != left || got[0].ID != all[9].ID {
			t.Errorf("left are %d, %v, want %d", len(got), err, left)
		}
	}
}

// words stores what callers may have chosen.
func words(t *testing.T, one, other Store) {
	ctx := t.Context()
	var want []access.Entry
	for i, text := range []string{"/' OR 1=1; --", "?X'00'", "한국어 ☃ 😀", "a\x00b", "\xff\xfe", strings.Repeat("😀", 400), ""} {
		who := access.Identity{Actor: access.ActorLocal(text), Role: access.Admin}
		entry, due := access.NewTrail(noon.Add(time.Duration(-i)*time.Second), who, text, "set-timer", text).Due()
		if !due {
			t.Fatal("an entry that nobody has stored is not due")
		}
		want = append(want, entry)
	}
	if err := one.Record(ctx, want...); err != nil {
		t.Fatal(err)
	}
	if got, err := other.Entries(ctx, access.Query{Limit: 100}); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v\nwant %+v", got, err, want)
	}
}

// Crowd sets timers for many requests at once: each leaves its entry with its
// timer.
func Crowd(t *testing.T, store access.AuditStore, put func(context.Context, []timer.Spec, time.Time) ([]timer.Stored, error)) {
	const requests = 40
	var all sync.WaitGroup
	for i := range requests {
		trail := access.NewTrail(noon.Add(time.Duration(i)*time.Second), access.Identity{Actor: "token:x", Role: access.Operate}, "::1", "set-timer", fmt.Sprint(i))
		all.Go(func() {
			spec := timer.Spec{ID: fmt.Sprint("timer", i), At: noon, Payload: []byte("{}")}
			if _, err := put(access.WithTrail(t.Context(), trail), []timer.Spec{spec}, noon); err != nil {
				t.Error(err)
			}
			if _, due := trail.Due(); due {
				t.Errorf("request %d has its timer, and not its entry", i)
			}
		})
	}
	all.Wait()
	entries, err := store.Entries(t.Context(), access.Query{Limit: 100})
	if err != nil || len(entries) != requests {
		t.Errorf("there are %d entries, %v", len(entries), err)
	}
	for _, e := range entries {
		if e.Outcome != access.Unfinished {
			t.Errorf("the log has %+v", e)
		}
	}
}
