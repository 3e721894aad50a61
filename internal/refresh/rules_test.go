package refresh_test

import (
	"strings"
	"testing"
	"time"

	"sluice/internal/domain"
	"sluice/internal/refresh"
)

func TestResultsAreJudged(t *testing.T) {
	one, two := refresh.Hash{1}, refresh.Hash{2}
	skew := refresh.ClockSkew.Microseconds()
	known := refresh.Known{Seen: 5, Checked: 100, ValueID: refresh.ValueID{Version: 3, Hash: one}, Tier: refresh.Warm}
	for name, c := range map[string]struct {
		known   refresh.Known
		version int64
		at      int64
		hash    refresh.Hash
		want    refresh.Saved
		now     int64
	}{
		"nothing known":                   {refresh.Known{}, 1, 1, one, refresh.Stored, 0},
		"a later version, the same value": {known, 6, 90, one, refresh.Touched, 0},
		"a later version, another value":  {known, 6, 90, two, refresh.Stored, 0},
		"an earlier version":              {known, 4, 200, two, refresh.Obsolete, 0},
		"the same, looked at later":       {known, 5, 101, two, refresh.Stored, 0},
		"the same, looked at earlier":     {known, 5, 99, two, refresh.Obsolete, 0},
		"a clock that was set back":       {refresh.Known{Seen: 5, Checked: 2*skew + 1, ValueID: known.ValueID}, 5, skew, two, refresh.Stored, skew},
		"whoever looked was held up":      {refresh.Known{Seen: 5, Checked: 2*skew + 1, ValueID: known.ValueID}, 5, skew, two, refresh.Obsolete, 2*skew + 2},
		"only a status is known":          {refresh.Known{Tier: refresh.Cold}, 1, 1, refresh.Hash{}, refresh.Stored, 0},
	} {
		r := refresh.Result{Version: c.version, At: c.at, Now: c.now, Hash: c.hash}
		if got := c.known.Judge(&r); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

func TestResultsAreSaved(t *testing.T) {
	tiers, err := refresh.NewTiers(refresh.TierOptions{})
	if err != nil {
		t.Fatal(err)
	}
	hour := time.Hour.Microseconds()
	var k refresh.Known
	k.Save(&refresh.Result{Version: 2, At: 10, Hash: refresh.Hash{1}, Packed: []byte("xyz")}, refresh.Stored, tiers)
	want := refresh.Known{
		Seen: 2, ValueID: refresh.ValueID{Version: 2, Hash: refresh.Hash{1}}, Checked: 10, Updated: 10, Due: 10 + 24*hour, Tier: refresh.Cold, Bytes: 3,
	}
	if k != want {
		t.Errorf("stored %+v, want %+v", k, want)
	}
	k.Save(&refresh.Result{Version: 4, At: 20, Hash: refresh.Hash{1}}, refresh.Touched, tiers)
	want.Seen, want.Checked, want.Due = 4, 20, 20+24*hour
	if k != want {
		t.Errorf("touched %+v, want %+v", k, want)
	}
	k.Save(&refresh.Result{Version: 9, At: 90}, refresh.Obsolete, tiers)
	if k != want {
		t.Errorf("what is obsolete changes %+v", k)
	}
	k.MarkRead(30, tiers)
	want.Tier, want.Read, want.Due = refresh.Hot, 30, 20+hour
	if k != want {
		t.Errorf("read %+v, want %+v", k, want)
	}
	if k.MarkRead(25, tiers); k != want {
		t.Errorf("an earlier read changes %+v", k)
	}
	now := 30 + 25*hour
	if k.MakeDue(now, tiers); k.Tier != refresh.Warm || k.Due != now+6*hour {
		t.Errorf("due again: %+v", k)
	}
}

func TestSaveCallNeedsItsBodies(t *testing.T) {
	known := map[string]*refresh.Known{"a": {}, "b": {Seen: 1, ValueID: refresh.ValueID{Version: 1}}}
	call := refresh.SaveCall{Results: []refresh.Result{
		{Entity: entity("a"), Version: 2, Packed: []byte{1}}, {Entity: entity("b"), Version: 2},
	}}
	by := func(i int) *refresh.Known { return known[call.Results[i].Key] }
	if !call.Judge(by) || call.Again || call.Answers[0] != refresh.Stored || call.Answers[1] != refresh.Touched {
		t.Errorf("judged %+v", call)
	}
	known["b"].Hash = refresh.Hash{9} // changed after it was packed
	if call.Judge(by) || !call.Again {
		t.Errorf("a body is needed: %+v", call)
	}
}

func TestRequestsReplaceEachOther(t *testing.T) {
	later := time.Unix(100, 0)
	kept := func(version int64, p domain.Priority, waits int, notBefore time.Time) *refresh.Pending {
		return &refresh.Pending{Event: refresh.Event{Version: version, Priority: p, Waits: waits}, NotBefore: notBefore}
	}
	for name, c := range map[string]struct {
		kept, now       *refresh.Pending
		accepted, parks bool
	}{
		"an earlier version":         {kept(5, low, 0, time.Time{}), kept(4, high, 1, later), false, false},
		"in the log":                 {kept(5, low, 0, time.Time{}), kept(5, low, 0, later), true, true},
		"waits, never seen upstream": {kept(5, low, 0, later), kept(6, low, 0, later), true, false},
		"put off by the upstream":    {kept(5, low, 1, later), kept(6, low, 0, later), false, false},
		"more urgent":                {kept(5, low, 1, later), kept(6, high, 0, later), true, false},
		"put off once more":          {kept(5, low, 1, later), kept(5, low, 2, later), false, true},
	} {
		if got := c.kept.Accepts(&c.now.Event); got != c.accepted {
			t.Errorf("%s: accepted %t", name, got)
		}
		if got := c.kept.Parks(c.now); got != c.parks {
			t.Errorf("%s: parked %t", name, got)
		}
	}
	for name, c := range map[string]struct {
		kept, now *refresh.Pending
		follows   bool
	}{
		"an earlier one":          {kept(5, low, 0, time.Time{}), kept(4, low, 0, later), false},
		"the same":                {kept(5, low, 0, time.Time{}), kept(5, low, 0, later), true},
		"the same, joined before": {kept(5, low, 0, later), kept(5, low, 0, later), false},
		"the same, come back":     {kept(5, low, 1, time.Time{}), kept(5, low, 0, later), false},
		"a later one":             {kept(5, low, 0, time.Time{}), kept(6, low, 0, later), true},
		"after one that waits":    {kept(5, low, 0, later), kept(6, low, 0, later), true},
		"after one in the log":    {kept(5, low, 1, time.Time{}), kept(6, low, 0, later), true},
		"the upstream put it off": {kept(5, low, 1, later), kept(6, high, 0, later), false},
	} {
		if got := c.kept.Follows(c.now); got != c.follows {
			t.Errorf("%s: follows %t", name, got)
		}
	}
	k := kept(5, low, 1, later)
	if !k.Wakes(kept(5, high, 1, later)) || k.Wakes(kept(5, low, 2, later)) || k.Wakes(kept(6, low, 1, later)) {
		t.Error("another request is brought back")
	}
	if k.Settles(4) || !k.Settles(5) || !k.Settles(6) {
		t.Error("a request is done with a version before its own, or is not")
	}
	s := refresh.VersionedStatus{Version: 5}
	for _, c := range []struct {
		seen, status int64
		counts       bool
	}{{0, 0, true}, {5, 5, true}, {6, 0, false}, {0, 6, false}} {
		if got := s.Counts(c.seen, c.status); got != c.counts {
			t.Errorf("status of version 5 after %d and %d: %t", c.seen, c.status, got)
		}
	}
}

func TestWhatNoStoreCouldKeep(t *testing.T) {
	for name, e := range map[string]refresh.Entity{
		"no source": {Key: "k"}, "no key": {Source: "s"}, "long": {Source: "s", Key: strings.Repeat("k", 1025)}, "not UTF-8": {Source: "s", Key: "\xff"},
	} {
		status := refresh.Status{Entity: e, Code: refresh.StatusFailed}
		for _, err := range []error{e.Check(), status.Check(), refresh.CheckRefreshed([]refresh.Refreshed{{Entity: e, Version: 1}})} {
			if domain.CodeOf(err) != domain.CodeInvalid {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	good := refresh.Refreshed{Entity: entity("k"), Version: 1}
	if err := refresh.CheckRefreshed([]refresh.Refreshed{good, good}); domain.CodeOf(err) != domain.CodeInvalid {
		t.Errorf("an entity twice: %v", err)
	}
	if err := (&refresh.Status{Entity: entity("k"), Code: "TIRED"}).Check(); domain.CodeOf(err) != domain.CodeInvalid {
		t.Errorf("an unknown status: %v", err)
	}
	for _, text := range []string{"", "1.2", "1.2.3.4", "a.b.c", "01.2.3"} {
		if _, err := refresh.ParseHistoryCursor(text); domain.CodeOf(err) != domain.CodeInvalid {
			t.Errorf("cursor %q: %v", text, err)
		}
	}
	if c, err := refresh.ParseHistoryCursor(refresh.BeginHistory(7).String()); err != nil || c != refresh.BeginHistory(7) {
		t.Errorf("cursor %+v, %v", c, err)
	}
}
