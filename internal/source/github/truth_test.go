package github

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"sluice/internal/document"

	sim "sluice/internal/simulator/github"
)

// expect says what a complete collection holds, one line for each document.
type expect struct {
	measured bool
	parts    map[string]bool // the kinds that are collected
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(time.RFC3339)
}

func stampOf(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return stamp(*t)
}

func (e expect) lines(truth sim.Truth) map[string]string {
	out := map[string]string{}
	if truth.Profile.ID != 0 {
		out[fmt.Sprintf("profile %d", truth.Profile.ID)] = truth.Profile.Login
	}
	for _, m := range truth.Members {
		out[fmt.Sprintf("member %d", m.ID)] = m.Login
	}
	for _, team := range truth.Teams {
		out[fmt.Sprintf("team %d", team.ID)] = team.Slug
	}
	for _, id := range truth.Events {
		out["event "+id] = ""
	}
	for _, r := range truth.Repositories {
		if r.Deleted || r.Blocked {
			continue
		}
		out[fmt.Sprintf("repository %d", r.ID)] = fmt.Sprintf("%s fork=%t private=%t stars=%d %s", r.FullName, r.Fork, r.Private, r.Stars, r.Language)
		for kind, list := range r.Parts {
			for _, p := range list {
				if e.parts[kind] && (e.measured || !graphOnly(kind)) {
					name := formatID(p.ID)
					if p.Name != "" {
						name = formatID(r.ID) + ":" + p.Name
					}
					out[kind+" "+name] = partLine(r.ID, p.Number, p.Title, p.Author)
				}
			}
		}
		for _, c := range r.Commits {
			out[fmt.Sprintf("commit %d:%s", r.ID, c.SHA)] = fmt.Sprintf("%s +%d -%d %q", stamp(c.CommittedAt), c.Additions, c.Deletions, c.AuthorLogin)
		}
		for _, i := range r.Issues {
			if r.IssuesDisabled {
				continue
			}
			out[fmt.Sprintf("issue %d", i.ID)] = e.item(r.ID, i)
		}
		for _, p := range r.Pulls {
			out[fmt.Sprintf("pull %d", p.ID)] = e.item(r.ID, p) + " measured=" + fmt.Sprint(e.measured)
		}
	}
	return out
}

// graphOnly tells whether REST does not list a kind.
func graphOnly(kind string) bool {
	for _, w := range walks() {
		if at := w.declared(); string(at.kind) == kind {
			return at.bucket == BucketGraphQL
		}
	}
	return false
}

func (e expect) item(repo int64, i sim.TruthItem) string {
	return fmt.Sprintf("%d #%d %s created %s updated %s closed %s merged %s %q", repo, i.Number, i.State,
		stamp(i.CreatedAt), stamp(i.UpdatedAt), stampOf(i.ClosedAt), stampOf(i.MergedAt), i.AuthorLogin)
}

func partLine(repo int64, number int, title, author string) string {
	return fmt.Sprintf("%d #%d %q by %q", repo, number, title, author)
}

// lines describes what was collected, in the same words.
func (d *driver) lines() map[string]string {
	out := map[string]string{}
	for key, doc := range d.docs {
		// Days stay when GitHub does not tell of them any more.
		if doc.Deleted || key.Kind == KindTraffic || key.Kind == KindStarWeek {
			continue
		}
		out[string(key.Kind)+" "+key.Name] = describe(doc)
	}
	return out
}

func describe(doc document.Document) string {
	switch doc.Kind {
	case KindProfile, KindMember:
		return doc.Author
	case KindComment, KindReview, KindReviewComment:
		return partLine(doc.Repository, int(doc.Number), doc.Own["body"].Text, doc.Author)
	case KindRelease, KindLabel, KindMilestone, KindRun, KindRunJob, KindDeployment, KindDiscussion, KindDependabot, KindScanning:
		return partLine(doc.Repository, 0, doc.Title, doc.Author)
	case KindBranch, KindTag:
		return partLine(doc.Repository, 0, doc.Title+" "+doc.Own["sha"].Text, doc.Author)
	case KindContributor:
		return partLine(doc.Repository, 0, fmt.Sprintf("%s %d", doc.Title, doc.Own["contributions"].Integer), doc.Author)
	case KindIssueEvent, KindPullCommit, KindPullFile:
		return partLine(doc.Repository, int(doc.Number), doc.Title, doc.Author)
	case KindTeam:
		return doc.Own["slug"].Text
	case KindRepository:
		return fmt.Sprintf("%s fork=%t private=%t stars=%d %s", doc.Title, doc.Fork, doc.Private, doc.Stars, doc.Language)
	case KindCommit:
		return fmt.Sprintf("%s +%d -%d %q", stamp(doc.CreatedAt), doc.Additions, doc.Deletions, doc.Author)
	case KindIssue, KindPull:
		line := fmt.Sprintf("%d #%d %s created %s updated %s closed %s merged %s %q", doc.Repository, doc.Number, doc.State,
			stamp(doc.CreatedAt), stamp(doc.UpdatedAt), stamp(doc.ClosedAt), stamp(doc.MergedAt), doc.Author)
		if doc.Kind == KindPull {
			line += " measured=" + fmt.Sprint(doc.Measured)
		}
		return line
	}
	return ""
}

// parts are the kinds of the resources that are collected.
func (d *driver) parts() map[string]bool {
	parts := map[string]bool{}
	for _, r := range resources() {
		parts[string(r.kind.Kind)] = slices.Contains(d.src.opt.Resources, r.name())
	}
	return parts
}

func (d *driver) matches(truth sim.Truth, measured bool) {
	d.t.Helper()
	want, got := expect{measured, d.parts()}.lines(truth), d.lines()
	wrong := 0
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if have, ok := got[key]; !ok || have != want[key] {
			if wrong++; wrong <= 5 {
				d.t.Errorf("%s:\n got %q (there: %t)\nwant %q", key, have, ok, want[key])
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[key]; !ok {
			if wrong++; wrong <= 5 {
				d.t.Errorf("%s is there and should not be: %q", key, got[key])
			}
		}
	}
	if wrong > 5 {
		d.t.Errorf("%d differences in all", wrong)
	}
	if len(want) < 3 {
		d.t.Errorf("the world is empty; this proves nothing")
	}
}

func mustTruth(t testing.TB, w *world, login string, at time.Time) sim.Truth {
	t.Helper()
	truth, err := w.Truth(login, at)
	if err != nil {
		t.Fatal(err)
	}
	return truth
}
