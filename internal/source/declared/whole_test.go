package declared_test

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/source/declared"
)

// against drives a file against an upstream of the test's own.
func against(t *testing.T, text string, upstream http.Handler) *driver {
	t.Helper()
	d := &driver{
		t: t, file: load(t, text), now: time.Date(2026, 11, 18, 9, 0, 0, 0, time.UTC), token: "secret",
		cursors: map[string]time.Time{}, stored: map[string]domain.Page{}, docs: map[document.Key]document.Document{}, gone: map[document.Key]bool{},
	}
	server := httptest.NewServer(upstream)
	t.Cleanup(server.Close)
	var err error
	if d.src, err = declared.New(d.file, declared.Options{Base: server.URL, Now: func() time.Time { return d.now }}); err != nil {
		t.Fatal(err)
	}
	return d
}

// holds wants so many records, so many of them gone, and failures that say something.
func (d *driver) holds(when string, records, gone int, fails ...string) {
	d.t.Helper()
	if len(d.docs) != records || len(d.gone) != gone {
		d.t.Errorf("%s: %d records, %d of them gone: %v; want %d and %d", when, len(d.docs), len(d.gone), slices.Collect(maps.Keys(d.gone)), records, gone)
	}
	if len(d.failures) != len(fails) {
		d.t.Errorf("%s: it fails with %v, want %v", when, d.failures, fails)
		return
	}
	for i, want := range fails {
		if !strings.Contains(d.failures[i], want) {
			d.t.Errorf("%s: it fails with %q, want %q", when, d.failures[i], want)
		}
	}
}

// shelf is a list that an upstream shows in pages of ten.
type shelf struct {
	ids []int
	// total is what it says it has; the truth if nil. Empty is a page that shows nothing.
	total func() int
	empty int
	// link is how its Link header and its field next are written, with %d for the page.
	link  string
	tags  bool
	asked []string
	// bare says that bodies have nothing but records: what follows a page stands in its
	// headers alone, which a 304 does not repeat.
	bare bool
}

func (s *shelf) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	page, err := strconv.Atoi(r.URL.Query().Get("page"))
	if err != nil {
		page = 1
	}
	ids := s.ids
	if since := r.URL.Query().Get("since"); since != "" {
		ids = nil
	}
	from, to := min((page-1)*10, len(ids)), min(page*10, len(ids))
	all := []map[string]int{}
	for _, id := range ids[from:to] {
		if page != s.empty {
			all = append(all, map[string]int{"id": id})
		}
	}
	body := map[string]any{"data": all, "total": len(ids), "pages": (len(ids) + 9) / 10, "more": to < len(ids)}
	if s.total != nil {
		body["total"] = s.total()
	}
	if s.link != "" && to < len(ids) {
		body["next"] = fmt.Sprintf(s.link, page+1)
		w.Header().Set("Link", "<"+strings.TrimSpace(fmt.Sprintf(s.link, page+1))+`>; rel="next"`)
	}
	if s.bare {
		body = map[string]any{"data": all}
		w.Header().Set("X-Total", strconv.Itoa(len(ids)))
	}
	text, _ := json.Marshal(body)
	hash := fnv.New64a()
	_, _ = hash.Write(text)
	tag := fmt.Sprintf("%q", strconv.FormatUint(hash.Sum64(), 36))
	status := http.StatusOK
	if s.tags {
		w.Header().Set("Etag", tag)
		if r.Header.Get("If-None-Match") == tag {
			status, text = http.StatusNotModified, nil
			if s.bare {
				w.Header().Del("Link")
				w.Header().Del("X-Total")
			}
		}
	}
	s.asked = append(s.asked, fmt.Sprintf("%s %d", r.URL.RequestURI(), status))
	w.WriteHeader(status)
	_, _ = w.Write(text)
}

func count(n int) (all []int) {
	for id := range n {
		all = append(all, id+1)
	}
	return all
}

