package github

import (
	"cmp"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"sluice/internal/domain"
)

// Options configures a Source. The zero value collects from github.com.
type Options struct {
	// BaseURL is where REST begins: https://api.github.com by default,
	// https://HOST/api/v3 for an Enterprise Server.
	BaseURL string
	// Transport carries requests; nil means the package's own.
	Transport http.RoundTripper
	// UserAgent names the caller, as GitHub demands; "sluice" by default.
	UserAgent string
	// Timeout bounds one call, its body included; 30 s by default.
	Timeout time.Duration
	// MaxBody bounds the size of an answer; 64 MiB by default.
	MaxBody int64
	// MaxPayload bounds a document's raw payload; 1 MiB by default. A larger
	// one keeps its metadata, loses its patches and is marked as truncated.
	MaxPayload int
	// Overlap is how far before its cursor a later run begins, to make up for
	// whole-second clocks and lagging replicas; 10 s by default.
	Overlap time.Duration
	// SweepEvery is how often a repository's issues and pull requests are
	// compared by number with what is stored, to find deleted ones; 7 days by
	// default, negative for never.
	SweepEvery time.Duration
	// Now is the local clock; nil means time.Now.
	Now func() time.Time

	// Collaborator also collects repositories the account collaborates on or
	// can see as an organisation's member.
	Collaborator bool
	// Contributed also collects repositories the account contributed to.
	Contributed bool
	// OnlyOwnCommits leaves out the commits of others.
	OnlyOwnCommits bool
	// Resources are what is collected of repositories beside commits, issues and
	// pull requests, by their names (ResourceNames).
	Resources []string
	// Filter chooses among the repositories of users and organisations.
	Filter Filter
	// NoGraphQL collects by REST alone, for servers without GraphQL. It takes
	// one call for each commit, and sees only the repositories that the
	// account owns and shows to everybody.
	NoGraphQL bool
}

// Source collects from one GitHub. It is safe for concurrent use.
type Source struct {
	upstream
	queries queries
	// plain are the queries for a GitHub that does not know what is asked about lists.
	plain queries
	apps  *appTokens
	// told is how many lists discovery asks about beside: a point for each of them for
	// 100 repositories.
	told int
	// pullPoints is how many points more 100 pull requests cost, for what is shown in
	// columns of theirs.
	pullPoints int
}

// New makes a Source, or says which option is wrong.
func New(opt Options) (*Source, error) {
	opt.BaseURL = strings.TrimRight(cmp.Or(opt.BaseURL, "https://api.github.com"), "/")
	opt.UserAgent = cmp.Or(opt.UserAgent, "sluice")
	opt.Timeout = cmp.Or(opt.Timeout, 30*time.Second)
	opt.MaxBody = cmp.Or(opt.MaxBody, 64<<20)
	opt.MaxPayload = cmp.Or(opt.MaxPayload, 1<<20)
	opt.Overlap = cmp.Or(opt.Overlap, 10*time.Second)
	opt.SweepEvery = cmp.Or(opt.SweepEvery, 7*24*time.Hour)
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.Transport == nil {
		opt.Transport = newTransport()
	}
	if opt.Timeout < 0 || opt.MaxBody < 0 || opt.MaxPayload < 0 || opt.Overlap < 0 {
		return nil, domain.Errorf(domain.CodeInvalid, "github: timeout, sizes and overlap cannot be negative")
	}
	for _, name := range opt.Resources {
		if !slices.Contains(ResourceNames(), name) {
			return nil, domain.Errorf(domain.CodeInvalid, "github: there is no resource %q; there are %s", name, strings.Join(ResourceNames(), ", "))
		}
	}
	if runJobs.wanted(&opt) && !slices.Contains(opt.Resources, runs) {
		opt.Resources = append(slices.Clone(opt.Resources), runs)
	}
	if pattern := opt.Filter.check(); pattern != "" {
		return nil, domain.Errorf(domain.CodeInvalid, "github: %q is not a pattern; give one such as golang/* or *-docs", pattern)
	}
	rest, err := parseBase(opt.BaseURL)
	if err != nil {
		return nil, err
	}
	_, points := beside(opt.Resources)
	return &Source{upstream: upstream{opt, rest, graphqlURL(rest)}, queries: newQueries(opt, false), plain: newQueries(opt, true), apps: newAppTokens(), told: len(toldOf(opt.Resources)), pullPoints: points}, nil
}

func parseBase(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return nil, domain.Errorf(domain.CodeInvalid, "github: the base URL cannot be read; give one such as https://api.github.com")
	}
	if (u.Scheme != "https" && u.Scheme != "http") || u.Host == "" || u.User != nil || u.RawQuery != "" {
		return nil, domain.Errorf(domain.CodeInvalid,
			"github: this is not a base URL; give only scheme and host, such as https://api.github.com or https://HOST/api/v3")
	}
	return u, nil
}

// graphqlURL is GraphQL's address beside REST's: an Enterprise Server has it at
// /api/graphql, not below /api/v3.
func graphqlURL(rest *url.URL) *url.URL {
	u := *rest
	if prefix, ok := strings.CutSuffix(u.Path, "/api/v3"); ok {
		u.Path = prefix + "/api/graphql"
	} else {
		u.Path += "/graphql"
	}
	return &u
}

// newTransport keeps as many connections as GitHub allows calls in flight. It
// speaks HTTP/1.1 alone, where it is certain whether a request was sent twice.
func newTransport() *http.Transport {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout: 10 * time.Second,
		MaxIdleConns:        512,
		MaxIdleConnsPerHost: 256,
		IdleConnTimeout:     90 * time.Second,
		ReadBufferSize:      64 << 10,
		Protocols:           protocols,
	}
}
