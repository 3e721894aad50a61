package stats_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"sluice/internal/document"
	"sluice/internal/source/github"
	"sluice/internal/stats"
)

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

// randomWorld makes a world in which every case is likely: forks that share
// commits, unknown repositories, missing authors, deleted things.
func randomWorld(r *rand.Rand) world {
	var w world
	rare := func() bool { return r.IntN(6) == 0 }
	repositories := r.IntN(6)
	for id := range int64(repositories) {
		w = append(w, doc(github.KindRepository, fmt.Sprint(id), document.Fields{
			Repository: id, Language: pick(r, "Go", "C", ""), Stars: r.Int64N(50), Fork: r.IntN(2) == 0,
			Private: rare(), External: rare(), Deleted: rare(), State: pick(r, "", "archived"), Truncated: rare(),
		}))
	}
	day := func() time.Time {
		return run.Anchor.Add(-time.Duration(r.Int64N(40*24*60)) * time.Minute)
	}
	fields := func() document.Fields {
		return document.Fields{
			Repository: r.Int64N(8), Author: pick(r, login, "ada", "bob", ""), Language: pick(r, "Go", "Rust", ""),
			External: rare(), Fork: rare(), Deleted: rare(), Truncated: rare(), CreatedAt: day(),
		}
	}
	seen := map[string]bool{}
	for range r.IntN(60) {
		f := fields()
		sha := r.IntN(30)
		// The same commit is the same wherever it lies.
		f.CreatedAt = run.Anchor.AddDate(0, 0, -sha)
		f.Additions, f.Deletions, f.Measured = int64(sha), int64(2*sha), sha%3 != 0
		f.Author = []string{login, "ada", "bob", ""}[sha%4]
		// Without a repository document, commits of one repository agree.
		f.External, f.Language = f.Repository == 6, "Rust"
		d := commit(f.Repository, fmt.Sprint(sha), f)
		if !seen[d.Name] {
			seen[d.Name] = true
			w = append(w, d)
		}
	}
	for i := range r.IntN(30) {
		f := fields()
		f.State, f.ClosedBy = pick(r, "open", "closed"), pick(r, "", login, "bob")
		w = append(w, doc(github.KindIssue, fmt.Sprint(i), f))
	}
	for i := range r.IntN(30) {
		f := fields()
		f.MergedAt = pick(r, time.Time{}, day())
		w = append(w, doc(github.KindPull, fmt.Sprint(i), f))
	}
	return w
}

// placed is a document with what its repository says about it.
type placed struct {
	document.Document
	gone bool
}

// naive computes statistics one figure at a time, each from all documents.
func naive(w world) stats.Account {
	all := place(w)
	a := stats.Account{
		AccountID: run.AccountID, Source: run.Source, Login: run.Login, RunID: run.ID, AsOf: run.Anchor,
		ComputedAt: at("2026-03-10 12:34"), Documents: map[document.Kind]stats.DocumentCount{},
	}
	count := func(kind document.Kind, cond func(placed) bool) (n int64) {
		for _, d := range all {
			if d.Kind == kind && !d.gone && cond(d) {
				n++
			}
		}
		return n
	}
	own := func(d placed) bool { return strings.ToLower(d.Author) == "ada" }
	owned := func(d placed) bool { return !d.External }
	both := func(conds ...func(placed) bool) func(placed) bool {
		return func(d placed) bool {
			return !slices.ContainsFunc(conds, func(c func(placed) bool) bool { return !c(d) })
		}
	}
	any := func(placed) bool { return true }
	fork := func(d placed) bool { return d.Fork }
	external := func(d placed) bool { return d.External }
	merged := func(d placed) bool { return !d.MergedAt.IsZero() }

	a.Repositories = stats.Repositories{
		Owned: count(github.KindRepository, owned), Forks: count(github.KindRepository, both(owned, fork)),
		Private:  count(github.KindRepository, both(owned, func(d placed) bool { return d.Private })),
		Archived: count(github.KindRepository, both(owned, func(d placed) bool { return d.State == "archived" })),
		OfOthers: count(github.KindRepository, external),
	}
	a.Issues = stats.Issues{
		Seen: count(github.KindIssue, any), Opened: count(github.KindIssue, own),
		OpenedToOthers: count(github.KindIssue, both(own, external)),
		Solved: count(github.KindIssue, func(d placed) bool {
			return d.State == "closed" && (d.ClosedBy == login || d.ClosedBy == "" && !d.External)
		}),
	}
	a.Pulls = stats.Pulls{
		Seen: count(github.KindPull, any), Opened: count(github.KindPull, own),
		OpenedToOthers: count(github.KindPull, both(own, external)), Merged: count(github.KindPull, both(own, merged)),
		MergedToOthers: count(github.KindPull, both(own, merged, external)),
	}
	a.OthersCollected = slices.ContainsFunc(all, func(d placed) bool {
		done := d.Kind == github.KindCommit || d.Kind == github.KindIssue || d.Kind == github.KindPull
		return d.External && !d.gone && (d.Kind == github.KindRepository || done && own(d))
	})
	a.Commits.Seen = count(github.KindCommit, any)
	a.Commits.Unattributed = count(github.KindCommit, func(d placed) bool { return d.Author == "" })
	naiveActivity(&a, all, countedCommits(all, own), own)
	return a
}

