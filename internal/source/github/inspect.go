package github

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"sluice/internal/domain"
	"sluice/internal/source"
)

var _ source.Inspector = (*Source)(nil)

// The kinds of credentials, as GitHub calls them.
const (
	kindClassic      = "classic token"
	kindFineGrained  = "fine-grained token"
	kindInstallation = "app installation"
	kindOther        = "token"
)

// Inspection implements source.Inspector: the target is looked at, by REST, whose
// answers tell the scopes of a token.
func (g *upstream) Inspection(login string) domain.JobSpec {
	typ := UserProfile
	if isRepository(login) {
		typ = DiscoverTarget
	}
	spec := params{}.spec(typ, userResource(login), "", BucketCore)
	spec.Class = domain.ClassDiscovery
	return spec
}

// Inspect implements source.Inspector.
func (s *Source) Inspect(ctx context.Context, in source.Call) (source.Result, source.Allowance) {
	res, found := inspect(ctx, s, in)
	hide(res.Failure, in.Token)
	return res, found
}

func inspect(ctx context.Context, s *Source, in source.Call) (res source.Result, found source.Allowance) {
	op, _ := operationFor(in.Job.JobSpec)
	c := s.newCall(in, params{})
	var none *source.Result
	if c.access, none = s.authorise(ctx, in.Token); none != nil {
		return *none, found
	}
	a, none := s.fetch(ctx, c.access.token, op.request(s, c))
	if none != nil {
		return *none, found
	}
	c.access.answered(s, a)
	found = c.allowance(a)
	switch {
	case a.status == http.StatusOK && wellFormed(a.body), a.status == http.StatusMovedPermanently:
		res = source.Result{Verdict: source.Done}
		found.Target = targetOf(in.Run.Login, a)
		found.Limits = append(c.limits(&found, a), found.Limits...)
	default:
		res = s.understand(c, op, a)
		if res.Verdict == source.Fail && res.Failure.Kind == domain.FailureForbidden {
			// The token is good for something, only not for this.
			found.Limits = append(found.Limits, res.Failure.Message)
			res = source.Result{Verdict: source.Done}
		}
		res.Documents, res.Next, res.Cursors = nil, nil, nil
	}
	hide(res.Failure, c.access.token)
	res.Quota = mergeRate(rateOf(a, BucketCore), res.Quota)
	return res, found
}

// targetOf is what a target is, as far as an answer about it tells.
func targetOf(login string, a *answer) domain.Target {
	switch {
	case isRepository(login):
		return domain.TargetRepository
	case gjson.GetBytes(a.body, "type").String() == "Organization":
		return domain.TargetOrganization
	}
	return domain.TargetUser
}

// allowance reads what every answer tells about the token that it is for. Only
// classic tokens, and those of OAuth apps, have scopes.
func (c *call) allowance(a *answer) source.Allowance {
	var found source.Allowance
	scopes, scoped := a.header["X-Oauth-Scopes"]
	switch {
	case c.access.of != nil:
		found.Kind = kindInstallation
	case strings.HasPrefix(c.access.token, "github_pat_"):
		found.Kind = kindFineGrained
	case scoped:
		found.Kind = kindClassic
		for _, scope := range strings.Split(strings.Join(scopes, ","), ",") {
			if scope = strings.TrimSpace(scope); scope != "" {
				found.Scopes = append(found.Scopes, scope)
			}
		}
	default:
		found.Kind = kindOther
	}
	found.ExpiresAt = expiry(a.header.Get("Github-Authentication-Token-Expiration"))
	return found
}

// expiry reads when a token ends, zero if that is not told.
func expiry(text string) time.Time {
	for _, layout := range [...]string{"2006-01-02 15:04:05 MST", "2006-01-02 15:04:05 -0700"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.UTC()
		}
	}
	return time.Time{}
}

// limits says what a credential does not allow of what is collected.
func (c *call) limits(found *source.Allowance, a *answer) []string {
	switch found.Kind {
	case kindClassic:
		return scopeLimits(found, gjson.GetBytes(a.body, "private").Bool())
	case kindInstallation:
		return c.access.of.limits(found.Target)
	case kindFineGrained:
		limits := []string{"GitHub does not tell what a fine-grained token may see: private repositories need read access to contents, issues and pull requests in its settings"}
		if found.Target == domain.TargetOrganization {
			limits = append(limits, "it sees members and teams only if the organisation is its resource owner and it has read access to members")
		}
		return limits
	}
	return nil
}

// scopeLimits is what a classic token lacks. A larger scope has the smaller ones in
// it.
func scopeLimits(found *source.Allowance, private bool) (limits []string) {
	has := func(any ...string) bool {
		return slices.ContainsFunc(any, func(scope string) bool { return slices.Contains(found.Scopes, scope) })
	}
	if !has("repo") && !private {
		limits = append(limits, "it sees public repositories only: private ones need the scope repo")
	}
	if found.Target == domain.TargetOrganization && !has("read:org", "write:org", "admin:org") {
		limits = append(limits, "it sees public members only and no teams: these need the scope read:org, and membership of the organisation")
	}
	return limits
}

// limits says what an installation was not permitted of what is collected.
func (t *installationToken) limits(target domain.Target) (limits []string) {
	if len(t.permissions) == 0 {
		return nil
	}
	wanted := []string{"contents", "issues", "metadata", "pull_requests"}
	if target == domain.TargetOrganization {
		wanted = append(wanted, "members")
	}
	var missing []string
	for _, permission := range wanted {
		if !slices.Contains(t.permissions, permission) {
			missing = append(missing, permission)
		}
	}
	if len(missing) > 0 {
		limits = append(limits, "the app lacks read access to "+strings.Join(missing, ", ")+": grant it in the app's permissions and accept them for the installation")
	}
	if t.selected {
		limits = append(limits, "the app is installed for selected repositories only: it sees no other private ones")
	}
	return limits
}

// elsewhere is where GitHub's own command line has a token: it keeps those for
// other servers apart.
func elsewhere(s source.Settings) source.Elsewhere {
	base, err := url.Parse(s.Text(settingURL))
	if err != nil || base.Hostname() == "" {
		return source.Elsewhere{}
	}
	host, ours := base.Host, false
	switch name := strings.ToLower(base.Hostname()); {
	case name == "api.github.com":
		host, ours = "github.com", true
	case strings.HasSuffix(name, ".ghe.com"):
		host, ours = strings.TrimPrefix(name, "api."), true
	}
	e := source.Elsewhere{
		Variables: []string{"GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN"},
		Command:   []string{"gh", "auth", "token", "--hostname", host},
	}
	if ours && base.Scheme == "https" {
		e.Variables = []string{"GH_TOKEN", "GITHUB_TOKEN"}
	}
	return e
}

// appCredential is what stands for an app in the place of a token.
func appCredential(app source.App) (string, error) {
	c := AppCredential{AppID: app.ID, InstallationID: app.Installation, PrivateKey: app.Key}
	if _, err := c.key(); err != nil {
		return "", err
	}
	return c.String(), nil
}
