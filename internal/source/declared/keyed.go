package declared

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/tidwall/gjson"
	"golang.org/x/text/unicode/norm"

	"sluice/internal/domain"
	"sluice/internal/quota"
	"sluice/internal/quota/rate"
	"sluice/internal/source"
	"sluice/internal/source/trim"
)

// Keyed are the records of a file, asked for with one credential. Each of its calls
// asks for one record; what it needs of others, whoever calls has asked for before.
type Keyed struct {
	*Source
	credential string
	limits     rate.Limits
	trimmers   sync.Pool // of *trim.Trimmer
}

var (
	_ source.Records = (*Keyed)(nil)
	_ source.Chained = (*Keyed)(nil)
	_ source.Paced   = (*Keyed)(nil)
)

// How long a call for a record may take and how large its answer may be, where nothing
// was set.
const (
	recordTime = 10 * time.Second
	recordBody = 8 << 20
)

// NewKeyed opens the records of a file.
func NewKeyed(f *File, o Options, credential string) (*Keyed, error) {
	if !f.Keyed() {
		return nil, domain.Errorf(domain.CodeInvalid, "the source %s has streams and no records; collect it", f.Name)
	}
	if o.Timeout <= 0 {
		o.Timeout = recordTime
	}
	if o.MaxBody <= 0 {
		o.MaxBody = recordBody
	}
	if o.Transport == nil {
		o.Transport = recordTransport()
	}
	s, err := New(f, o)
	if err != nil {
		return nil, err
	}
	k := &Keyed{Source: s}
	k.trimmers.New = func() any { return &trim.Trimmer{} }
	if k.credential, err = s.CheckCredential(credential); err != nil {
		return nil, err
	}
	limits, _, wrong := keptRate(f.Rations)
	if wrong != "" {
		return nil, domain.Errorf(domain.CodeInvalid, "the rations of %s cannot be kept: %s", f.Name, wrong)
	}
	k.limits = limits
	return k, nil
}

// recordTransport speaks HTTP/1.1 alone, where it is certain whether a request was sent
// twice.
func recordTransport() http.RoundTripper {
	t, _ := http.DefaultTransport.(*http.Transport)
	t = t.Clone()
	t.Protocols = new(http.Protocols)
	t.Protocols.SetHTTP1(true)
	t.MaxIdleConns, t.MaxIdleConnsPerHost = 512, 512
	return t
}

// Limits implements source.Records.
func (k *Keyed) Limits() rate.Limits { return k.limits }

// mostKey is how long a key may be.
const mostKey = 500

// CheckKey implements source.Records: a key is RECORD:KEY; where there is one record
// alone its name may be left out.
func (k *Keyed) CheckKey(key string) (string, error) {
	r, rest, err := k.split(key)
	if err != nil {
		return "", err
	}
	return r.Name + ":" + rest, nil
}

func (k *Keyed) split(key string) (*Record, string, error) {
	name, rest, found := strings.Cut(key, ":")
	r := k.file.record(name)
	if only := k.file.Records; (!found || r == nil) && len(only) == 1 {
		r, rest = only[0], key
	}
	rest = norm.NFC.String(rest)
	switch {
	case r == nil:
		var all []string
		for _, one := range k.file.Records {
			all = append(all, one.Name)
		}
		return nil, "", domain.Errorf(domain.CodeInvalid, "%s: a key is RECORD:KEY, and its record is one of %s", k.file.Name, strings.Join(all, ", "))
	case rest == "" || len(rest) > mostKey || strings.TrimSpace(rest) != rest || strings.ContainsFunc(rest, isUnprintable):
		return nil, "", domain.Errorf(domain.CodeInvalid, "%s: what follows %s: is no key; give up to %d characters that can be printed, without spaces around them", k.file.Name, r.Name, mostKey)
	}
	return r, rest, nil
}

func isUnprintable(r rune) bool { return r == unicode.ReplacementChar || !unicode.IsPrint(r) }

func (f *File) record(name string) *Record {
	for _, r := range f.Records {
		if r.Name == name {
			return r
		}
	}
	return nil
}

