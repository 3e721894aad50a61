package github

import (
	"fmt"
	"slices"
	"time"
)

// MinimumCalls is how many calls a complete first collection makes that wastes
// none and asks for one page of 100 at a time. It is a yardstick, no lower bound:
// a GraphQL query may ask for pages of several repositories at once.
//
//	profile    1
//	discovery  2 walks over the repositories: 2·⌈repositories/100⌉, at least 2
//	commits    GraphQL history with statistics: ⌈commits/100⌉ per repository
//	           that has commits (discovery tells which)
//	issues     the issues listing, which holds pull requests as well:
//	           ⌈(issues+pulls)/100⌉ per repository that has any and has issues
//	           enabled
//	pulls      GraphQL details in batches of 100 numbers, which may span
//	           repositories: ⌈pulls/100⌉ over those with issues enabled, and
//	           ⌈pulls/100⌉ each for those without, whose pulls only their own
//	           connection lists
//	events     ⌈events/100⌉, at least 1; none of an organisation
//	members    of an organisation: its members and its teams, a page each at least
//
// A repository that is collected alone is found with one call, and has neither
// profile nor events.
type MinimumCalls struct {
	Profile   int `json:"profile"`
	Discovery int `json:"discovery"`
	Commits   int `json:"commits"`
	Issues    int `json:"issues"`
	Pulls     int `json:"pulls"`
	Events    int `json:"events"`
	Members   int `json:"members,omitempty"`
	Total     int `json:"total"`
	// Standard is what the smaller things take beside, which are collected unless
	// somebody says otherwise. It is no part of Total.
	Standard MinimumParts `json:"standard"`
}

// MinimumParts is the same for the smaller things of repositories.
//
//	comments, review comments   ⌈n/100⌉ per repository, at least 1 where there is
//	           something that they could be about: nothing tells in advance that there
//	           are none
//	reviews    GraphQL, with the pull requests that they are about: ⌈pulls/100⌉
//	others     ⌈n/100⌉ per repository; discovery tells where there are none
type MinimumParts struct {
	Comments       int `json:"comments"`
	ReviewComments int `json:"review_comments"`
	Reviews        int `json:"reviews"`
	Releases       int `json:"releases"`
	Labels         int `json:"labels"`
	Milestones     int `json:"milestones"`
	Total          int `json:"total"`
}

// add adds those of a repository.
func (m *MinimumParts) add(r *repo, issues, pulls int, at int64) {
	if issues+pulls > 0 {
		m.Comments += max(1, pages(r.partCount(partComment, at)))
	}
	if pulls > 0 {
		m.ReviewComments += max(1, pages(r.partCount(partReviewComment, at)))
		m.Reviews += pages(pulls)
	}
	m.Releases += pages(r.partCount(partRelease, at))
	m.Labels += pages(r.partCount(partLabel, at))
	m.Milestones += pages(r.partCount(partMilestone, at))
	m.Total = m.Comments + m.ReviewComments + m.Reviews + m.Releases + m.Labels + m.Milestones
}

// MinimumOf is how many calls one of the smaller kinds takes that is not collected unless
// somebody asks for it: ⌈n/100⌉ for each repository, at least 1, since nothing tells in
// advance that there are none; of discussions it does. What belongs to pull requests
// comes with these, 100 at a time; stars come by 30 weeks, and traffic in four lists.
func (s *Server) MinimumOf(login, kind string) (int, error) {
	w := s.world
	w.mu.RLock()
	defer w.mu.RUnlock()
	subject, ok := w.subjectCalled(login)
	if !ok {
		return 0, fmt.Errorf("account %s does not exist", login)
	}
	calls := 0
	for _, r := range subject.repos {
		if about, ok := r.truth(subject.eyes(r, latest), latest); ok && about.holds() {
			calls += w.leastOf(r, kind, s.now().Unix())
		}
	}
	return calls, nil
}

