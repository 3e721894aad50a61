package github

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"sluice/internal/domain"
	"sluice/internal/quota"
	"sluice/internal/source"
)

var _ source.Source = (*Source)(nil)

// Name implements source.Source.
func (s *Source) Name() string { return "github" }

// CheckLogin refuses what GitHub would not accept as a login: up to 39 letters,
// digits and single inner hyphens; accounts that an enterprise manages end in
// an underscore and a short code.
func (s *Source) CheckLogin(login string) error {
	if err := checkLogin(login); err != "" {
		return domain.Errorf(domain.CodeInvalid, "%q is no GitHub login: %s", shorten(login, 60), err)
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
	roots := []domain.JobSpec{params{}.spec(DiscoverReposPushed, userResource(run.Login), "", BucketGraphQL)}
	if s.opt.NoGraphQL {
		roots = s.otherRoots(run)
	}
	for i := range roots {
		roots[i].Class = domain.ClassDiscovery
	}
	return roots, nil
}

// otherRoots are the first jobs of a run beside the walk by push time.
func (s *Source) otherRoots(run domain.Run) []domain.JobSpec {
	user := userResource(run.Login)
	specs := []domain.JobSpec{params{}.spec(UserProfile, user, "", BucketCore)}
	if s.opt.NoGraphQL {
		specs = append(specs, params{}.spec(DiscoverReposUpdated, user, "", BucketCore))
	} else {
		specs = append(specs, params{}.spec(DiscoverReposUpdated, user, "", BucketGraphQL))
		if s.opt.Contributed {
			specs = append(specs, params{}.spec(DiscoverContributed, user, "", BucketGraphQL))
		}
	}
	return append(specs, params{}.spec(UserEvents, user, "", BucketCore))
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
		op = operation{endpoint: "GET /users/{login}/repos", request: reposRequest, read: readRepos, list: true}
	case RepoCommits:
		op = operation{endpoint: "GET /repositories/{id}/commits", request: commitsRequest, read: readCommits, list: true}
	case CommitDetail:
		op = operation{endpoint: "GET /repositories/{id}/commits/{sha}", request: commitRequest, read: readCommit}
	case RepoIssues:
		op = operation{endpoint: "GET /repositories/{id}/issues", request: issuesRequest, read: readIssues, on304: sameList, list: true}
	case RepoPulls:
		op = operation{endpoint: "GET /repositories/{id}/pulls", request: pullsRequest, read: readPulls, on304: sameList, list: true}
	default:
		return op, false
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
	case CommitStats:
		op.request, op.read = historyRequest, graph("node", readHistory)
	case RepoPulls:
		op.request, op.read = pullNodesRequest, readPullNodes
	case SweepIssues, SweepPulls:
		op.request, op.read = sweepRequest, graph("node", readSweep)
	default:
		return op, false
	}
	return op, true
}

// Ask implements source.Source.
func (s *Source) Ask(job domain.JobSpec, owner string) (quota.Ask, error) {
	op, ok := operationFor(job)
	if !ok {
		return quota.Ask{}, domain.Errorf(domain.CodeInvalid, "github has no job %q in bucket %q", job.Type, job.Bucket)
	}
	return quota.Ask{Owner: owner, Bucket: job.Bucket, Endpoint: op.endpoint, Cost: op.cost, Points: 1}, nil
}

// call is one Call being carried out.
type call struct {
	source.Call
	p params
	// access is what the call authorised itself with.
	access access
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
	c := &call{Call: in, p: p}
	if c.p.Repo == nil && strings.HasPrefix(in.Job.Resource, "repo:") {
		return source.Result{Verdict: source.Fail, Free: true, Failure: failure(domain.FailureInvalid, "the job does not name its repository")}
	}
	var none *source.Result
	if c.access, none = s.authorise(ctx, in.Token); none != nil {
		return *none
	}
	a, none := s.fetch(ctx, c.access.token, op.request(s, c))
	if none != nil {
		return *none
	}
	c.access.answered(s, a)
	c.settleAnchor(a)
	res := s.understand(c, op, a)
	hide(res.Failure, c.access.token)
	res.Quota = mergeRate(rateOf(a, in.Job.Bucket), res.Quota)
	return res
}

// settleAnchor fixes, with a walk's first page, the instant the walk stands
// for: the run's anchor, or GitHub's clock where the local one is ahead of it.
func (c *call) settleAnchor(a *answer) {
	if c.p.At != 0 {
		return
	}
	at := c.Run.Anchor
	if !a.date.IsZero() && a.date.Before(at) {
		at = a.date
	}
	c.p.At = seconds(at)
}

// mergeRate adds to what the headers say what the meaning of the answer says.
func mergeRate(headers, meaning quota.Response) quota.Response {
	if meaning.Known {
		meaning.Date = headers.Date
		headers = meaning
	}
	headers.Cost = meaning.Cost
	headers.Exhausted = meaning.Exhausted
	headers.RetryAfter = meaning.RetryAfter
	return headers
}

func encode(v any) []byte {
	// Only maps of strings, numbers and lists of strings are encoded.
	raw, _ := json.Marshal(v)
	return raw
}

// serverTime is GitHub's clock as of an answer.
func (s *Source) serverTime(a *answer) time.Time {
	if a.date.IsZero() {
		return s.opt.Now().UTC()
	}
	return a.date.UTC()
}

func shorten(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}
