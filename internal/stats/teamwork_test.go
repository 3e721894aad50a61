package stats_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"sluice/internal/document"
	"sluice/internal/source/github"
	"sluice/internal/stats"
)

// randomTeam makes pull requests, reviews, comments, releases and runs of a few people.
func randomTeam(r *rand.Rand) world {
	var w world
	people := []string{login, "ada", "bob", "", "Bob", "cy"}
	w = append(w, doc(github.KindRepository, "1", document.Fields{Repository: 1}), doc(github.KindRepository, "2", document.Fields{Repository: 2, Deleted: true}))
	fields := func() document.Fields {
		return document.Fields{Repository: 1 + r.Int64N(2), Number: 1 + r.Int64N(5), Author: pick(r, people...), Deleted: r.IntN(6) == 0,
			CreatedAt: run.Anchor.Add(time.Duration(r.Int64N(500)) * time.Minute)}
	}
	for repository := int64(1); repository <= 2; repository++ {
		for number := range int64(5) {
			f := fields()
			f.Repository, f.Number = repository, number+1
			w = append(w, doc(github.KindPull, fmt.Sprint(repository, number), f))
		}
	}
	for i := range r.IntN(40) {
		f := fields()
		f.State = pick(r, "approved", "commented", "pending", "changes_requested")
		w = append(w, doc(github.KindReview, fmt.Sprint(i), f))
		w = append(w, doc(pick(r, github.KindComment, github.KindReviewComment), fmt.Sprint(i), fields()))
		f = fields()
		f.State = pick(r, "released", "draft", "prerelease")
		w = append(w, doc(github.KindRelease, fmt.Sprint(i), f))
		f = fields()
		f.Set("conclusion", document.Text(pick(r, "success", "failure", "cancelled", "skipped", "timed_out")))
		w = append(w, doc(github.KindRun, fmt.Sprint(i), f))
	}
	r.Shuffle(len(w), func(i, j int) { w[i], w[j] = w[j], w[i] })
	return w
}

// naiveTeamwork counts one figure at a time, each from all documents.
func naiveTeamwork(w world) *stats.Teamwork {
	var t stats.Teamwork
	count := func(is func(d *placed) bool) (n int64) {
		for _, d := range place(w) {
			if !d.gone && is(&d) {
				n++
			}
		}
		return n
	}
	own := func(d *placed) bool { return d.Author == login || d.Author == "ada" }
	review := func(d *placed) bool { return d.Kind == github.KindReview && d.State != "pending" }
	comment := func(d *placed) bool { return d.Kind == github.KindComment || d.Kind == github.KindReviewComment }
	concluded := func(with ...string) int64 {
		return count(func(d *placed) bool {
			return d.Kind == github.KindRun && slices.Contains(with, d.Own["conclusion"].Text)
		})
	}
	t.ReviewsSeen, t.ReviewsGiven = count(review), count(func(d *placed) bool { return review(d) && own(d) })
	t.CommentsSeen, t.CommentsWritten = count(comment), count(func(d *placed) bool { return comment(d) && own(d) })
	t.Releases = count(func(d *placed) bool { return d.Kind == github.KindRelease && d.State != "draft" })
	t.RunsSucceeded, t.RunsFailed = concluded("success"), concluded("failure", "timed_out")
	same := func(a, b string) bool {
		return len(a) == len(b) && (a == b || (a == "Bob" || a == "bob") && (b == "Bob" || b == "bob") || (a == "Ada" || a == "ada") && (b == "Ada" || b == "ada"))
	}
	var waits []int64
	for _, pull := range place(w) {
		if pull.Kind != github.KindPull || pull.gone {
			continue
		}
		first := time.Time{}
		for _, d := range place(w) {
			if review(&d) && !d.gone && d.Repository == pull.Repository && d.Number == pull.Number && !same(d.Author, pull.Author) &&
				(first.IsZero() || d.CreatedAt.Before(first)) {
				first = d.CreatedAt
			}
		}
		if !first.IsZero() {
			waits = append(waits, max(0, int64(first.Sub(pull.CreatedAt)/time.Second)))
		}
	}
	slices.Sort(waits)
	t.PullsReviewed = int64(len(waits))
	if len(waits) > 0 {
		t.FirstReview = waits[(len(waits)-1)/2]
	}
	if count(func(d *placed) bool {
		return review(d) || comment(d) || d.Kind == github.KindRun || d.Kind == github.KindRelease && d.State != "draft"
	}) == 0 {
		return nil
	}
	return &t
}

func TestTeamworkEqualsTheNaiveCount(t *testing.T) {
	r := randomness(t)
	for range 300 {
		w := randomTeam(r)
		got, want := compute(t, w).Teamwork, naiveTeamwork(w)
		if (got == nil) != (want == nil) || got != nil && *got != *want {
			t.Fatalf("got %+v, want %+v of %d documents", got, want, len(w))
		}
	}
}

func TestSuccessRate(t *testing.T) {
	if _, ok := (&stats.Teamwork{}).SuccessRate(); ok {
		t.Error("without runs there is a rate")
	}
	if rate, ok := (&stats.Teamwork{RunsSucceeded: 3, RunsFailed: 1}).SuccessRate(); !ok || rate != 0.75 {
		t.Errorf("the rate is %v", rate)
	}
}
