// Package verify compares what was collected with what the simulated GitHub
// says a complete collection must contain.
package verify

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice/internal/document"
	sim "sluice/internal/simulator/github"
	"sluice/internal/source/github"
)

// maxDifferences bounds a report; one is enough to fail.
const maxDifferences = 20

// Account compares the documents of an account with the truth and lists what
// differs; nothing means that they are equal. Resources are the kinds that were
// asked for beside what is always collected.
func Account(ctx context.Context, docs document.Reader, account int64, truth sim.Truth, resources ...document.Kind) ([]string, error) {
	c := &comparison{want: map[document.Key]string{}, gone: map[document.Key]bool{}, resources: resources}
	c.expect(account, truth)
	err := docs.Scan(ctx, document.Query{Account: account}, func(d *document.Document) error {
		c.seen(d)
		return nil
	})
	return c.report(), err
}

// Standard are the kinds beside what is always collected that a collection has unless
// somebody says otherwise.
func Standard() []document.Kind { return github.StandardKinds() }

// Expected lists what a complete collection of an account holds, each with its
// face: what must be right about it.
func Expected(account int64, truth sim.Truth) map[document.Key]string {
	c := &comparison{want: map[document.Key]string{}}
	c.expect(account, truth)
	return c.want
}

type comparison struct {
	// want maps what must be there to its expected face; entries are removed
	// as they are found.
	want map[document.Key]string
	// gone are repositories that the upstream no longer gives out: what is
	// stored of them must be flagged.
	gone        map[document.Key]bool
	resources   []document.Kind
	differences []string
}

func (c *comparison) expect(account int64, truth sim.Truth) {
	add := func(kind document.Kind, name, face string) {
		c.want[document.Key{Account: account, Kind: kind, Name: name}] = face
	}
	if truth.Profile.ID != 0 {
		add(github.KindProfile, strconv.FormatInt(truth.Profile.ID, 10), truth.Profile.Login)
	}
	for _, m := range truth.Members {
		add(github.KindMember, strconv.FormatInt(m.ID, 10), m.Login)
	}
	for _, t := range truth.Teams {
		add(github.KindTeam, strconv.FormatInt(t.ID, 10), t.Slug)
	}
	for _, r := range truth.Repositories {
		id := strconv.FormatInt(r.ID, 10)
		add(github.KindRepository, id, repository(r.FullName, r.Fork, r.Private, r.Stars, r.Language))
		if r.Gone != "" || r.Deleted || r.Blocked {
			c.gone[document.Key{Account: account, Kind: github.KindRepository, Name: id}] = true
		}
		for _, kind := range c.resources {
			for _, p := range r.Parts[string(kind)] {
				name := strconv.FormatInt(p.ID, 10)
				if p.Name != "" {
					name = id + ":" + p.Name
				}
				add(kind, name, part(r.ID, int64(p.Number), p.Title, p.Author))
			}
		}
		for _, k := range r.Commits {
			add(github.KindCommit, id+":"+k.SHA, commit(r.ID, k.CommittedAt, k.Additions, k.Deletions, k.AuthorLogin))
		}
		for _, i := range r.Issues {
			add(github.KindIssue, strconv.FormatInt(i.ID, 10), item(r.ID, i))
		}
		for _, p := range r.Pulls {
			add(github.KindPull, strconv.FormatInt(p.ID, 10), item(r.ID, p))
		}
	}
	for _, e := range truth.Events {
		add(github.KindEvent, e, "")
	}
}

func repository(name string, fork, private bool, stars int64, language string) string {
	return fmt.Sprintf("%s fork %t private %t stars %d language %q", name, fork, private, stars, language)
}

func commit(repository int64, at time.Time, additions, deletions int64, author string) string {
	return fmt.Sprintf("in %d at %s +%d -%d by %q", repository, stamp(at), additions, deletions, author)
}