func place(w world) []placed {
	var all []placed
	for _, d := range w {
		p := placed{Document: d, gone: d.Deleted}
		p.Fork = false
		for _, r := range w {
			if r.Kind == github.KindRepository && r.Repository == d.Repository {
				p.Fork, p.External, p.Language = r.Fork, r.External, r.Language
				p.gone = d.Deleted || r.Deleted && d.Kind != github.KindEvent
			}
		}
		p.Language = cmp.Or(p.Language, "Unknown")
		all = append(all, p)
	}
	return all
}

// countedCommits leaves out own commits of forks that lie elsewhere too.
func countedCommits(all []placed, own func(placed) bool) []placed {
	var counted []placed
	for _, d := range all {
		if d.Kind != github.KindCommit || d.gone || !own(d) {
			continue
		}
		elsewhere := slices.ContainsFunc(all, func(o placed) bool {
			return o.Kind == github.KindCommit && !o.gone && sha(o) == sha(d) &&
				(!o.Fork || o.Repository < d.Repository)
		})
		if !d.Fork || !elsewhere {
			counted = append(counted, d)
		}
	}
	return counted
}

func sha(d placed) string { return d.Name[strings.Index(d.Name, ":")+1:] }

func naiveActivity(a *stats.Account, all, commits []placed, own func(placed) bool) {
	languages := map[string]*stats.Language{}
	language := func(name string) *stats.Language {
		if languages[name] == nil {
			languages[name] = &stats.Language{Name: name}
		}
		return languages[name]
	}
	a.Activity.ByDay = map[string]int64{}
	happen := func(d placed, when time.Time) {
		language(d.Language).Activities++
		act := &a.Activity
		act.Total++
		act.ByDay[when.Format(time.DateOnly)]++
		act.ByWeekday[when.Weekday()]++
		act.ByHour[when.Hour()]++
		if act.First.IsZero() || when.Before(act.First) {
			act.First = when
		}
		if when.After(act.Last) {
			act.Last = when
		}
	}
	for _, d := range commits {
		c, l := &a.Commits, language(d.Language)
		c.Own++
		l.Commits++
		if d.External {
			c.ToOthers++
		}
		if d.Fork {
			c.InForks++
		}
		if d.Measured {
			c.Measured++
			c.Additions, c.Deletions = c.Additions+d.Additions, c.Deletions+d.Deletions
			l.Additions, l.Deletions = l.Additions+d.Additions, l.Deletions+d.Deletions
		}
		happen(d, d.CreatedAt)
	}
	naiveDocuments(a, all)
	for _, d := range all {
		switch {
		case d.gone:
		case d.Kind == github.KindRepository && !d.External:
			language(d.Language).Repositories++
			if !d.Fork {
				a.Repositories.Stars += d.Stars
			}
		case (d.Kind == github.KindIssue || d.Kind == github.KindPull) && own(d):
			happen(d, d.CreatedAt)
			if !d.MergedAt.IsZero() {
				happen(d, d.MergedAt)
			}
		}
	}
	a.Languages = naiveOrder(languages)
	naiveStreaks(&a.Activity)
	a.Scores = naiveScores(*a)
}

func naiveOrder(languages map[string]*stats.Language) []stats.Language {
	list := []stats.Language{}
	for _, l := range languages {
		list = append(list, *l)
	}
	slices.SortFunc(list, func(x, y stats.Language) int {
		return cmp.Or(int(y.Activities-x.Activities), strings.Compare(x.Name, y.Name))
	})
	return list
}

func naiveDocuments(a *stats.Account, all []placed) {
	for _, d := range all {
		n := a.Documents[d.Kind]
		n.Stored++
		if d.gone {
			n.Deleted++
		}
		if d.Truncated {
			n.Truncated++
		}
		a.Documents[d.Kind] = n
	}
}

// naiveStreaks walks every day of the calendar from the first to the last.
func naiveStreaks(act *stats.Activity) {
	act.ActiveDays = int64(len(act.ByDay))
	if act.ActiveDays == 0 {
		return
	}
	ending := func(day time.Time) (s stats.Streak) {
		s.To = day.Format(time.DateOnly)
		for ; act.ByDay[day.Format(time.DateOnly)] > 0; day = day.AddDate(0, 0, -1) {
			s.Days++
			s.From = day.Format(time.DateOnly)
		}
		if s.Days == 0 {
			return stats.Streak{}
		}
		return s
	}
	for day := act.First.Truncate(24 * time.Hour); !day.After(act.Last); day = day.AddDate(0, 0, 1) {
		if s := ending(day); s.Days >= act.Longest.Days && s.Days > 0 {
			act.Longest = s
		}
	}
	act.Current = ending(run.Anchor)
	if act.Current.Days == 0 {
		act.Current = ending(run.Anchor.AddDate(0, 0, -1))
	}
}

func naiveScores(a stats.Account) stats.Scores {
	l := func(n int64) float64 { return math.Log(1+float64(n)) / math.Ln2 }
	round := func(x float64) float64 { return math.Round(100*x) / 100 }
	return stats.Scores{
		Activity: round(10*l(a.Commits.Own) + 4*l(a.Issues.Opened) + 6*l(a.Pulls.Opened) + 10*l(a.Activity.ActiveDays)),
		Impact: round(10*l(a.Repositories.Stars) + 5*l(a.Issues.Solved) + 5*l(a.Pulls.Merged) +
			8*l(a.Pulls.MergedToOthers) + 2*l(a.Commits.ToOthers)),
	}
}
