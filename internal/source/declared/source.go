package declared

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"sluice/internal/domain"
	"sluice/internal/quota"
	"sluice/internal/source"
)

// Options are what a source needs beside its file. The zero of each is its default.
type Options struct {
	// Config replaces values of the file's config, and Base what addresses begin with.
	Config map[string]string
	Base   string
	// Transport carries calls; one of the standard library's if nil.
	Transport http.RoundTripper
	Now       func() time.Time
	// Timeout is how long one call may take, MaxBody how long an answer may be, and
	// MaxPayload how long what is stored of one record.
	Timeout    time.Duration
	MaxBody    int64
	MaxPayload int
	UserAgent  string
}

func (o Options) withDefaults() Options {
	if o.Transport == nil {
		t, _ := http.DefaultTransport.(*http.Transport)
		t = t.Clone()
		t.MaxIdleConnsPerHost = 64
		o.Transport = t
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Timeout <= 0 {
		o.Timeout = time.Minute
	}
	if o.MaxBody <= 0 {
		o.MaxBody = 64 << 20
	}
	if o.MaxPayload <= 0 {
		o.MaxPayload = 1 << 20
	}
	if o.UserAgent == "" {
		o.UserAgent = "sluice"
	}
	return o
}

// Source is a declared source that can be collected.
type Source struct {
	file *File
	opt  Options
	// config is what expressions see of the file's values.
	config map[string]any
	jobs   map[string]operation
	// drawing is what calls draw on, sessions the tokens that the upstream gave.
	drawing  *drawing
	sessions sessions
	// starts are where first walks begin, by stream, as far as that is set.
	starts map[*Stream]time.Time
	others others
}

var (
	_ source.Source            = (*Source)(nil)
	_ source.Conditional       = (*Source)(nil)
	_ source.CredentialChecker = (*Source)(nil)
)

// operation is what a type of job is about.
type operation struct {
	stream *Stream
	mode   mode
}

// mode is which walk of a stream a job belongs to.
type mode uint8

const (
	// modeMain is the first collection, or what changed since it.
	modeMain mode = iota
	// modeAll is what changed in the records of all parents at once.
	modeAll
	modeSweep
	// modeCount is the call that tells how many records there are.
	modeCount
	modeOwner
)

// New opens a source.
func New(f *File, o Options) (*Source, error) {
	s := &Source{file: f, opt: o.withDefaults(), config: map[string]any{}, jobs: map[string]operation{}, starts: map[*Stream]time.Time{}}
	for name, value := range f.Config {
		s.config[name] = value
	}
	for name, value := range o.Config {
		if _, known := f.Config[name]; !known {
			return nil, domain.Errorf(domain.CodeInvalid, "the source %s has no value %q to set; %s", f.Name, name, meant(name, fixedNames(s.config).names()))
		}
		s.config[name] = value
	}
	if _, err := s.base("x"); err != nil {
		return nil, err
	}
	for _, stream := range f.Streams {
		s.jobs[jobType(stream, modeMain)] = operation{stream, modeMain}
		s.jobs[jobType(stream, modeAll)] = operation{stream, modeAll}
		s.jobs[jobType(stream, modeSweep)] = operation{stream, modeSweep}
		s.jobs[jobType(stream, modeCount)] = operation{stream, modeCount}
	}
	if f.owner != nil {
		s.jobs[ownerJob] = operation{nil, modeOwner}
	}
	s.begin()
	s.drawing = newDrawing(f, s.jobs)
	return s, nil
}

const ownerJob = "CREDENTIAL.OWNER"

func jobType(s *Stream, m mode) string {
	name := strings.ToUpper(s.Name)
	switch m {
	case modeAll:
		return name + ".CHANGES"
	case modeSweep:
		return name + ".SWEEP"
	case modeCount:
		return name + ".COUNT"
	default:
		return name
	}
}

// base is what addresses begin with, for a target.
func (s *Source) base(target string) (*url.URL, error) {
	text, err := s.opt.Base, error(nil)
	if text == "" {
		text, err = s.file.base.render(map[string]any{"config": s.config, "target": url.PathEscape(target)})
	}
	if err != nil {
		return nil, domain.Errorf(domain.CodeInvalid, "the base of %s: %v", s.file.Name, err)
	}
	text = strings.TrimRight(text, "/")
	u, err := url.Parse(text)
	if wrong := baseWrong(text); err != nil || u.Host == "" || wrong != "" {
		return nil, domain.Errorf(domain.CodeInvalid, "the base of %s is not an address such as https://api.example.org/v2: %s", s.file.Name, cmp.Or(wrong, "it has no host"))
	}
	return u, nil
}

// BaseText is what addresses begin with, as it is written.
func (s *Source) BaseText() string {
	if s.opt.Base != "" {
		return s.opt.Base
	}
	return s.file.base.text
}

// Name implements source.Source.
func (s *Source) Name() string { return s.file.Name }

// Describe implements source.Source.
func (s *Source) Describe() source.Description { return s.file.Describe() }

// CheckLogin implements source.Source. What a target may be is the upstream's
// business, but nobody's name has spaces, or leads out of a path.
func (s *Source) CheckLogin(login string) error {
	wrong := ""
	switch {
	case login == "":
		wrong = "it is empty"
	case len(login) > 200:
		wrong = "it is longer than 200 characters"
	case strings.ContainsFunc(login, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '\\' }):
		wrong = "it has spaces or characters that cannot be printed"
	case domain.Unseen(login):
		wrong = "nothing of it can be seen"
	case strings.HasPrefix(login, "/") || strings.HasSuffix(login, "/") || strings.Contains("/"+login+"/", "/../") || strings.Contains("/"+login+"/", "/./"):
		wrong = "it leads out of a path"
	}
	if wrong != "" {
		return domain.Errorf(domain.CodeInvalid, "that is not a %s of %s: %s", s.file.Target, s.file.Title, wrong)
	}
	return nil
}

