package declared_test

import (
	"slices"
	"strings"
	"testing"
)

// TestPlansSayWhatIsNotFound: where nothing tells that pages shift, or where that depends
// on the upstream's links, plan and notes say so.
func TestPlansSayWhatIsNotFound(t *testing.T) {
	for page, want := range map[string]string{
		"{type: page, param: page}":                  "not found: pages by number shift",
		"{type: page, param: page, total: total}":    "",
		"{type: link}":                               "not found if its links name pages by number",
		"{type: link, total: {header: X-Total}}":     "",
		"{type: keyset, param: after, size: {n: 5}}": "",
	} {
		for _, sweep := range []string{"", `, changes: {get: "/items?since={cursor}"}, sweep: {get: /all, every: 30m}`} {
			e := load(t, items+page+sweep+"}\n").Explain()
			noted := slices.ContainsFunc(e.Warnings, func(w string) bool { return strings.Contains(w, "what the upstream removes is not found") })
			if got := e.Streams[0].Gone; !strings.Contains(got, want) || want == "" && strings.Contains(got, "not found") || noted != (want != "") {
				t.Errorf("%s%s: %q, noted %v; want %q", page, sweep, got, noted, want)
			}
		}
	}
}