// Pace implements source.Paced. What is fresh is not refreshed by tiers.
func (k *Keyed) Pace(key string) source.Pace {
	p := k.file.tiers
	if r, _, err := k.split(key); err == nil && r.fresh > 0 {
		p.FreshFor = r.fresh
		p.Hot, p.Warm, p.Cold = max(p.Hot, r.fresh), max(p.Warm, r.fresh), max(p.Cold, r.fresh)
	}
	return p
}

// freshByDefault is how old what others need may be of a record that says nothing.
const freshByDefault = time.Hour

// Needs implements source.Chained.
func (k *Keyed) Needs(key string) (all []source.Need) {
	r, rest, err := k.split(key)
	if err != nil {
		return nil
	}
	for _, need := range r.needs {
		one := source.Need{Key: need.of.Name + ":" + rest, Within: need.of.fresh}
		if one.Within <= 0 {
			one.Within = freshByDefault
		}
		if !slices.Contains(all, one) {
			all = append(all, one)
		}
	}
	return all
}

// Fetch implements source.Fetcher.
func (k *Keyed) Fetch(ctx context.Context, key string, sent func()) source.Fetched {
	return k.FetchKnowing(ctx, key, nil, sent)
}

// FetchKnowing implements source.Chained.
func (k *Keyed) FetchKnowing(ctx context.Context, key string, known map[string][]byte, sent func()) source.Fetched {
	c, err := k.newCall(key, known)
	if err != nil {
		return source.Fetched{Verdict: source.FetchDead, Code: "BADKEY", Error: err.Error(), Free: true}
	}
	if sent != nil {
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { sent() }})
	}
	f := c.fetchRecord(ctx)
	why := &domain.Failure{Message: f.Error}
	c.conceal(why)
	f.Error = why.Message
	return f
}

// recordCall is a call for a record.
type recordCall struct {
	*call
	k      *Keyed
	record *Record
}

func (k *Keyed) newCall(key string, known map[string][]byte) (recordCall, error) {
	r, rest, err := k.split(key)
	if err != nil {
		return recordCall{}, err
	}
	c := recordCall{&call{Call: source.Call{Token: k.credential}, s: k.Source, request: r.request, given: map[string]any{"key": rest}}, k, r}
	for _, need := range r.needs {
		value := textAt(gjson.ParseBytes(known[need.of.Name+":"+rest]), need.field)
		if value == "" {
			return c, fmt.Errorf("what is known of %s:%s has no %s", need.of.Name, rest, need.field)
		}
		c.given[need.field] = value
	}
	if c.base, err = k.base(""); err == nil {
		c.auth, err = k.authOf(k.credential)
	}
	return c, err
}

// fetchRecord makes the call, or, where that is needed first, the one that gives a token.
func (c recordCall) fetchRecord(ctx context.Context) source.Fetched {
	if instead := (signing{c.call}).admitted(ctx); instead != nil {
		return fetchedOf(instead)
	}
	req, err := c.httpRequest()
	if err != nil {
		return source.Fetched{Verdict: source.FetchDead, Code: "BADKEY", Error: err.Error(), Free: true}
	}
	a, none := c.s.fetch(ctx, req)
	if none != nil {
		return fetchedOf(none)
	}
	if c.token != nil && a.status != http.StatusUnauthorized {
		c.session.accept(c.token)
	}
	f := c.meaning(a)
	f.HTTPStatus, f.Received = a.status, len(a.body)
	if f.Code == "" && f.Verdict != source.FetchDone {
		f.Code = c.codeOf(a)
	}
	return f
}

// fetchedOf is the meaning of a call that brought no answer of its own.
func fetchedOf(r *source.Result) source.Fetched {
	f := source.Fetched{Verdict: source.FetchDead, Free: r.Free, Wait: r.RetryAfter, Error: "the call failed"}
	switch r.Verdict {
	case source.Wait:
		f.Verdict = source.FetchWait
		f.Everywhere = f.Wait > 0
	case source.Retry:
		f.Verdict = source.FetchRetry
	case source.PauseAccount:
		f.Everywhere = true
	case source.Done, source.Fail, source.FailRun:
	}
	if r.Failure != nil {
		f.Code, f.Error = strings.ToUpper(string(r.Failure.Kind)), r.Failure.Message
	}
	return f
}

// soon is how long an upstream is left alone that does not say for how long.
const soon = time.Second