const items = head + "\n  items: {get: /items, records: data, key: id, page: "

// TestWalksHaveThePagesOfTheirStream: a walk that does not say how its pages follow each
// other has those of its stream, and one that says that there is one page has one.
func TestWalksHaveThePagesOfTheirStream(t *testing.T) {
	numbers := "{type: page, param: page, size: {n: 10}, total: total}"
	for name, walks := range map[string]string{
		"sweep": `, changes: {get: "/items?since={cursor}", page: {type: none}}, sweep: {get: /items, every: 30m}`,
		"first": `, changes: {get: "/items?since={cursor}"}, sweep: {get: /items, every: 30m}`,
	} {
		s := &shelf{ids: count(35)}
		text := items + numbers + walks + "}\n"
		if name == "first" {
			text = strings.Replace(text, "get: /items,", "first: {get: /items},", 1)
		}
		d := against(t, text, s)
		d.run()
		d.holds(name+": first", 35, 0)
		d.run()
		d.holds(name+": a look at all", 35, 0)
		s.ids = slices.Delete(s.ids, 3, 5)
		d.run()
		d.holds(name+": after two were removed", 35, 2)
		plan := d.file.Explain().Streams[0]
		if !strings.Contains(plan.Gone, "GET /items, pages by page") || name == "sweep" && !strings.Contains(plan.Later, "one page") || name == "first" && !strings.Contains(plan.Later, "pages by page") {
			t.Errorf("%s: the plan is %+v", name, plan)
		}
	}
}

// TestWalksThatAreNotComplete: a walk that does not show all that was announced says so,
// and says of nothing that it is gone.
func TestWalksThatAreNotComplete(t *testing.T) {
	for says, want := range map[string]string{
		", total: total": "told of 95 records and showed 85", ", pages: pages": "", ", more: more": "", ", total: total, pages: pages": "told of 95 records and showed 85",
	} {
		s := &shelf{ids: count(95)}
		d := against(t, items+"{type: page, param: page, size: {n: 10}"+says+"}}\n", s)
		d.run()
		d.holds(says+": first", 95, 0)
		s.empty, s.asked = 4, nil
		d.run()
		fails := []string{want}
		if want == "" {
			fails = nil
		}
		d.holds(says+": with a page without records", 95, 0, fails...)
		if len(s.asked) < 10 {
			t.Errorf("%s: %d pages were asked for: what follows a page without records was not", says, len(s.asked))
		}
		s.empty = 0
		d.run()
		d.holds(says+": afterwards", 95, 0)
	}
}

// TestTotalsThatAreTooSmall: what is shown beyond a total is collected, and nothing is
// gone because of it.
func TestTotalsThatAreTooSmall(t *testing.T) {
	for _, lie := range []int{0, 20, 55, 94} {
		for _, first := range []bool{false, true} {
			s := &shelf{ids: count(95)}
			d := against(t, items+"{type: page, param: page, size: {n: 10}, total: total}}\n", s)
			if !first {
				d.run()
				d.holds("first", 95, 0)
			}
			s.total = func() int { return lie }
			d.run()
			if len(d.docs) != 95 || len(d.gone) > 0 {
				t.Errorf("a total of %d: %d records, %d gone", lie, len(d.docs), len(d.gone))
			}
			if !first && (len(d.failures) != 1 || !strings.Contains(d.failures[0], "fewer records than the")) {
				t.Errorf("a total of %d: %v", lie, d.failures)
			}
		}
	}
	// One that is right costs one call more where the last page is full.
	s := &shelf{ids: count(30)}
	d := against(t, items+"{type: page, param: page, size: {n: 10}, total: total}}\n", s)
	d.run()
	s.ids, s.asked = s.ids[10:], nil
	d.run()
	d.holds("ten were removed", 30, 10)
	if len(s.asked) != 3 {
		t.Errorf("it asked for %v", s.asked)
	}
}