// Public is what stands in the place of a credential where the upstream wants none.
const Public = "public"

// CheckCredential implements source.CredentialChecker.
func (s *Source) CheckCredential(credential string) (string, error) {
	credential = strings.TrimSpace(credential)
	auth, err := s.authOf(credential)
	switch {
	case err != nil:
		return "", domain.Errorf(domain.CodeInvalid, "%v", err)
	case auth.none():
		return Public, nil
	case credential == "" || strings.ContainsFunc(credential, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return "", domain.Errorf(domain.CodeInvalid, "the credential for %s has characters that no header can hold", s.file.Title)
	case strings.Count(credential, ":")+1 < auth.wants():
		return "", domain.Errorf(domain.CodeInvalid, "the credential for %s must be %s", s.file.Title, auth.written())
	}
	return credential, nil
}

// NeedsCredential says whether the upstream wants one.
func (f *File) NeedsCredential() bool {
	return slices.ContainsFunc(f.auths, func(a auth) bool { return !a.none() })
}

// Ask implements source.Source.
func (s *Source) Ask(job domain.JobSpec, owner string) (quota.Ask, error) {
	op, ok := s.jobs[job.Type]
	if !ok {
		return quota.Ask{}, domain.Errorf(domain.CodeInvalid, "%s has no job %q", s.file.Name, job.Type)
	}
	return quota.Ask{Owner: owner, Bucket: s.file.bucket(), Endpoint: s.file.Name, Cost: 1, Points: 1, Drawn: s.drawing.of(job.Type, op)}, nil
}

// StoredKey implements source.Conditional.
func (s *Source) StoredKey(job domain.JobSpec) string {
	op, ok := s.jobs[job.Type]
	if !ok || op.stream == nil || !op.stream.etag || op.mode != modeMain {
		return ""
	}
	p, err := parseParams(job.Params)
	if err != nil || p.Full || p.Tag != "" {
		return ""
	}
	return storedKey(job.Type, job.Resource, p.Page)
}

// Plan implements source.Source. If the file says how to find out whose credential
// it is, that goes first: everything after it is counted with the right owner.
func (s *Source) Plan(run domain.Run) ([]domain.JobSpec, error) {
	if err := s.CheckLogin(run.Login); err != nil {
		return nil, err
	}
	base, err := s.base(run.Login)
	if err != nil {
		return nil, err
	}
	first := params{Base: s.askedTag(base)}
	if err := s.unbegun(); err != nil {
		return nil, err
	}
	if s.file.owner != nil {
		return []domain.JobSpec{s.spec(ownerJob, rootResource, first, domain.ClassDiscovery)}, nil
	}
	return s.roots(first), nil
}

// roots are the first jobs of a run.
func (s *Source) roots(first params) []domain.JobSpec {
	var all []domain.JobSpec
	for _, stream := range s.file.Streams {
		if stream.Parent != nil {
			continue
		}
		mode := modeMain
		if stream.counts() {
			mode = modeCount
		}
		all = append(all, s.spec(jobType(stream, mode), rootResource, first, domain.ClassDiscovery))
	}
	return all
}

// Call implements source.Source.
func (s *Source) Call(ctx context.Context, in source.Call) source.Result {
	op, ok := s.jobs[in.Job.Type]
	if !ok {
		return refuse("%s has no job %q", s.file.Name, in.Job.Type)
	}
	p, err := parseParams(in.Job.Params)
	if err != nil {
		return refuse("the job's parameters cannot be read: %s", err)
	}
	c := &call{Call: in, s: s, operation: op, p: p}
	res := c.carryOut(ctx)
	c.conceal(res.Failure)
	return res
}

func (c *call) carryOut(ctx context.Context) source.Result {
	if c.p.Unread != "" {
		return source.Result{Verdict: source.Fail, Free: true, Failure: failure(domain.FailureMalformed, "%s", c.p.Unread)}
	}
	var err error
	if c.base, err = c.s.base(c.Run.Login); err != nil {
		return refuse("%s", err)
	}
	if elsewhere := (addressing{c}).relocated(); elsewhere != nil {
		return *elsewhere
	}
	addressing{c}.settle()
	if err := c.begin(); err != nil {
		return refuse("%s", err)
	}
	if c.mode == modeCount && (counting{c}).known() {
		res := counting{c}.counted(nil)
		res.Free = true
		return res
	}
	if instead := (signing{c}).admitted(ctx); instead != nil {
		return *instead
	}
	req, err := c.httpRequest()
	if err != nil {
		return refuse("%s", err)
	}
	a, none := c.s.fetch(ctx, req)
	if none != nil {
		return counting{c}.countFailed(*none)
	}
	if c.token != nil && a.status != http.StatusUnauthorized {
		c.session.accept(c.token)
	}
	if c.stream != nil && c.stream.xml && a.status == http.StatusOK && c.mode != modeCount {
		a.readXML()
	}
	walk{c}.answered(a)
	res := counting{c}.countFailed(c.understand(a))
	res.Quota = c.s.rateOf(a, res.Quota)
	res.Quota.Told = c.told(a)
	addressing{c}.arrive(&res)
	return res
}

// refuse is a job that cannot be carried out; no call was made.
func refuse(format string, args ...any) source.Result {
	return source.Result{Verdict: source.Fail, Free: true, Failure: failure(domain.FailureInvalid, format, args...)}
}
