package github

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/quota"
	"sluice/internal/source"
)

var (
	_ source.Source = (*Source)(nil)
	_ source.Sharer = (*Source)(nil)
)

// CheckLogin refuses what GitHub would not accept as a login: up to 39 letters,
// digits and single inner hyphens; accounts that an enterprise manages end in
// an underscore and a short code. A repository is owner/name.
func (s *Source) CheckLogin(login string) error {
	owner, name := splitTarget(login)
	if err := checkLogin(owner); err != "" {
		return domain.Errorf(domain.CodeInvalid, "that is not a GitHub login: %s", err)
	}
	if !isRepository(login) {
		return nil
	}
	if err := checkRepositoryName(name); err != "" {
		return domain.Errorf(domain.CodeInvalid, "that is not a GitHub repository: %s", err)
	}
	return nil
}

func checkLogin(login string) string {
	name, code, managed := strings.Cut(login, "_")
	switch {
	case login == "":
		return "it is empty"
	case len(login) > 39:
		return "it is longer than 39 characters"
	case managed && (code == "" || !all(code, alphanumeric)):
		return "an underscore may only stand before an enterprise's short code at the end"
	case !all(name, func(b byte) bool { return alphanumeric(b) || b == '-' }):
		return "only letters, digits and hyphens are allowed"
	case name == "" || name[0] == '-' || name[len(name)-1] == '-' || strings.Contains(name, "--"):
		return "a hyphen may only stand alone between letters and digits"
	}
	return ""
}

func alphanumeric(b byte) bool {
	return b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
}

func all(s string, ok func(byte) bool) bool {
	for i := range len(s) {
		if !ok(s[i]) {
			return false
		}
	}
	return true
}

// Plan implements source.Source. The first page of the walk by push time also
// tells whose token it is, so that everything after it is counted with the
// right owner: the other roots follow it.
func (s *Source) Plan(run domain.Run) ([]domain.JobSpec, error) {
	if err := s.CheckLogin(run.Login); err != nil {
		return nil, err
	}
	first, bucket := DiscoverReposPushed, BucketGraphQL
	if isRepository(run.Login) {
		first = DiscoverTarget
	}
	if s.opt.NoGraphQL {
		bucket = BucketCore
	}
	roots := []domain.JobSpec{params{}.spec(first, userResource(run.Login), "", bucket)}
	if s.opt.NoGraphQL && first != DiscoverTarget {
		roots = s.restRoots(run)
	}
	for i := range roots {
		roots[i].Class = domain.ClassDiscovery
	}
	return roots, nil
}

// otherRoots are the first jobs of a run beside the walk by push time; org is the
// id of an organisation, zero for a user, and viewer that of the token's user.
func (s *Source) otherRoots(run domain.Run, org, viewer int64) []domain.JobSpec {
	user := userResource(run.Login)
	specs := []domain.JobSpec{
		params{}.spec(UserProfile, user, "", BucketCore), params{}.spec(DiscoverReposUpdated, user, "", BucketGraphQL),
	}
	if org != 0 {
		return append(specs, organizationJobs(run, org, viewer)...)
	}
	if s.opt.Contributed {
		specs = append(specs, params{}.spec(DiscoverContributed, user, "", BucketGraphQL))
	}
	return append(specs, params{}.spec(UserEvents, user, "", BucketCore))
}

// restRoots are the first jobs of a run that goes by REST alone.
func (s *Source) restRoots(run domain.Run) []domain.JobSpec {
	user := userResource(run.Login)
	return []domain.JobSpec{
		params{}.spec(UserProfile, user, "", BucketCore), params{}.spec(DiscoverReposUpdated, user, "", BucketCore),
		params{}.spec(UserEvents, user, "", BucketCore),
	}
}

// operation is how one type of job is carried out.
type operation struct {
	// endpoint is the route that shares a points-per-minute limit.
	endpoint string
	cost     int
	request  func(*Source, *call) request
	// read understands a 200; on304 what stands for it when nothing changed,
	// nil where GitHub is never asked conditionally.
	read  func(*Source, *call, *answer) source.Result
	on304 func(*Source, *call) source.Result
	// list says that a 200 is one list, which read checks while it walks it.
	list bool
	// otherwise is what is left to do when the last try failed because it was
	// too much for GitHub; nil where that is nothing.
	otherwise func(*Source, *call) source.Result
}

