package access_test

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/internal/access"
	"sluice/internal/domain"
)

var alice = access.Identity{Actor: "token:alice", Role: access.Operate}

func TestTrail(t *testing.T) {
	store, c, ctx := newShelf(), newClock(), t.Context()
	audit := access.NewAudit(access.AuditOptions{Store: store, Now: c.Now})
	trail := audit.Begin(alice, "203.0.113.7", "start-run", "/api/v1/runs")
	request := access.WithTrail(ctx, trail)
	access.About(request, "of account 7")
	entry, due := access.TrailOf(request).Due()
	if !due || entry.Outcome != access.Unfinished || entry.Target != "/api/v1/runs of account 7" {
		t.Fatalf("due is %+v, %v", entry, due)
	}
	// A store writes it with its first change, and the process dies, or goes on.
	if err := store.Record(ctx, entry); err != nil {
		t.Fatal(err)
	}
	trail.Stored()
	if _, due := trail.Due(); due {
		t.Error("it is due again")
	}
	list, _, err := audit.Entries(ctx, access.Search{Limit: 10})
	if err != nil || len(list) != 1 || list[0].Outcome != access.Unfinished {
		t.Errorf("the log has %+v, %v", list, err)
	}
	audit.End(request, trail, 201)
	list, next, err := audit.Entries(ctx, access.Search{Limit: 10})
	want := access.Entry{ID: entry.ID, At: c.now, Actor: "token:alice", Role: access.Operate, Address: "203.0.113.7",
		Action: "start-run", Target: "/api/v1/runs of account 7", Status: 201, Outcome: access.Done}
	if err != nil || next != "" || len(list) != 1 || list[0] != want {
		t.Errorf("the log has %+v, %v\nwant %+v", list, err, want)
	}
	// Outside of requests nothing is due, and nothing can be said.
	access.About(ctx, "x")
	if _, due := access.TrailOf(ctx).Due(); due {
		t.Error("there is an entry without a request")
	}
}

// TestOutcomeAfterTheEnd: what goes on behind a request does not belong to it.
func TestOutcomeAfterTheEnd(t *testing.T) {
	store := newShelf()
	audit := access.NewAudit(access.AuditOptions{Store: store})
	trail := audit.Begin(alice, "::1", "cancel-run", "/api/v1/runs/1/cancel")
	audit.End(t.Context(), trail, 409)
	if _, due := trail.Due(); due {
		t.Error("an entry is due after the end of its request")
	}
	if list, _, err := audit.Entries(t.Context(), access.Search{Limit: 1}); err != nil || list[0].Outcome != access.Refused {
		t.Errorf("the log has %+v, %v", list, err)
	}
}

func TestEntriesByPages(t *testing.T) {
	store, c, ctx := newShelf(), newClock(), t.Context()
	audit := access.NewAudit(access.AuditOptions{Store: store, Now: c.Now})
	began := c.now
	for i := range 25 {
		audit.End(ctx, audit.Begin(alice, "::1", "set-timer", fmt.Sprint("/", i)), 200)
		c.pass(time.Second)
	}
	var seen []string
	search := access.Search{Limit: 10, Since: began.Add(3 * time.Second), Until: began.Add(20 * time.Second)}
	for pages := 1; ; pages++ {
		list, next, err := audit.Entries(ctx, search)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			seen = append(seen, e.Target)
		}
		if search.Cursor = next; next == "" {
			if pages != 2 {
				t.Errorf("%d pages", pages)
			}
			break
		}
	}
	if len(seen) != 17 || seen[0] != "/19" || seen[16] != "/3" {
		t.Errorf("got %q", seen)
	}
	for _, cursor := range []string{"x", "00", strings.Repeat("Z", 32), "' OR 1=1 --"} {
		_, _, err := audit.Entries(ctx, access.Search{Cursor: cursor})
		refused(t, err, domain.CodeInvalid)
	}
	_, _, err := audit.Entries(ctx, access.Search{Since: c.now, Until: began})
	refused(t, err, domain.CodeInvalid)
}

func TestOldEntriesAreRemoved(t *testing.T) {
	for name, c := range map[string]struct {
		keep time.Duration
		want int
	}{"a day": {24 * time.Hour, 1}, "for ever": {-1, 101}, "by default": {0, 1}} {
		store, clock, ctx := newShelf(), newClock(), t.Context()
		audit := access.NewAudit(access.AuditOptions{Store: store, Keep: c.keep, Now: clock.Now})
		for range 100 {
			audit.End(ctx, audit.Begin(alice, "::1", "set-timer", "/"), 200)
		}
		clock.pass(91 * 24 * time.Hour)
		audit.End(ctx, audit.Begin(alice, "::1", "set-timer", "/"), 200)
		if len(store.entries) != c.want {
			t.Errorf("%s: %d are left, want %d", name, len(store.entries), c.want)
		}
	}
}

// TestLogIsDown: the service's log has what the audit log does not take.
func TestLogIsDown(t *testing.T) {
	store := newShelf()
	store.fail(errDown)
	var said strings.Builder
	audit := access.NewAudit(access.AuditOptions{Store: store, Log: slog.New(slog.NewTextHandler(&said, nil))})
	audit.End(t.Context(), audit.Begin(alice, "203.0.113.7", "cancel-run", "/api/v1/runs/9/cancel"), 200)
	for _, word := range []string{"token:alice", "203.0.113.7", "cancel-run", "/api/v1/runs/9/cancel", "status=200"} {
		if !strings.Contains(said.String(), word) {
			t.Errorf("the log says %q, and not %s", said.String(), word)
		}
	}
}

// TestManyAtOnce: requests share statements, and each has its entry.
func TestManyAtOnce(t *testing.T) {
	store := newShelf()
	audit := access.NewAudit(access.AuditOptions{Store: store})
	var all sync.WaitGroup
	for i := range 500 {
		all.Go(func() { audit.End(t.Context(), audit.Begin(alice, "::1", "set-timer", fmt.Sprint("/", i)), 200) })
	}
	all.Wait()
	if len(store.entries) != 500 {
		t.Errorf("there are %d entries", len(store.entries))
	}
}

func TestProxies(t *testing.T) {
	for text, want := range map[string]int{"": 0, "10.0.0.1": 1, "10.0.0.0/8, ::1": 2, "2001:db8::/32,": 1} {
		if got, err := access.ParseProxies(text); err != nil || len(got) != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"proxy", "10.0.0.0/33", "10.0.0.1:80", "*"} {
		_, err := access.ParseProxies(text)
		refused(t, err, domain.CodeInvalid)
	}
}
