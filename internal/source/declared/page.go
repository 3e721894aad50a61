package declared

import (
	"fmt"
	"hash/fnv"
	"math/bits"
	"net/url"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"sluice/internal/domain"
	"sluice/internal/source"
)

// follow is what a page says about those behind it.
type follow struct {
	// pos is where the next page begins, "" if this is the last one.
	pos string
	// total is how many records there are in all, pages how many pages; -1 and 0 if
	// the upstream does not say. told says that it told the pages itself.
	total, pages int
	told         bool
	// shifts says that pages are told apart by number: something that is removed
	// moves what is behind it to an earlier page.
	shifts bool
	// wrong is why the walk cannot go on, lacks why it is not all though it ends here.
	wrong, lacks string
}

// follow finds out what is behind a page that had so many records, kept or not.
func (c walk) follow(a *answer, all []record, shown int) follow {
	p := &c.request.page
	f := c.announced(a, shown)
	if p.kind == pageNone {
		f.pages = 1
		return f
	}
	var err error
	if f.pos, err = c.next(a, shown, &f); err != nil {
		f.wrong = "page " + strconv.Itoa(c.p.Page+1) + " names a next page that cannot be asked for: " + err.Error()
		return f
	}
	if shown > 0 {
		c.p.Empty = 0
	} else if c.p.Empty++; f.pos != "" && c.p.Empty >= mostEmpty {
		f.wrong = "the walk does not end: " + strconv.Itoa(c.p.Empty) + " pages in a row have no records, and name another"
		return f
	}
	f.shifts = p.counted() || p.kind == pageLink && numbered(f.pos) || p.kind == pageLink && numbered(c.p.Pos)
	switch {
	case f.pos == "":
		f.lacks = c.lacks(a, &f)
	case c.p.Page+1 >= p.most:
		f.wrong = "the walk does not end: " + strconv.Itoa(c.p.Page+1) + " pages were read; give page.most if there are more"
	case f.pos == c.p.Pos:
		f.wrong = "the walk does not end: page " + strconv.Itoa(c.p.Page+1) + " names itself as the next"
	case !p.counted() && c.goesBack(f.pos):
		f.wrong = "the walk does not end: page " + strconv.Itoa(c.p.Page+1) + " goes back to one that was read before"
	case len(all) > 0 && !c.first() && all[0].name == c.p.First:
		f.wrong = "the walk does not end: page " + strconv.Itoa(c.p.Page+1) + " begins with the same record as the page before it; does the upstream know the parameter " + strconv.Quote(p.param) + "?"
	}
	return f
}

// announced reads how much the upstream says there is. A total is believed until more
// records were shown: then pages go on until there are no more, as if it told none.
func (c walk) announced(a *answer, shown int) follow {
	p := &c.request.page
	f := follow{total: -1}
	c.p.Seen += shown
	if n, ok := c.number(a, p.total); ok {
		f.total = n
	} else if shown == 0 && c.p.Total > 0 {
		// Behind the last page nothing tells it any more.
		f.total = c.p.Total - 1
	}
	steady := f.total == c.p.Total-1 || c.first() && !c.p.Apart
	if c.p.Low || f.total >= 0 && steady && countsTheSame(c.call) && c.p.Seen > f.total || c.p.Apart && c.p.Page >= c.p.Pages {
		c.p.Low, f.total = true, -1
		c.learnSize(shown, f.total)
		return f
	}
	c.learnSize(shown, f.total)
	if f.total >= 0 {
		if size := c.size(); size > 0 {
			f.pages = (f.total + size - 1) / size
		}
	}
	if n, ok := c.number(a, p.pages); ok {
		f.pages, f.told = n, true
	}
	return f
}

// countsTheSame says whether the upstream's total counts what the walk counts.
func countsTheSame(c *call) bool {
	return !c.stream.latest && !strings.Contains(strings.TrimSuffix(c.request.records, "*"), "*")
}

// lacks is what a walk that ends with this page has not shown, though it was announced;
// "" if that is nothing.
func (c walk) lacks(a *answer, f *follow) string {
	p := &c.request.page
	switch {
	case c.p.Apart:
	case p.more != "" && at(a.json, p.more).Bool():
		return "page " + strconv.Itoa(c.p.Page+1) + " says that there are more, and does not say where"
	case c.p.Low:
		return "the upstream told of fewer records than the " + strconv.Itoa(c.p.Seen) + " that it showed: leave out total if it means something else"
	case f.told && c.p.Page+1 < f.pages:
		return "the upstream told of " + strconv.Itoa(f.pages) + " pages, and its records ended with page " + strconv.Itoa(c.p.Page+1)
	case f.total == c.p.Total-1 && f.total > c.p.Seen && countsTheSame(c.call):
		return "the upstream told of " + strconv.Itoa(f.total) + " records and showed " + strconv.Itoa(c.p.Seen) + ": leave out total if it means something else"
	}
	return ""
}

// goesBack says whether the next page is one that was read before. One page is remembered
// at a time, another one each time that twice as many were read: a walk in a circle meets
// it again within three rounds.
func (c walk) goesBack(pos string) bool {
	next := fnv.New64a()
	_, _ = next.Write([]byte(pos))
	if sum := next.Sum64(); sum == c.p.Mark {
		return true
	} else if bits.OnesCount(uint(c.p.Page+1)) == 1 {
		c.p.Mark = sum
	}
	return false
}