// operationFor returns how a job is carried out; ok is false for a type that
// the source does not have.
func operationFor(job domain.JobSpec) (op operation, ok bool) {
	if job.Bucket == BucketGraphQL {
		return graphqlOperation(job.Type)
	}
	switch job.Type {
	case UserProfile:
		op = operation{endpoint: "GET /users/{login}", request: profileRequest, read: readProfile, on304: sameProfile}
	case UserEvents:
		op = operation{endpoint: "GET /users/{login}/events", request: eventsRequest, read: readEvents, on304: sameEvents, list: true}
	case DiscoverReposUpdated:
		op = operation{endpoint: "GET /users/{login}/repos", request: reposRequest, read: readRepos, on304: sameList, list: true}
	case DiscoverTarget:
		op = operation{endpoint: "GET /repos/{owner}/{name}", request: targetRequest, read: readTargetREST}
	case StoreEvent, CopyRepo:
		op = operation{endpoint: "none"}
	case CheckRepo:
		op = operation{endpoint: "GET /repositories/{id}", request: checkRequest, read: readCheck}
	case RepoCommits, SweepCommits:
		op = operation{endpoint: "GET /repositories/{id}/commits", request: commitsRequest, read: readCommits, list: true}
	case CommitDetail:
		op = operation{endpoint: "GET /repositories/{id}/commits/{sha}", request: commitRequest, read: readCommit}
	case RepoIssues, SweepIssues:
		op = operation{endpoint: "GET /repositories/{id}/issues", request: issuesRequest, read: readIssues, on304: sameIssues, list: true}
	case RepoPulls, SweepPulls:
		op = operation{endpoint: "GET /repositories/{id}/pulls", request: pullsRequest, read: readPulls, on304: sameList, list: true}
	default:
		w, ok := walkFor(job.Type)
		if !ok || w.declared().bucket != BucketCore {
			return op, false
		}
		op = w.operation()
	}
	op.cost = 1
	return op, true
}

func graphqlOperation(typ string) (op operation, ok bool) {
	op = operation{endpoint: "graphql", cost: 1}
	switch typ {
	case DiscoverReposPushed:
		op.request, op.read = discoverRequest, graph("user", readDiscovery)
	case DiscoverReposUpdated, DiscoverContributed:
		// One request for the walk and two for each of its 100 repositories.
		op.request, op.read, op.cost = discoverRequest, graph("user", readDiscovery), 2
	case DiscoverTarget:
		op.request, op.read = targetRequest, graph("repository", readTarget)
	case DiscoverRepo:
		op.request, op.read = repositoryRequest, graph("node", readOneRepository)
	case CommitStats:
		op.request, op.read, op.otherwise = historyRequest, graph("node", readHistory), historyByREST
	case RepoPulls:
		op.request, op.read, op.otherwise = pullNodesRequest, readPullNodes, splitPack
	case SweepPulls:
		op.request, op.read = pullNodesRequest, readPullNodes
	default:
		w, ok := walkFor(typ)
		if !ok || w.declared().bucket != BucketGraphQL {
			return op, false
		}
		op = w.operation()
		op.endpoint, op.cost = "graphql", 1
	}
	return op, true
}

// Ask implements source.Source.
func (s *Source) Ask(job domain.JobSpec, owner string) (quota.Ask, error) {
	op, ok := operationFor(job)
	if !ok {
		return quota.Ask{}, domain.Errorf(domain.CodeInvalid, "github has no job %q in bucket %q", job.Type, job.Bucket)
	}
	cost := op.cost
	switch {
	case job.Bucket != BucketGraphQL:
	case job.Type == DiscoverReposUpdated || job.Type == DiscoverContributed:
		cost += s.told
	case job.Type == RepoPulls || job.Type == SweepPulls:
		cost += s.pullPoints
	}
	return quota.Ask{Owner: owner, Bucket: job.Bucket, Endpoint: op.endpoint, Cost: cost, Points: 1}, nil
}

// call is one Call being carried out.
type call struct {
	source.Call
	p   params
	opt *Options
	// target is the REST address that was asked.
	target string
	// heavy is set when the call failed because it asked for too much, as far
	// as GitHub lets that be told.
	heavy bool
	// access is what the call authorised itself with.
	access access
	// lead says who leads repositories; nil if accounts share nothing.
	lead func(resources []string, over domain.Leader) ([]domain.Leader, error)
	// measured says that a commit is stored with its statistics; nil if nobody knows.
	measured func(key document.Key) bool
}

func (s *Source) newCall(in source.Call, p params) *call {
	c := &call{Call: in, p: p, opt: &s.opt}
	if adopted := c.adopt(); adopted || s.opt.question(in.Job.Type, in.Job.Bucket) != "" {
		c.Since = c.Cursors[s.opt.cursorKey(in.Job.Type, in.Job.Bucket, in.Job.Resource)]
	}
	if w, ok := walkFor(in.Job.Type); ok && w.declared().mayHide && toldRefused(c.Since) {
		c.Since = time.Time{} // nothing was seen then: the walk begins at the beginning
	}
	return c
}

// Call implements source.Source.
func (s *Source) Call(ctx context.Context, in source.Call) source.Result {
	res := s.carryOut(ctx, in)
	hide(res.Failure, in.Token)
	return res
}

const hiddenToken = "[token]"

// hide takes a secret out of what is shown to people.
func hide(f *domain.Failure, secret string) {
	if f != nil && secret != "" {
		f.Message = strings.ReplaceAll(f.Message, secret, hiddenToken)
	}
}

