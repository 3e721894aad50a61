package declared

import (
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"
)

// selected are the records that a request is about, in a steady order: by id, or those
// that changed by when they did.
func (s *Server) selected(c *compiled, of *record, names asked) []*record {
	var all []*record
	for _, one := range c.stream.all {
		if of != nil && one.parent != of || !s.within(c, one.updated, names) {
			continue
		}
		all = append(all, one)
	}
	if names.since != "" {
		slices.SortStableFunc(all, func(a, b *record) int { return cmp.Or(a.updated.Compare(b.updated), cmp.Compare(a.id, b.id)) })
	}
	return all
}

// within says whether something that changed at an instant is asked for.
func (s *Server) within(c *compiled, at time.Time, names asked) bool {
	if c.SinceAs == asDate {
		at = at.Truncate(24 * time.Hour)
	}
	if names.since != "" {
		if since := instant(names.since, c.SinceAs); at.Before(since) || s.opt.Open&1 > 0 && names.until != "" && at.Equal(since) {
			return false
		}
	}
	if names.until != "" {
		if until := instant(names.until, c.SinceAs); at.After(until) || s.opt.Open&2 > 0 && at.Equal(until) {
			return false
		}
	}
	return true
}

// asDate is an instant that is written as a day.
const asDate = "date"

func instant(text, as string) time.Time {
	n, _ := strconv.ParseInt(text, 10, 64)
	switch as {
	case "epoch":
		return time.Unix(n, 0)
	case "epoch_ms":
		return time.UnixMilli(n)
	case asDate:
		t, _ := time.Parse(time.DateOnly, text)
		return t
	}
	t, _ := time.Parse(time.RFC3339, text)
	return t
}

// paged cuts a page out of the records and says what follows it.
func (s *Server) paged(w http.ResponseWriter, r *http.Request, c *compiled, all []*record) any {
	p := &c.Page
	ask := parameters(r)
	size := p.Size
	if n, err := strconv.Atoi(ask.Get(p.SizeParam)); err == nil && n > 0 && n <= 1000 {
		size = n
	}
	if size <= 0 {
		size = 10
	}
	from := 0
	n, err := strconv.Atoi(ask.Get(p.Param))
	switch p.Kind {
	case "":
		size = max(len(all), 1)
	case "page":
		if err == nil {
			from = (n - p.Start) * size
		}
	case "offset":
		if err == nil {
			from = n - p.Start
		}
	case "cursor":
		from, _ = strconv.Atoi(ask.Get(first(p.Param, "token")))
	case "link":
		from, _ = strconv.Atoi(ask.Get("from"))
		if p.Total.is() {
			page, _ := strconv.Atoi(ask.Get("page"))
			from = max(page-1, 0) * size
		}
	case "keyset":
		from = slices.IndexFunc(all, func(one *record) bool { return one.id > n })
		if from < 0 {
			from = len(all)
		}
	}
	from = min(max(from, 0), len(all))
	to := min(from+size, len(all))
	page := make([]any, 0, to-from)
	for _, one := range all[from:to] {
		page = append(page, s.world.payload(c.stream, one))
	}
	return s.envelope(w, r, c, page, len(all), to, size)
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func parseForm(raw []byte) url.Values {
	all, _ := url.ParseQuery(string(raw))
	return all
}

// parameters are those of the address and, for a call that posts, of its body.
func parameters(r *http.Request) url.Values {
	all := r.URL.Query()
	if r.Method != http.MethodPost {
		return all
	}
	raw, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	var body map[string]any
	if json.Unmarshal(raw, &body) == nil {
		for name, v := range body {
			text, _ := json.Marshal(v)
			if s, ok := v.(string); ok {
				text = []byte(s)
			}
			all.Set(name, string(text))
		}
	}
	return all
}

// tell puts a value where an answer has it: a header, or a place of the body.
func tell(w http.ResponseWriter, body map[string]any, at Place, v any) {
	switch {
	case at.Header != "":
		w.Header().Set(at.Header, text(v))
	case at.Body != "":
		set(body, at.Body, v)
	}
}

// envelope puts a page where its records belong, with what the answer tells beside.
func (s *Server) envelope(w http.ResponseWriter, r *http.Request, c *compiled, page []any, total, to, size int) any {
	p := &c.Page
	body := map[string]any{}
	tell(w, body, p.Total, total)
	tell(w, body, p.Pages, (total+size-1)/size)
	more := to < total
	if p.More != "" {
		set(body, p.More, more)
	}
	if p.Kind == "cursor" && more {
		token := strconv.Itoa(to)
		if p.Param == "" {
			token = s.address(r, "token", to)
		}
		tell(w, body, p.Next, token)
	}
	if p.Kind == "link" && more {
		link := s.address(r, "from", to)
		if p.Total.is() {
			link = s.address(r, "page", to/size+1)
		}
		w.Header().Set("Link", "<"+link+`>; rel="`+first(p.Rel, "next")+`"`)
	}
	if c.Records == "" {
		return page
	}
	set(body, c.Records, page)
	return body
}

// address is that of the request with another parameter.
func (s *Server) address(r *http.Request, name string, value int) string {
	q := r.URL.Query()
	q.Set(name, strconv.Itoa(value))
	return "http://" + r.Host + r.URL.EscapedPath() + "?" + q.Encode()
}
