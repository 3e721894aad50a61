package declared

import (
	"fmt"
	"hash/fnv"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"sluice/internal/domain"
	"sluice/internal/source"
)

var _ source.Bound = (*Source)(nil)

// others are sources of the same file with values of accounts' own, so that all accounts
// with the same values share tokens and connections. Its mutex is a leaf.
type others struct {
	mu  sync.Mutex
	all map[string]*Source
}

// mostOthers is how many are kept.
const mostOthers = 1000

// With returns options in which values are others: base, or those of the config.
func (o Options) With(set map[string]string) Options {
	o.Config = maps.Clone(o.Config)
	if o.Config == nil {
		o.Config = map[string]string{}
	}
	for name, value := range set {
		if name == "base" {
			o.Base = value
			continue
		}
		o.Config[name] = value
	}
	return o
}

// With implements source.Bound.
func (s *Source) With(set map[string]string) (source.Source, error) {
	one, err := s.with(set)
	if err != nil {
		return nil, err
	}
	return one, nil
}

func (s *Source) with(set map[string]string) (*Source, error) {
	if len(set) == 0 {
		return s, nil
	}
	var key strings.Builder
	for _, name := range slices.Sorted(maps.Keys(set)) {
		fmt.Fprintf(&key, "%q=%q ", name, set[name])
	}
	s.others.mu.Lock()
	defer s.others.mu.Unlock()
	if known := s.others.all[key.String()]; known != nil {
		return known, nil
	}
	one, err := New(s.file, s.opt.With(set))
	if err != nil {
		return nil, err
	}
	if s.others.all == nil || len(s.others.all) >= mostOthers {
		s.others.all = map[string]*Source{}
	}
	s.others.all[key.String()] = one
	return one, nil
}

// Destination implements source.Bound: the hosts of calls, and of those for tokens where
// that is another one.
func (s *Source) Destination(login, credential string) (string, error) {
	auth, err := s.authOf(credential)
	if err != nil {
		return "", domain.Errorf(domain.CodeInvalid, "%v", err)
	}
	if auth.none() {
		return "", nil
	}
	base, err := s.base(login)
	if err != nil {
		return "", err
	}
	to := origin(base)
	if auth.login == nil {
		return to, nil
	}
	c := &call{s: s, base: base, auth: auth}
	c.Run.Login = login
	named, err := auth.login.url.address(map[string]any{"config": s.config, "target": login})
	if err != nil {
		return "", domain.Errorf(domain.CodeInvalid, "%v", err)
	}
	at, err := (signing{c}).loginAddress(named)
	if err != nil {
		return "", domain.Errorf(domain.CodeInvalid, "%v", err)
	}
	if token := origin(at); token != to {
		to += " and " + token
	}
	return to, nil
}

func origin(u *url.URL) string { return strings.ToLower(u.Scheme + "://" + u.Host) }

// What was collected from one address, or with one question, says nothing of another one: how far it was
// collected, which pages there were, who is gone. Of an account's cursors one tells since
// when it is collected from the address of now; those of an earlier address are not seen,
// and walks begin anew. Cursors of the first address have no mark.

const (
	addressMark = "ADDRESS"
	// sinceEver stands for the first address.
	sinceEver = 1
)

// askedTag names what is asked, and where: the address, and values of config that streams
// speak of, as far as they are not the file's own. Another value is another question: how
// far one was collected says nothing of another.
func (s *Source) askedTag(base *url.URL) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(base.String()))
	for _, name := range s.file.questions() {
		if value := s.config[name]; value != s.file.Config[name] {
			_, _ = fmt.Fprintf(h, "\x00%q=%q", name, fmt.Sprint(value))
		}
	}
	return strconv.FormatUint(h.Sum64(), 36)
}

// questions are the names of config that decide what streams bring.
func (f *File) questions() []string {
	read := map[string][]string{}
	for _, s := range f.Streams {
		for _, r := range s.requests() {
			r.reads(read)
		}
		s.cursor.begins.reads(read)
		if s.where != nil {
			addReads(read, s.where.reads)
		}
	}
	names := read["config"]
	if slices.Contains(names, "") { // of all of it
		names = slices.Collect(maps.Keys(f.Config))
	}
	slices.Sort(names)
	return names
}

// addressing is a call whose address may be another one than before.
type addressing struct{ *call }

// relocated says that the job is of a run that began at another address.
func (c addressing) relocated() *source.Result {
	tag := c.s.askedTag(c.base)
	if c.p.Base == "" || c.p.Base == tag {
		c.p.Base = tag
		return nil
	}
	return &source.Result{Verdict: source.FailRun, Free: true, Failure: failure(domain.FailureInvalid,
		"%s is at another address than when this run began, or its config asks for something else: the next run collects everything from %s", c.s.file.Title, origin(c.base))}
}

// settle finds out which of the cursors and pages count, and whether the address is new.
func (c addressing) settle() {
	latest, mine := c.Cursors[addressMark], c.Cursors[addressMark+" "+c.p.Base]
	switch {
	case latest.IsZero():
		c.arrived = unix(sinceEver)
		return
	case !mine.Equal(latest):
		c.arrived = c.Run.Anchor.UTC().Truncate(time.Microsecond)
		c.mark = markOf(c.arrived)
	case !latest.Equal(unix(sinceEver)):
		c.mark = markOf(latest)
	}
	if c.mark == "" {
		return
	}
	seen := map[string]time.Time{}
	for key, at := range c.Cursors {
		if rest, ok := strings.CutPrefix(key, c.mark); ok {
			seen[rest] = at
		}
	}
	c.Cursors = seen
	if c.Stored != nil {
		page := *c.Stored
		if tag, ok := strings.CutPrefix(page.ETag, c.mark); ok {
			page.ETag = tag
			c.Stored = &page
		} else {
			c.Stored = nil
		}
	}
}

func markOf(since time.Time) string { return "@" + strconv.FormatInt(since.UnixMicro(), 36) + " " }

// arrive notes, with the first answer of a run, that it comes from a new address.
func (c addressing) arrive(res *source.Result) {
	if c.arrived.IsZero() || res.Verdict != source.Done || c.Job.Resource != rootResource || !c.first() {
		return
	}
	for _, key := range []string{addressMark, addressMark + " " + c.p.Base} {
		res.Cursors = append(res.Cursors, domain.Cursor{AccountID: c.Run.AccountID, Resource: key, At: c.arrived})
	}
}
