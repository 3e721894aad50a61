package declared

import (
	"bytes"
	"encoding/json"
	"hash/fnv"
	"net/url"
	"strconv"
	"strings"
	"time"

	"sluice/internal/domain"
)

// params is what a job carries beside its name.
type params struct {
	// Parents are the fields of the records that the job is about, by stream.
	Parents map[string]map[string]any `json:"parents,omitempty"`
	// Page counts from 0, and Pos says where it begins; "" is the first.
	Page int    `json:"page,omitempty"`
	Pos  string `json:"pos,omitempty"`
	// Since is what the walk asks for, in seconds; zero for a walk of everything.
	Since int64 `json:"since,omitempty"`
	// From and Until are the slice of time that the walk asks for, in seconds; Begin says
	// that its first page plans those that follow.
	From  int64 `json:"from,omitempty"`
	Until int64 `json:"until,omitempty"`
	Begin bool  `json:"begin,omitempty"`
	// At is the instant that the walk stands for, Start when it began, by the
	// upstream's clock.
	At    int64 `json:"at,omitempty"`
	Start int64 `json:"start,omitempty"`
	// Total is how many records the first page announced, -1 for none; Pages how
	// many pages that were.
	Total int `json:"total,omitempty"`
	Pages int `json:"pages,omitempty"`
	// Size is how many records a page has, where that is fewer than were asked for;
	// Empty counts the pages without any that came one after the other.
	Size  int `json:"size,omitempty"`
	Empty int `json:"empty,omitempty"`
	// Seen counts the records that the walk was shown. Low says that there were more than
	// the upstream told of, so that its total is not believed any more.
	Seen int  `json:"seen,omitempty"`
	Low  bool `json:"low,omitempty"`
	// Short says that the page before was not full, or the last one that was announced:
	// this one is asked for to be sure that nothing follows.
	Short bool `json:"short,omitempty"`
	// Apart says that all pages were planned at once: none follows from this one.
	Apart bool `json:"apart,omitempty"`
	// Full says that earlier pages of the walk were read, and not taken to be as they
	// were. Tag tells a walk that begins anew from the one before it.
	Full bool   `json:"full,omitempty"`
	Tag  string `json:"tag,omitempty"`
	// First is the name of the first record of the page before.
	First string `json:"first,omitempty"`
	// Mark is a page that was read before, by which it is noticed that a walk goes back.
	Mark uint64 `json:"mark,omitempty"`
	// Doubt says that pages may have shifted while they were walked: the walk proves
	// no absence.
	Doubt bool `json:"doubt,omitempty"`
	// Unmet are the parents that earlier walks had listed and this one has not met.
	Unmet []string `json:"unmet,omitempty"`
	// Base names the address that the run began at.
	Base string `json:"base,omitempty"`
	// Head is the first page, to be remembered once the walk has come to its end.
	Head *head `json:"head,omitempty"`
	// Unread tells of what the walk lacks; the job makes no call.
	Unread string `json:"unread,omitempty"`
	// Moved counts redirects.
	Moved int `json:"moved,omitempty"`
	// Looked says that the call was answered that what it is about is gone, and is made
	// once more to be sure.
	Looked bool `json:"looked,omitempty"`
}

// head is a first page that was read: what it was, and what follows it.
type head struct {
	Tag   string `json:"tag"`
	Next  string `json:"next,omitempty"`
	Items int    `json:"items,omitempty"`
}

func parseParams(raw []byte) (p params, err error) {
	if len(raw) == 0 {
		return p, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	// Ids may be larger than what a float holds.
	decoder.UseNumber()
	if err = decoder.Decode(&p); err != nil {
		return p, err
	}
	for _, fields := range p.Parents {
		for name, v := range fields {
			fields[name] = numbers(v)
		}
	}
	return p, nil
}

// numbers turns numbers into those that expressions know.
func numbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := strconv.Atoi(v.String()); err == nil {
			return n
		}
		f, _ := v.Float64()
		return f
	case map[string]any:
		for name, one := range v {
			v[name] = numbers(one)
		}
	case []any:
		for i, one := range v {
			v[i] = numbers(one)
		}
	}
	return v
}

// rootResource is what jobs that belong to no record are applied to.
const rootResource = "all"

func (s *Source) spec(typ, resource string, p params, class domain.Class) domain.JobSpec {
	// Only texts, numbers and what was read from JSON are encoded.
	raw, _ := json.Marshal(p)
	return domain.JobSpec{Type: typ, Resource: resource, PageKey: p.pageKey(), Bucket: s.file.bucket(), Class: class, Params: raw}
}

// pageKey tells the pages of a walk apart, and walks that begin anew.
func (p params) pageKey() string {
	key := p.Tag
	if p.Until != 0 {
		key = strings.TrimPrefix(key+".w"+strconv.FormatInt(p.From, 10), ".")
	}
	if p.Page > 0 {
		key = strings.TrimPrefix(key+"."+strconv.Itoa(p.Page), ".")
	}
	if p.Moved > 0 {
		key += "m" + strconv.Itoa(p.Moved)
	}
	if p.Looked {
		key = strings.TrimPrefix(key+".again", ".")
	}
	if p.Unread != "" {
		key = strings.TrimPrefix(key+".unread", ".")
	}
	return key
}

// The forms of a position: an address, a number, a token.
const (
	posURL    = "u:"
	posNumber = "n:"
	posToken  = "t:"
)

func storedKey(typ, resource string, page int) string {
	return typ + " " + resource + " " + strconv.Itoa(page)
}

func cursorKey(typ, resource string) string { return typ + " " + resource }

// recordPath names a record among all of the account, below what it belongs to.
func recordPath(resource, stream, name string) string {
	path := stream + ":" + url.PathEscape(name)
	if resource == rootResource {
		return path
	}
	return resource + "/" + path
}

// container is the id under which what belongs to a record, or to the account as a
// whole, is kept together. It fits into what every reader of JSON takes for a whole
// number.
func (s *Source) container(resource string) int64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(s.file.Name + "\x00" + resource))
	return int64(h.Sum64()&(1<<53-1)) | 1
}

// What a walk listed, and what was found gone, is remembered as cursors; of the two
// the later counts.
const (
	listedMark = "LISTED"
	goneMark   = "GONE"
)

func unix(seconds int64) time.Time { return time.Unix(seconds, 0).UTC() }
