package web

import (
	"strings"
	"testing"
	"time"
)

func TestWhatIsWaitedForIsSaidInWords(t *testing.T) {
	for reason, want := range map[string]string{"primary": "its ration is used up", "retry_after": "the upstream wants to be left alone", "its owner asked for it": "its owner asked for it"} {
		if got := why(reason); got != want {
			t.Errorf("%s: %s", reason, got)
		}
	}
	for lane, want := range map[string]string{"f00d/graphql": "graphql: ", "store": "", "": ""} {
		if got := bucketOf(lane); got != want {
			t.Errorf("%s: %q", lane, got)
		}
	}
}

func TestInstantsInTextsAreShownAsElsewhere(t *testing.T) {
	s := &shown{now: func() time.Time { return time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC) }}
	got := string(s.timed("its <next> run at 2026-01-01T12:30:00Z & more"))
	if !strings.HasPrefix(got, "its &lt;next&gt; run <time") || !strings.Contains(got, ">in 30 min</time> &amp; more") {
		t.Error(got)
	}
	if got := s.timed("no <b>instant</b>, 2026-99-99T12:30:00Z"); got != "no &lt;b&gt;instant&lt;/b&gt;, 2026-99-99T12:30:00Z" {
		t.Error(got)
	}
}

func TestGauges(t *testing.T) {
	for _, c := range []struct {
		part, whole any
		width, tone string
	}{{0, 10, "0", "bad"}, {int64(1), 5000, "1.0", "warn"}, {2500.0, 5000, "50.0", ""}, {7, 0, "0", ""}, {20, 10, "100.0", ""}, {-1, 10, "0", "bad"}} {
		if width, tone := share(c.part, c.whole), leftTone(c.part, c.whole); width != c.width || tone != c.tone {
			t.Errorf("%v of %v: %s %s", c.part, c.whole, width, tone)
		}
	}
}