// mostEmpty is how many pages without records may follow one another.
const mostEmpty = 100

// size is how many records a page has: as many as were asked for, or as the upstream
// gives where it gives fewer.
func (c walk) size() int {
	if c.p.Size > 0 {
		return c.p.Size
	}
	return c.request.page.size
}

// learnSize finds out with the first page whether the upstream gives as many records
// as it is asked for; many give at most so many, and do not say so.
func (c walk) learnSize(shown, total int) {
	if size := c.request.page.size; c.first() && shown > 0 && shown != total && (size == 0 && total > shown || shown < size) {
		c.p.Size = shown
	}
}

// next is where the page behind this one begins. Shown is how many records the page
// had, kept or not. That a page is not full is no end: only a total, a number of pages,
// a word of the upstream's, or a page without records is.
func (c walk) next(a *answer, shown int, f *follow) (string, error) {
	p := &c.request.page
	more := false
	if p.more != "" {
		said := at(a.json, p.more)
		if more = said.Bool(); said.Exists() && !more {
			return "", nil
		}
	}
	switch p.kind {
	case pageNumber, pageOffset:
		if !more && c.ends(shown, f) {
			return "", nil
		}
		return c.pageAt(c.p.Page + 1), nil
	case pageLink:
		return c.named(linkOf(a.header, p.rel))
	case pageCursor:
		return c.token(a, shown)
	case pageKeyset:
		last := c.lastShown(a)
		if shown == 0 || !last.Exists() {
			return "", nil
		}
		by := p.by
		if by == "" {
			by = c.stream.key[len(c.stream.key)-1]
		}
		return posToken + keyAt(last, by), nil
	}
	return "", nil
}

// mostHoles is how many pages in a row may have no records though a total or a number of
// pages says that others follow.
const mostHoles = 3

// ends says whether a page that is told apart by number is the last one. A full page is
// none, whatever was announced: one without records must follow it.
func (c walk) ends(shown int, f *follow) bool {
	size := c.size()
	switch {
	case shown == 0:
		return c.p.Apart || c.p.Empty+1 >= mostHoles || !c.announcesMore(f)
	case f.total >= 0 && size > 0:
		return (c.p.Page+1)*size >= f.total && shown < size
	case f.pages > 0:
		return c.p.Page+1 >= f.pages && shown < max(size, 1) || size == 0 && c.p.Page+1 >= f.pages
	}
	return false
}

// announcesMore says whether a total, or a number of pages, tells of more behind a page.
func (c walk) announcesMore(f *follow) bool {
	switch {
	case f.total >= 0 && c.size() > 0:
		return c.p.Seen < f.total && (c.p.Page+1)*c.size() < f.total
	case f.told:
		return c.p.Page+1 < f.pages
	}
	return false
}

// token is where a page begins that the upstream names by a token or an address. One
// that has no records and names itself is the end: more may come there later.
func (c walk) token(a *answer, shown int) (pos string, err error) {
	p := &c.request.page
	token := textAt(a.json, p.next.body)
	if p.next.header != "" {
		token = a.header.Get(p.next.header)
	}
	switch {
	case token == "" || token == "false":
	case p.param == "" || strings.HasPrefix(token, "http://") || strings.HasPrefix(token, "https://"):
		pos, err = c.named(token)
	default:
		pos = posToken + token
	}
	if shown == 0 && pos == c.p.Pos {
		return "", err
	}
	return pos, err
}

// lastShown is the last record of a page, kept or not.
func (c walk) lastShown(a *answer) (last gjson.Result) {
	every(a.json, strings.TrimSuffix(strings.TrimSuffix(c.request.records, "*"), "."), func(v gjson.Result) {
		eachOf(v, func(one gjson.Result) { last = one })
	})
	return last
}

// pageAt is the position of a page of those that are told apart by number.
func (c walk) pageAt(page int) string {
	p := &c.request.page
	if p.kind == pageOffset {
		return posNumber + strconv.Itoa(p.start+page*c.size())
	}
	return posNumber + strconv.Itoa(p.start+page)
}

// named is the position of an address that the upstream names. One that cannot be asked
// is no end of a walk.
func (c walk) named(address string) (string, error) {
	if address = strings.TrimSpace(address); address == "" {
		return "", nil
	}
	u, err := c.asked.Parse(address)
	if err != nil {
		return "", fmt.Errorf("%s is not an address", strconv.Quote(shorten(c.withoutSecret(address), 100)))
	}
	if _, err := c.resolve(u.String()); err != nil {
		return "", err
	}
	return posURL + c.withoutSecret(u.String()), nil
}

// number is a count of the answer.
func (c walk) number(a *answer, of place) (int, bool) {
	text := ""
	switch {
	case of.header != "":
		text = a.header.Get(of.header)
	case of.body != "":
		text = textAt(a.json, of.body)
	}
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= 0 && n < 1<<40
}

// numbered says whether an address tells its page by a number.
func numbered(pos string) bool {
	address, ok := strings.CutPrefix(pos, posURL)
	if !ok {
		return false
	}
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	for _, name := range []string{"page", "offset", "start", "skip", "p", "pageNumber", "startAt"} {
		if _, err := strconv.Atoi(u.Query().Get(name)); err == nil {
			return true
		}
	}
	return false
}

// failed is a walk that cannot go on.
func (c walk) failed(why string) source.Result {
	return source.Result{Verdict: source.Fail, Failure: failure(domain.FailureInvalid, "%s", why)}
}