func item(repository int64, i sim.TruthItem) string {
	return face(repository, int64(i.Number), i.State, i.AuthorLogin, i.CreatedAt, i.UpdatedAt, deref(i.ClosedAt), deref(i.MergedAt))
}

func part(repository, number int64, title, author string) string {
	return fmt.Sprintf("in %d #%d %q by %q", repository, number, title, author)
}

func face(repository, number int64, state, author string, at ...time.Time) string {
	times := make([]string, len(at))
	for i, t := range at {
		times[i] = stamp(t)
	}
	return fmt.Sprintf("in %d #%d %s by %q at %s", repository, number, state, author, strings.Join(times, " "))
}

func deref(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(time.RFC3339)
}

// faceOf renders a document the way expect renders the truth.
func faceOf(d *document.Document) string {
	switch d.Kind {
	case github.KindProfile, github.KindMember:
		return d.Author
	case github.KindTeam:
		return d.Title
	case github.KindRepository:
		return repository(d.Title, d.Fork, d.Private, d.Stars, d.Language)
	case github.KindCommit:
		return commit(d.Repository, d.CreatedAt, d.Additions, d.Deletions, d.Author)
	case github.KindIssue, github.KindPull:
		return face(d.Repository, d.Number, d.State, d.Author, d.CreatedAt, d.UpdatedAt, d.ClosedAt, d.MergedAt)
	case github.KindEvent:
		return ""
	}
	return partOf(d)
}

// partOf renders one of the smaller things of a repository.
func partOf(d *document.Document) string {
	switch d.Kind {
	case github.KindComment, github.KindReview, github.KindReviewComment:
		return part(d.Repository, d.Number, d.Own["body"].Text, d.Author)
	case github.KindBranch, github.KindTag:
		return part(d.Repository, 0, d.Title+" "+d.Own["sha"].Text, d.Author)
	case github.KindContributor:
		return part(d.Repository, 0, d.Title+" "+strconv.FormatInt(d.Own["contributions"].Integer, 10), d.Author)
	case github.KindIssueEvent, github.KindPullCommit, github.KindPullFile:
		return part(d.Repository, d.Number, d.Title, d.Author)
	}
	return part(d.Repository, 0, d.Title, d.Author)
}

func (c *comparison) seen(d *document.Document) {
	if d.Kind == github.KindTraffic || d.Kind == github.KindStarWeek {
		return // days stay when the upstream does not tell of them any more
	}
	want, ok := c.want[d.Key]
	if !ok && (d.Deleted || d.Kind == github.KindIssueEvent || d.Kind == github.KindRunJob) {
		return // nothing tells that an event or a job is not listed any more; what the upstream no longer has is kept, and flagged
	}
	if !ok {
		c.differ("%s %s is stored (last seen at %s) but does not exist", d.Kind, d.Name, d.SeenAt.UTC().Format(time.RFC3339))
		return
	}
	delete(c.want, d.Key)
	if d.Deleted && !c.gone[d.Key] {
		c.differ("%s %s is flagged as deleted but exists", d.Kind, d.Name)
	}
	if !d.Deleted && c.gone[d.Key] {
		c.differ("%s %s is gone but is not flagged (last seen at %s)", d.Kind, d.Name, d.SeenAt.UTC().Format(time.RFC3339))
	}
	if got := faceOf(d); got != want && !c.gone[d.Key] {
		c.differ("%s %s is %q, the truth is %q", d.Kind, d.Name, got, want)
	}
}

func (c *comparison) differ(format string, args ...any) {
	if len(c.differences) < maxDifferences {
		c.differences = append(c.differences, fmt.Sprintf(format, args...))
	}
}

func (c *comparison) report() []string {
	missing := make([]string, 0, len(c.want))
	for key := range c.want {
		if c.gone[key] {
			continue // it may have been gone before it was ever seen
		}
		missing = append(missing, fmt.Sprintf("%s %s is missing", key.Kind, key.Name))
	}
	slices.Sort(missing)
	for _, m := range missing {
		c.differ("%s", m)
	}
	return c.differences
}
