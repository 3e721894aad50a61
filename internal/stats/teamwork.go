package stats

import (
	"hash/maphash"
	"slices"
	"strings"
	"time"

	"sluice/internal/document"
)

// Teamwork is what people did together in the repositories that are collected: reviews,
// comments, releases and runs of workflows, as far as these are collected. What is given
// and written is the account's; all else is of anybody.
type Teamwork struct {
	ReviewsGiven    int64 `json:"reviews_given"`
	ReviewsSeen     int64 `json:"reviews_seen"`
	CommentsWritten int64 `json:"comments_written"`
	CommentsSeen    int64 `json:"comments_seen"`
	Releases        int64 `json:"releases"`
	// PullsReviewed counts pull requests that somebody but their author reviewed, and
	// FirstReview is the median of how long the first such review took, in seconds.
	PullsReviewed int64 `json:"pulls_reviewed"`
	FirstReview   int64 `json:"first_review_seconds"`
	// RunsSucceeded and RunsFailed are those that came to an end of either kind: not
	// those that were canceled or skipped, or that wait for somebody.
	RunsSucceeded int64 `json:"runs_succeeded"`
	RunsFailed    int64 `json:"runs_failed"`
}

// SuccessRate is the share of the runs that succeeded; ok is false if there are none.
func (t *Teamwork) SuccessRate() (rate float64, ok bool) {
	all := t.RunsSucceeded + t.RunsFailed
	if all == 0 {
		return 0, false
	}
	return float64(t.RunsSucceeded) / float64(all), true
}

// teamwork counts it. It holds a few words for each pull request that was reviewed.
type teamwork struct {
	sum     Teamwork
	counted bool
	seed    maphash.Seed
	reviews map[pullID]*firstReviews
	waits   []int64
}

type pullID struct{ repository, number int64 }

// firstReviews are the first review of a pull request, and the first by somebody else
// than that one's author: whoever wrote the pull request, one of them is not his.
type firstReviews struct {
	by           uint64
	first, other time.Time
}

func newTeamwork() teamwork {
	return teamwork{seed: maphash.MakeSeed(), reviews: map[pullID]*firstReviews{}}
}

func (w *teamwork) person(login string) uint64 { return maphash.String(w.seed, strings.ToLower(login)) }

// review must be told of all reviews before pulls are counted.
func (t *tally) review(d *document.Document) {
	if !t.exists(d) || d.State == "pending" {
		return
	}
	w := &t.teamwork
	w.counted = true
	w.sum.ReviewsSeen++
	add(&w.sum.ReviewsGiven, t.own(d.Author))
	if d.Number == 0 || d.CreatedAt.IsZero() {
		return
	}
	id := pullID{d.Repository, d.Number}
	by := w.person(d.Author)
	r := w.reviews[id]
	switch {
	case r == nil:
		w.reviews[id] = &firstReviews{by: by, first: d.CreatedAt}
	case d.CreatedAt.Before(r.first):
		if by != r.by {
			r.by, r.other = by, r.first
		}
		r.first = d.CreatedAt
	case by != r.by && (r.other.IsZero() || d.CreatedAt.Before(r.other)):
		r.other = d.CreatedAt
	}
}

// reviewed counts a pull request that exists.
func (w *teamwork) reviewed(d *document.Document) {
	r := w.reviews[pullID{d.Repository, d.Number}]
	if r == nil {
		return
	}
	at := r.first
	if w.person(d.Author) == r.by {
		at = r.other
	}
	if at.IsZero() {
		return
	}
	w.sum.PullsReviewed++
	w.waits = append(w.waits, max(int64(at.Sub(d.CreatedAt)/time.Second), 0))
}

func (t *tally) comment(d *document.Document) {
	if t.exists(d) {
		t.teamwork.counted = true
		t.teamwork.sum.CommentsSeen++
		add(&t.teamwork.sum.CommentsWritten, t.own(d.Author))
	}
}

func (t *tally) release(d *document.Document) {
	if t.exists(d) && d.State != "draft" {
		t.teamwork.counted = true
		t.teamwork.sum.Releases++
	}
}

func (t *tally) run(d *document.Document) {
	if !t.exists(d) {
		return
	}
	t.teamwork.counted = true
	switch d.Own["conclusion"].Text {
	case "success":
		t.teamwork.sum.RunsSucceeded++
	case "failure", "timed_out", "startup_failure":
		t.teamwork.sum.RunsFailed++
	}
}

// result is nil where nothing of it is collected.
func (w *teamwork) result() *Teamwork {
	if !w.counted {
		return nil
	}
	sum := w.sum
	if n := len(w.waits); n > 0 {
		slices.Sort(w.waits)
		sum.FirstReview = w.waits[(n-1)/2]
	}
	return &sum
}