// TestNextPagesThatCannotBeAsked: an address of a next page that is none, or that is
// elsewhere, is no end of a walk.
func TestNextPagesThatCannotBeAsked(t *testing.T) {
	for _, page := range []string{"{type: cursor, next: next}", "{type: link}"} {
		for link, good := range map[string]bool{
			"/items?page=%d": true, " /items?page=%d ": true,
			"items:list?page=%d": false, "http://127.0.0.1:x/items?page=%d": false, "http://evil.example/items?page=%d": false, "//evil.example/%d": false, ".127.0.0.2:%d": false, "/items/%%zz?page=%d": false,
		} {
			s := &shelf{ids: count(25), link: "/items?page=%d"}
			d := against(t, items+page+"}\n", s)
			d.run()
			d.holds(link+": first", 25, 0)
			s.link = link
			d.run()
			if good {
				d.holds(link, 25, 0)
			} else {
				d.holds(link, 25, 0, "page 1 names a next page that cannot be asked for")
			}
		}
	}
}

// TestTagsAfterAChange: what a walk that begins anew has read is not read again, and what
// went while one did not come to its end is found by the next.
func TestTagsAfterAChange(t *testing.T) {
	s := &shelf{ids: count(50), link: "/items?at=%[1]d&page=%[1]d", tags: true}
	d := against(t, items+"{type: cursor, next: next}, conditional: etag}\n", s)
	unread := func(when string) {
		t.Helper()
		s.asked = nil
		d.run()
		if len(s.asked) != 5 || slices.ContainsFunc(s.asked, func(one string) bool { return !strings.HasSuffix(one, "304") }) {
			t.Errorf("%s it asked for %v", when, s.asked)
		}
	}
	d.run()
	unread("first")
	s.ids[25] = 99
	d.run()
	d.holds("a changed page", 51, 1)
	unread("after a changed page")
	s.ids[2] = 98
	d.run()
	d.holds("a changed first page", 52, 2)
	unread("after a changed first page")
	s.ids[12] = 97
	s.link = "/items?at=%[1]d&page=%[1]d"
	calls := 0
	d.before = func() {
		if calls++; calls == 6 {
			s.link = "http://evil.example/%d"
		}
	}
	d.run()
	d.before = nil
	d.holds("a walk that did not come to its end", 53, 2, "cannot be asked for")
	s.link = "/items?at=%[1]d&page=%[1]d"
	d.run()
	d.holds("the walk after it", 53, 3)
	unread("at last")
}

// TestTagsThatDoNotSpeakOfHeaders: what comes behind a last page that was full is found,
// though that page is answered 304 and its header alone names the next.
func TestTagsThatDoNotSpeakOfHeaders(t *testing.T) {
	for name, page := range map[string]string{
		"link": "{type: link}", "total": "{type: page, param: page, size: {n: 10}, total: {header: X-Total}}",
	} {
		s := &shelf{ids: count(50), link: "/items?page=%d", tags: true, bare: true}
		d := against(t, items+page+", conditional: etag}\n", s)
		d.run()
		s.asked = nil
		d.run()
		if len(s.asked) > 7 {
			t.Errorf("%s: unchanged it asked for %v", name, s.asked)
		}
		for n := 51; n < 75; n++ {
			s.ids = append(s.ids, n)
			d.run()
			d.holds(fmt.Sprintf("%s with record %d", name, n), n, 0)
		}
		s.asked = nil
		d.run()
		if len(s.asked) > 9 {
			t.Errorf("%s: unchanged again it asked for %v", name, s.asked)
		}
	}
	// One page that is full is followed by another, too.
	s := &shelf{ids: count(10), link: "/items?page=%d", tags: true, bare: true}
	d := against(t, items+"{type: link}, conditional: etag}\n", s)
	d.run()
	s.ids = count(11)
	d.run()
	d.holds("behind the only page", 11, 0)
}
