package declared

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// pageSigns are what an answer tells of its pages.
type pageSigns struct {
	link                      bool
	next, token               string
	total, pages, more, array string
	totalHeader               string
}

var (
	totalNames = []string{"total", "totalcount", "totalresults", "totalitems", "totalrecords", "count"}
	pagesNames = []string{"totalpages", "pagecount", "lastpage"}
	moreNames  = []string{"hasmore", "hasnext", "hasnextpage"}
	nextNames  = []string{"next", "nexturl", "nextpageurl", "nextlink", "nextpage", "@odata.nextlink"}
	tokenNames = []string{"nextcursor", "nextpagetoken", "nexttoken", "after", "endcursor", "cursor", "nextpage", "next"}
)

func signs(a *answer) pageSigns {
	var s pageSigns
	for _, link := range a.header.Values("Link") {
		s.link = s.link || strings.Contains(strings.ReplaceAll(link, `"`, ""), "rel=next")
	}
	for _, name := range []string{"X-Total", "X-Total-Count", "Total-Count", "X-Pagination-Total-Count"} {
		if _, err := strconv.Atoi(a.header.Get(name)); err == nil && s.totalHeader == "" {
			s.totalHeader = name
		}
	}
	places(a.json, "", 0, func(path, name string, v gjson.Result) {
		set := func(to *string, names []string, fits bool) {
			if *to == "" && fits && slices.Contains(names, name) {
				*to = path
			}
		}
		number := v.Type == gjson.Number
		text := v.Type == gjson.String && v.String() != ""
		address := text && (strings.HasPrefix(v.String(), "http") || strings.HasPrefix(v.String(), "/"))
		set(&s.total, totalNames, number)
		set(&s.pages, pagesNames, number)
		set(&s.more, moreNames, v.IsBool())
		set(&s.next, nextNames, address)
		set(&s.token, tokenNames, text && !address)
		if s.array == "" && v.IsArray() && v.Get("0").IsObject() {
			s.array = path
		}
	})
	return s
}

// pages tells how pages follow each other, and proposes what the stream lacks of it.
func (l *probeLook) pages(stream *Stream, a *answer) []string {
	s := signs(a)
	p := stream.whole().page
	for _, one := range []struct{ what, at string }{
		{"the address of the next page is at", s.next}, {"a token of the next page may be at", s.token}, {"how many records there are may be at", s.total},
		{"how many pages there are is at", s.pages}, {"whether there are more is at", s.more}, {"how many records there are is in the header", s.totalHeader},
	} {
		if one.at != "" {
			l.say("%s: %s %s", stream.Name, one.what, one.at)
		}
	}
	if s.link {
		l.say("%s: the Link header names the next page", stream.Name)
	}
	var parts []string
	switch {
	case p.kind != pageNone:
		if p.counted() && !p.total.is() && !p.pages.is() {
			return l.counted(s)
		}
		return nil
	case s.link:
		parts = []string{"type: link"}
	case s.next != "":
		parts = []string{"type: cursor", "next: " + s.next}
	case s.token != "":
		parts = []string{"type: cursor", "param: PARAMETER", "next: " + s.token}
		l.say("%s: page.param must say which parameter the token goes into; the upstream's documentation tells it", stream.Name)
	case s.total != "" || s.pages != "" || s.totalHeader != "":
		parts = []string{"type: page", "param: PARAMETER", "size: {PARAMETER: 100}"}
		l.say("%s: pages seem to be counted; page.param must say by which parameter", stream.Name)
	default:
		l.say("%s: nothing tells of further pages", stream.Name)
		return nil
	}
	if parts[0] == "type: page" || parts[0] == "type: link" {
		parts = append(parts, total(s)...)
	}
	return []string{"page: {" + strings.Join(parts, ", ") + "}"}
}

func total(s pageSigns) []string {
	switch {
	case s.totalHeader != "":
		return []string{"total: {header: " + s.totalHeader + "}"}
	case s.total != "":
		return []string{"total: " + s.total}
	case s.pages != "":
		return []string{"pages: " + s.pages}
	}
	return nil
}

// counted proposes where the total is, for pages that are counted without one.
func (l *probeLook) counted(s pageSigns) []string {
	if found := total(s); len(found) > 0 {
		return []string{"page: {" + found[0] + "} # beside what stands there"}
	}
	return nil
}

// records looks at the first record: whether it is where the file says, and in which
// form it tells when it changed.
func (l *probeLook) records(stream *Stream, a *answer) []string {
	var lines []string
	var first gjson.Result
	var all []gjson.Result
	path := stream.whole().records
	every(a.json, path, func(v gjson.Result) {
		eachOf(v, func(one gjson.Result) {
			if one.IsObject() {
				all = append(all, one)
			}
		})
	})
	if len(all) > 0 {
		first = all[0]
	}
	if s := signs(a); s.array != "" && (!first.Exists() || path == "" && !a.json.IsArray()) {
		l.say("%s: a list of records is at %s", stream.Name, s.array)
		lines = append(lines, "records: "+s.array)
		if all = at(a.json, s.array).Array(); len(all) > 0 {
			first = all[0]
		}
	}
	if !first.Exists() {
		l.say("%s: there is no record to look at", stream.Name)
		return lines
	}
	if len(stream.key) == 1 && !strings.Contains(stream.key[0], ".") && !first.Get(gjson.Escape(stream.key[0])).Exists() {
		l.say("%s: a record has no %s, which the file takes for its key", stream.Name, stream.key[0])
	}
	best := ""
	places(first, "", 2, func(path, name string, v gjson.Result) {
		as := timeForm(v)
		if as == "" {
			return
		}
		l.say("%s: %s is a time, written as %s", stream.Name, path, as)
		if best == "" && (strings.Contains(name, "updat") || strings.Contains(name, "modif") || strings.Contains(name, "chang")) {
			best = path
		}
	})
	if best != "" && stream.version == "" {
		lines = append(lines, "version: "+best)
	}
	if len(stream.columns) == 0 {
		shaped := *stream
		shaped.version = cmp.Or(stream.version, best)
		columns := shaped.infer(all)
		l.say("%s: %d columns are proposed, of what %d records have; they stay as they are once they stand in the file", stream.Name, len(columns), min(len(all), mostLooked))
		lines = append(lines, columnLines(columns)...)
	}
	return lines
}

// timeForm is how a value writes an instant of our days, "" if it does not look like
// one.
func timeForm(v gjson.Result) string {
	t, ok := guess(textAt(v, ""))
	if !ok || t.Year() < 1995 || t.Year() > 2100 {
		return ""
	}
	switch {
	case v.Type == gjson.String && strings.Contains(v.String(), "-"):
		if len(v.String()) == len("2006-01-02") {
			return "date"
		}
		return "iso"
	case v.Type == gjson.Number && v.Num > 1e11:
		return "epoch_ms"
	case v.Type == gjson.Number:
		return "epoch"
	}
	return ""
}
