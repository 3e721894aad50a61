package github

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

type page struct{ number, size int }

// page reads the paging parameters; what makes no sense is silently clamped.
func (c *call) page() page {
	p := page{number: 1, size: 30}
	if n, err := strconv.Atoi(c.query.Get("page")); err == nil && n > 0 {
		p.number = n
	}
	if n, err := strconv.Atoi(c.query.Get("per_page")); err == nil && n > 0 {
		p.size = min(n, 100)
	}
	return p
}

// paginate cuts the page out of a listing and sets the Link header, whose
// addresses name things by id.
func (c *call) paginate(p page, total int, path string) (start, end int) {
	start = min((p.number-1)*p.size, total)
	end = min(start+p.size, total)
	last := (total + p.size - 1) / p.size
	var links []string
	add := func(rel string, number int) {
		links = append(links, c.linkTo(rel, path, map[string]string{"page": strconv.Itoa(number)}))
	}
	if p.number > 1 {
		add("prev", p.number-1)
	}
	if p.number < last {
		add("next", p.number+1)
		add("last", last)
	}
	if p.number > 1 {
		add("first", 1)
	}
	c.link = strings.Join(links, ", ")
	return start, end
}

// linkTo renders one entry of a Link header: the request's own query with some
// parameters replaced.
func (c *call) linkTo(rel, path string, replace map[string]string) string {
	query := make(url.Values, len(c.query)+1)
	for name, values := range c.query {
		query[name] = values
	}
	for name, value := range replace {
		query.Set(name, value)
	}
	return fmt.Sprintf(`<%s%s?%s>; rel="%s"`, c.base, path, query.Encode(), rel)
}

// Cursors name a place in an ordering by its sort key and number, so they stay
// right when the listing grows or shrinks around them.

func encodeCursor(key, number int64) string {
	return base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "cursor:v2:%d:%d", key, number))
}

func decodeCursor(cursor string) (key, number int64, ok bool) {
	raw, err := base64.StdEncoding.DecodeString(cursor)
	if err != nil {
		return 0, 0, false
	}
	tail, found := strings.CutPrefix(string(raw), "cursor:v2:")
	first, second, cut := strings.Cut(tail, ":")
	key, errKey := strconv.ParseInt(first, 10, 64)
	number, errNumber := strconv.ParseInt(second, 10, 64)
	return key, number, found && cut && errKey == nil && errNumber == nil
}
