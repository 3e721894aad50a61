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

// TestOneFormatEach of lateness, rations and the numbers of axes.
func TestOneFormatEach(t *testing.T) {
	for ms, want := range map[float64]string{0: "0.0 ms", 1.84: "1.8 ms", 999: "999.0 ms", 1500: "1.5 s"} {
		if got := lateness(ms); got != want {
			t.Errorf("%v ms: %s", ms, got)
		}
	}
	for text, want := range map[string]string{
		"core: 5000 every 1h0m0s": "core: 5000 every 1h", "1 calls every 1m0s": "1 call every 1m", "20000000 every 1h30m0s": "20\u202f000\u202f000 every 1h30m", "11 calls": "11 calls", "a: 5 calls, for [/groups/*/projects /x]": "a: 5 calls, for /groups/*/projects /x",
	} {
		if got := plainRation(text); got != want {
			t.Errorf("%s: %s", text, got)
		}
	}
	for v, want := range map[float64]string{9999: "9\u202f999", 12_000: "12 k", 2.5e6: "2.5 M", 3e12: "3.0 T", 4e15: "4.0 P", 1e19: "1e+19"} {
		if got := axisNumber(v); got != want {
			t.Errorf("%v: %s", v, got)
		}
	}
}