func (s *Source) carryOut(ctx context.Context, in source.Call) source.Result {
	op, ok := operationFor(in.Job.JobSpec)
	if !ok {
		return source.Result{Verdict: source.Fail, Free: true, Failure: failure(domain.FailureInvalid, "github has no job %q in bucket %q", in.Job.Type, in.Job.Bucket)}
	}
	p, err := parseParams(in.Job.Params)
	if err != nil {
		return source.Result{Verdict: source.Fail, Free: true, Failure: failure(domain.FailureInvalid, "the job's parameters cannot be read: %s", err)}
	}
	c := s.newCall(in, p)
	if c.p.Repo == nil && strings.HasPrefix(in.Job.Resource, "repo:") {
		return source.Result{Verdict: source.Fail, Free: true, Failure: failure(domain.FailureInvalid, "the job does not name its repository")}
	}
	if res, ok := c.early(); ok {
		return res
	}
	c.lend(ctx)
	switch in.Job.Type {
	case StoreEvent:
		return c.storeEvent(s)
	case CopyRepo:
		return copyRepository(ctx, s, c)
	}
	var none *source.Result
	if c.access, none = s.authorise(ctx, in.Token); none != nil {
		return *none
	}
	req := op.request(s, c)
	c.target = req.target
	a, none := s.fetch(ctx, c.access.token, req)
	if none != nil {
		c.heavy = none.Failure.Kind == domain.FailureTimeout
		return s.giveWay(c, op, *none)
	}
	c.access.answered(s, a)
	c.settleAnchor(a)
	res := s.giveWay(c, op, s.understand(c, op, a))
	hide(res.Failure, c.access.token)
	res.Quota = mergeRate(rateOf(a, in.Job.Bucket), res.Quota)
	for i := range res.Documents {
		res.Documents[i].SeenAt = s.opt.askedAt(a)
	}
	return res
}

// giveWay goes another way when the last try of a job was too much for GitHub.
func (s *Source) giveWay(c *call, op operation, res source.Result) source.Result {
	if res.Verdict != source.Retry || !c.heavy || c.Job.Failures < lastTry || op.otherwise == nil {
		return res
	}
	other := op.otherwise(s, c)
	if other.Verdict != source.Done {
		return res
	}
	other.Quota, other.Free = res.Quota, res.Free
	return other
}

// settleAnchor fixes, with a walk's first page, the instant the walk stands
// for: the run's anchor, or GitHub's clock where the local one is ahead of it.
func (c *call) settleAnchor(a *answer) {
	// A walk that an earlier version began does not know when that was, and claims
	// no absence.
	if c.p.Start == 0 && c.p.page() == 1 {
		c.p.Start = seconds(c.opt.askedAt(a))
	}
	if c.p.At != 0 {
		return
	}
	at := c.anchor()
	if !a.date.IsZero() && a.date.Before(at) {
		at = a.date
	}
	c.p.At = seconds(at)
}

// anchor is up to when a walk collects: the run's anchor, or when an event happened
// that came later.
func (c *call) anchor() time.Time { return latest(c.Run.Anchor, unix(c.p.HeardOf)) }

// mergeRate adds to what the headers say what the meaning of the answer says.
func mergeRate(headers, meaning quota.Response) quota.Response {
	if meaning.Known {
		meaning.Date = headers.Date
		headers = meaning
	}
	headers.Cost = meaning.Cost
	headers.Exhausted = meaning.Exhausted
	headers.RetryAfter = meaning.RetryAfter
	headers.Backoff = meaning.Backoff
	return headers
}

func encode(v any) []byte {
	// Only maps of strings, numbers and lists of strings are encoded.
	raw, _ := json.Marshal(v)
	return raw
}

// dateTolerance is how far an answer's date may be from the local clock: one
// answer that lies must not put off for hours what is compared by time, such as
// whether something was seen before or after it was said to be gone.
const dateTolerance = 5 * time.Minute

// serverTime is GitHub's clock as of an answer, as far as it can be believed.
func (g *upstream) serverTime(a *answer) time.Time { return g.opt.serverTime(a) }

func (o *Options) serverTime(a *answer) time.Time {
	if !o.believes(a) {
		// A date has whole seconds: what follows within this one must not seem to
		// come before it.
		return a.asked.Add(a.took).UTC().Truncate(time.Second)
	}
	return a.date.UTC()
}

func (o *Options) believes(a *answer) bool {
	return !a.date.IsZero() && a.date.Sub(o.Now()).Abs() <= dateTolerance
}

// askedAt is GitHub's clock when an answer was asked for: what it shows was there
// then or later. What was gone by the time of the answer may be shown in it still,
// so a sighting is never dated later than that; an absence is dated by serverTime.
func (o *Options) askedAt(a *answer) time.Time {
	return o.serverTime(a).Add(-a.took).Truncate(time.Second)
}

func shorten(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}
