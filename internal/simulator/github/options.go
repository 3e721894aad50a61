package github

import (
	"math/rand/v2"
	"time"

	"github.com/vektah/gqlparser/v2/ast"
)

// Options describes a simulated GitHub. The zero value is usable: ten accounts
// from seed zero, with GitHub's own limits.
type Options struct {
	Seed     uint64
	Accounts int // default 10
	// Organizations is how many of the accounts are organisations: the last ones.
	Organizations int
	Shape         *Shape // nil: skewed sizes and oddities as found in the wild

	Limits  Limits
	Latency Latency

	// Until lets the world go on, from where the base world ends, with some changes
	// for every day; the zero time lets it stand still there. The same seed makes
	// the same changes, whenever it ends.
	Until time.Time

	// MutateEvery makes one change to the world at every k-th data request;
	// zero keeps the world still.
	MutateEvery int

	// Nasty lets everything go wrong at random; nil lets nothing.
	Nasty *Nasty

	// Schema is GitHub's own, against which queries are checked; nil means the
	// one that the environment names (SchemaVariable), or else none.
	Schema *ast.Schema

	// Lacking are fields that this GitHub does not know, such as Repository.milestones,
	// as an older Enterprise Server does not.
	Lacking []string

	// LargeIssues is the number of issues above which a listing pages by
	// cursor and refuses a deep page parameter. Default 10,000.
	LargeIssues int

	// DeepestPage is the last page by number that listings of comments have; beyond it
	// is 422. Default 1,333.
	DeepestPage int

	// NoPollInterval lets events be asked for again at once.
	NoPollInterval bool

	// TokenLifetime is how long the token of an app's installation is valid.
	// Default 1 h.
	TokenLifetime time.Duration

	// Now is the simulator's clock; nil means time.Now.
	Now func() time.Time
}

// Range bounds a size; sizes are spread evenly over [Min, Max].
type Range struct{ Min, Max int }

// Exactly is the range that holds only n.
func Exactly(n int) Range { return Range{Min: n, Max: n} }

// Between is the range from low to high, both included.
func Between(low, high int) Range { return Range{Min: low, Max: high} }

// Shape fixes the sizes of the world, per account (Repos) and per repository.
// At most 16,384 repositories per account and 999,999 issues and pull requests
// together per repository have distinct ids.
type Shape struct {
	Repos, Commits, Issues, Pulls Range
	// Parts sizes each of the smaller kinds, such as comments and labels; zero leaves
	// them to what the repository is like.
	Parts Range
	// Comments sizes the comments on issues and pull requests alone; zero leaves them to
	// Parts.
	Comments Range

	// Oddities sprinkles in empty, private and forked repositories and ones
	// with issues disabled.
	Oddities bool
}

// Limits are the rations the simulator enforces.
type Limits struct {
	// Disabled switches every limit off; headers still look alive.
	Disabled bool

	Window         time.Duration // length of a primary window, default 1 h
	CoreLimit      int           // default 5,000 calls
	GraphQLLimit   int           // default 5,000 points
	SearchLimit    int           // default 30
	AnonymousLimit int           // default 60, per IP address
	// InstallationLimit is an app installation's, calls and points alike.
	InstallationLimit int // default 5,000

	Concurrent    int           // in flight per owner, default 100
	Minute        time.Duration // span of the points limits, default 1 min
	RESTPoints    int           // per endpoint and Minute, default 900
	GraphQLPoints int           // per Minute, default 2,000

	// RetryAfter is announced with secondary limits; negative leaves the
	// header out, as GitHub at times does. Default 60 s.
	RetryAfter time.Duration

	// TooManyRequests answers exceeded limits with 429 instead of 403.
	TooManyRequests bool
}

// Latency delays every answer by Fixed plus an evenly spread share of Jitter.
type Latency struct{ Fixed, Jitter time.Duration }

func (l Latency) draw() time.Duration {
	if l.Jitter <= 0 {
		return l.Fixed
	}
	return l.Fixed + rand.N(l.Jitter)
}

func (o Options) withDefaults() Options {
	setDefault(&o.Accounts, 10)
	setDefault(&o.LargeIssues, 10_000)
	setDefault(&o.DeepestPage, 1333)
	setDefault(&o.TokenLifetime, time.Hour)
	setDefault(&o.Limits.Window, time.Hour)
	setDefault(&o.Limits.CoreLimit, 5_000)
	setDefault(&o.Limits.GraphQLLimit, 5_000)
	setDefault(&o.Limits.SearchLimit, 30)
	setDefault(&o.Limits.AnonymousLimit, 60)
	setDefault(&o.Limits.InstallationLimit, 5_000)
	setDefault(&o.Limits.Concurrent, 100)
	setDefault(&o.Limits.Minute, time.Minute)
	setDefault(&o.Limits.RESTPoints, 900)
	setDefault(&o.Limits.GraphQLPoints, 2_000)
	setDefault(&o.Limits.RetryAfter, time.Minute)
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

func setDefault[T int | time.Duration](field *T, value T) {
	if *field == 0 {
		*field = value
	}
}
