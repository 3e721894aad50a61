package declared_test

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestChildrenOfAParentThatWentMeanwhile: what belongs to a record goes with it, also what
// was shown in the same second, while the walk that misses it was under way, or after it.
func TestChildrenOfAParentThatWentMeanwhile(t *testing.T) {
	const text = head + `
  a: {get: /a, page: {type: page, param: page, size: {n: 3}, total: total}, records: items, key: id}
  b: {of: a, get: "/a/{a.id}/b", page: {type: page, param: page, size: {n: 3}, total: total}, records: items, key: id, gone: [404]}
  c: {of: b, get: "/b/{b.id}/c", records: items, key: id}
`
	for name, c := range map[string]struct {
		file  string
		late  bool
		fails int
	}{
		"a status that says so": {text, false, 0}, "none": {strings.Replace(text, ", gone: [404]", "", 1), false, 1}, "answers that come late": {text, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			run, gone := 1, false
			parents := []int{1, 2, 3, 4, 5, 6, 7}
			d := against(t, c.file, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				page, _ := strconv.Atoi(r.URL.Query().Get("page"))
				size, path := 3, strings.Split(r.URL.Path, "/")
				var ids []int
				switch {
				case len(path) == 2:
					if run == 2 && page == 3 && !gone {
						gone, parents = true, []int{1, 3, 4, 5, 6, 7}
					}
					ids = parents
				case path[1] == "a" && path[2] == "2" && gone && !c.late:
					w.WriteHeader(http.StatusNotFound)
					return
				case path[1] == "a":
					of, _ := strconv.Atoi(path[2])
					for n := range 7 {
						ids = append(ids, of*100+n)
					}
				default:
					of, _ := strconv.Atoi(path[2])
					page, size, ids = 1, 1, []int{of * 10}
				}
				items := []map[string]int{}
				for _, id := range ids[min((page-1)*size, len(ids)):min(page*size, len(ids))] {
					items = append(items, map[string]int{"id": id})
				}
				_ = json.NewEncoder(w).Encode(map[string]any{"items": items, "total": len(ids)})
			}))
			// All calls of a run are made within a second.
			d.before = func() { d.now = d.now.Add(-time.Second) }
			d.run()
			d.holds("first", 7+49+49, 0)
			run = 2
			d.run()
			if len(d.failures) != c.fails || !c.late && len(d.gone) != 7+7 {
				t.Errorf("when it went: %d of its own gone, failures %v", len(d.gone), d.failures)
			}
			run = 3
			d.run()
			d.holds("afterwards", 7+49+49, 1+7+7)
			parents = append(parents, 2)
			gone, c.late = false, true
			d.run()
			d.holds("when it is back", 7+49+49, 0)
			d.run()
			d.holds("and stays", 7+49+49, 0)
		})
	}
}