func (w *world) leastOf(r *repo, kind string, now int64) int {
	_, issues, pulls := w.sizesAt(r, latest)
	k := partKind(slices.Index(partNames[:], kind))
	switch {
	case kind == "traffic":
		return 4
	case kind == endpointRunJob:
		return max(1, pages(r.partCount(partRun, latest))) + r.partCount(partRun, latest)
	case kind == "star_week":
		return (len(r.weeks(now)) + starWeeks - 1) / starWeeks
	case k == partPullCommit, k == partPullFile:
		return pages(pulls)
	case k == partDiscussion:
		return pages(r.partCount(k, latest))
	case k == partIssueEvent && issues+pulls == 0:
		return 0
	}
	return max(1, pages(r.partCount(k, latest)))
}

// partCount counts the parts of a kind that were there at an instant.
func (r *repo) partCount(k partKind, at int64) int {
	n := 0
	for serial := range r.lastPart(k) {
		if _, ok := r.partAt(k, serial, at); ok {
			n++
		}
	}
	return n
}

// TruthCounts is the size of an account's truth.
type TruthCounts struct {
	Profile      TruthProfile `json:"profile"`
	Repositories int          `json:"repositories"`
	Commits      int          `json:"commits"`
	Issues       int          `json:"issues"`
	Pulls        int          `json:"pulls"`
	Events       int          `json:"events"`
	Members      int          `json:"members,omitempty"`
	Teams        int          `json:"teams,omitempty"`
	Minimum      MinimumCalls `json:"minimum_calls"`
}

// MinimumCalls works out the fewest calls for an account as it stands now.
func (s *Server) MinimumCalls(login string) (MinimumCalls, error) {
	counts, err := s.TruthCounts(login, time.Time{})
	return counts.Minimum, err
}

// TruthCounts sizes the truth as of an instant; the zero time means now.
func (s *Server) TruthCounts(login string, at time.Time) (TruthCounts, error) {
	w := s.world
	w.mu.RLock()
	defer w.mu.RUnlock()
	subject, ok := w.subjectCalled(login)
	if !ok {
		return TruthCounts{}, fmt.Errorf("account %s does not exist", login)
	}
	when := truthInstant(at)
	head := w.truthHead(subject, when)
	out := TruthCounts{Profile: head.Profile, Events: len(head.Events), Members: len(head.Members), Teams: len(head.Teams)}
	batched := 0
	for _, r := range subject.repos {
		if about, ok := r.truth(subject.eyes(r, when), when); !ok || !about.holds() {
			continue
		}
		out.Repositories++
		commits, issues, pulls := w.sizesAt(r, when)
		out.Commits += commits
		out.Issues += issues
		out.Pulls += pulls
		out.Minimum.Commits += pages(commits)
		out.Minimum.Standard.add(r, issues, pulls, when)
		if r.issuesDisabled {
			out.Minimum.Pulls += pages(pulls)
			continue
		}
		out.Minimum.Issues += pages(issues + pulls)
		batched += pulls
	}
	m := &out.Minimum
	m.Pulls += pages(batched)
	switch {
	case subject.account < 0:
		m.Discovery = 1
	case w.isOrganization(subject.account):
		m.Profile, m.Discovery = 1, 2*max(1, pages(out.Repositories))
		m.Members = max(1, pages(out.Members)) + max(1, pages(out.Teams))
	default:
		m.Profile, m.Discovery, m.Events = 1, 2*max(1, pages(out.Repositories)), max(1, pages(out.Events))
	}
	m.Total = m.Profile + m.Discovery + m.Commits + m.Issues + m.Pulls + m.Events + m.Members
	return out, nil
}

func pages(items int) int { return (items + 99) / 100 }

// sizesAt counts what a repository held at an instant.
func (w *world) sizesAt(r *repo, at int64) (commits, issues, pulls int) {
	if at == latest {
		return r.commitCount(), r.itemCount(false), r.itemCount(true)
	}
	for serial := range r.serials() {
		if r.hasCommitAt(serial, at) {
			commits++
		}
	}
	for number := 1; number <= r.lastNumber(); number++ {
		it, there := r.itemAt(number, at)
		switch {
		case !there:
		case it.pull:
			pulls++
		default:
			issues++
		}
	}
	return commits, issues, pulls
}