// meaning is where every answer gets one: the file's rules first, then what parks, then
// what the status says.
func (c recordCall) meaning(a *answer) source.Fetched {
	said := fmt.Sprintf("%s answers %d%s", c.s.file.Title, a.status, c.said(a))
	f := source.Fetched{Verdict: source.FetchDead, Error: said}
	if r := c.rule(a); r != nil {
		return c.ruledRecord(r, a, f)
	}
	if wait, hit := c.s.file.Park.Hit(a.ration()); hit {
		return waiting(f, wait, true)
	}
	switch code := a.status; {
	case code == http.StatusOK:
		return c.keepOf(a)
	case code == http.StatusTooManyRequests:
		return waiting(f, 0, true)
	case code == http.StatusRequestTimeout, code >= 500:
		f.Verdict = source.FetchRetry
	case code == http.StatusUnauthorized:
		if c.token != nil && c.session.refuse(c.token) {
			return waiting(f, 0, false)
		}
		f.Everywhere = true
	case code >= 300 && code < 400:
		// It is not followed: a credential goes nowhere else. The next call may be answered.
		f.Verdict, f.Error = source.FetchRetry, said+", which is a redirect; if the API is elsewhere now, change base"
	}
	return f
}

func waiting(f source.Fetched, wait time.Duration, everywhere bool) source.Fetched {
	f.Verdict, f.Wait, f.Everywhere = source.FetchWait, min(max(wait, soon), quota.LongestPark), everywhere
	return f
}

func (c recordCall) ruledRecord(r *rule, a *answer, f source.Fetched) source.Fetched {
	if r.say != "" {
		f.Error = r.say
	}
	switch r.do {
	case "wait":
		told := c.s.file.Park
		told.On, told.Else = []int{a.status}, 0
		wait, _ := told.Hit(a.ration())
		if wait == 0 {
			wait = r.wait
		}
		return waiting(f, wait, r.what != "key")
	case "retry":
		f.Verdict = source.FetchRetry
	case "renew":
		f.Verdict, f.Renew = source.FetchRetry, len(c.record.needs) > 0
	case "pause":
		f.Everywhere = true
	}
	return f
}

var shownCodes = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,40}$`)

// codeOf is what failures are counted by: the upstream's own code, or the status.
func (c recordCall) codeOf(a *answer) string {
	if at := c.s.file.wrong; at != "" {
		if code := textAt(a.json, at); shownCodes.MatchString(code) && !strings.Contains(code, c.k.credential) {
			return code
		}
	}
	return "HTTP" + strconv.Itoa(a.status)
}

var errNotJSON = errors.New("what is not a JSON object")

// keepOf trims an answer to its value.
func (c recordCall) keepOf(a *answer) source.Fetched {
	f := source.Fetched{Verdict: source.FetchRetry, Code: "UNPARSABLE"}
	t := c.k.trimmers.Get().(*trim.Trimmer)
	defer c.k.trimmers.Put(t)
	text, ok := t.Trim(append(a.body, make([]byte, trim.Padding)...), c.record.fields)
	switch {
	case bytes.HasPrefix(a.body, []byte("<")):
		f.Error = c.s.file.Title + " answers with a page of HTML or XML where JSON was due"
	case !ok:
		f.Error = fmt.Sprintf("%s answers with %v", c.s.file.Title, errNotJSON)
	case string(text) == "{}":
		f.Verdict, f.Code, f.Error = source.FetchDead, "NODATA", "the answer has nothing of what is kept"
	default:
		body := bytes.Clone(text)
		if field := c.lacking(body); field != "" {
			f.Verdict, f.Code, f.Error = source.FetchDead, "NODATA", "the answer has no "+field+", which others need"
			return f
		}
		f = source.Fetched{Verdict: source.FetchDone, Body: body, Hash: sha256.Sum256(body)}
	}
	return f
}

// lacking is a field that other records need of this one and that it does not have, ""
// if there is none.
func (c recordCall) lacking(body []byte) string {
	v := gjson.ParseBytes(body)
	for _, other := range c.s.file.Records {
		for _, need := range other.needs {
			if need.of == c.record && textAt(v, need.field) == "" {
				return need.field
			}
		}
	}
	return ""
}
