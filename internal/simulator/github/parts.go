package github

import (
	"fmt"
	"slices"
	"strconv"
)

// partKind is a kind of the smaller things that a repository holds.
type partKind int

const (
	partComment partKind = iota
	partReviewComment
	partRelease
	partLabel
	partMilestone
	partReview
	partBranch
	partTag
	partContributor
	partRun
	partDeployment
	partIssueEvent
	partDependabot
	partScanning
	partDiscussion
	partPullCommit
	partPullFile
	partKinds
)

var partNames = [partKinds]string{
	"comment", "review_comment", "release", "label", "milestone", "review", "branch", "tag", "contributor", "workflow_run", "deployment",
	"issue_event", "dependabot_alert", "code_scanning_alert", "discussion", "pull_commit", "pull_file",
}

// part is one of them as it stands.
type part struct {
	repo             *repo
	kind             partKind
	serial           int
	key              uint64
	number           int // of the issue or pull request that it is about
	role             authorRole
	created, updated int64
	edits            int
}

// partOverlay is what happened to a repository's parts of one kind after the base
// world ended.
type partOverlay struct {
	added   []addedPart
	edits   map[int][]int64
	removed map[int]absences
}

type addedPart struct {
	number  int
	created int64
}

func editsOf(p *part) string {
	if p.edits == 0 {
		return ""
	}
	return " (edit " + strconv.Itoa(p.edits) + ")"
}

// baseParts counts what the base world has.
func (r *repo) baseParts(k partKind) int {
	if r.switchedOff(k) {
		return 0
	}
	d := draws{derive(r.key, kindPart, uint64(k)<<40)}
	if s := r.world.shape; s != nil && (s.Parts != (Range{}) || k == partComment && s.Comments != (Range{})) {
		size := s.Parts
		if k == partComment && s.Comments != (Range{}) {
			size = s.Comments
		}
		n := d.within(size)
		if k.aboutItem() && r.baseItems() == 0 || k.aboutPull() && r.basePulls == 0 {
			return 0
		}
		return n
	}
	switch k {
	case partComment:
		return int(int64(r.baseItems()) * d.below(30) / 10)
	case partReviewComment, partReview, partPullCommit, partPullFile:
		return int(int64(r.basePulls) * d.below(20) / 10)
	case partIssueEvent:
		return int(int64(r.baseItems()) * d.below(20) / 10)
	case partRelease:
		return int(d.below(5))
	case partMilestone:
		return int(d.below(4))
	}
	return int(3 + d.below(9))
}

func (r *repo) lastPart(k partKind) int {
	n := r.baseParts(k)
	if o := r.overlay.parts[k]; o != nil {
		n += len(o.added)
	}
	return n
}

// partAt is a part as it stood at an instant; false when it was not there.
func (r *repo) partAt(k partKind, serial int, at int64) (part, bool) {
	p := part{repo: r, kind: k, serial: serial, key: derive(r.key, kindPart, uint64(k)<<32|uint64(serial))}
	d := draws{p.key}
	p.role = drawRole(&d)
	o := r.overlay.parts[k]
	if base := r.baseParts(k); serial >= base {
		added := o.added[serial-base]
		p.number, p.created, p.updated = added.number, added.created, added.created
	} else {
		r.placePart(&p, &d)
	}
	if p.created > at || k.aboutItem() && !r.hasItem(p.number, at) {
		return p, false
	}
	if o == nil {
		return p, true
	}
	if _, gone := o.removed[serial].at(at); gone {
		return p, false
	}
	for _, when := range o.edits[serial] {
		if when <= at {
			p.updated = when
			p.edits++
		}
	}
	return p, true
}

// placePart gives a part of the base world its place: what is about an issue was said
// while that was as it is.
func (r *repo) placePart(p *part, d *draws) {
	if !p.kind.aboutItem() {
		p.created = r.created + d.below(worldEnd-86400-r.created)
		p.updated = p.created
		return
	}
	p.number = 1 + int(d.below(int64(r.baseItems())))
	for step := 0; p.kind.aboutPull() && !r.isPull(p.number) && step < r.baseItems(); step++ {
		p.number = p.number%r.baseItems() + 1
	}
	it := r.original(p.number)
	p.created = it.created + d.below(it.updated-it.created+1)
	p.updated = p.created + d.below(it.updated-p.created+1)
}

func (r *repo) hasItem(number int, at int64) bool {
	_, there := r.itemAt(number, at)
	return there
}

// parts lists what is there now.
func (r *repo) parts(k partKind) []part {
	var out []part
	for serial := range r.lastPart(k) {
		if p, ok := r.partAt(k, serial, latest); ok {
			out = append(out, p)
		}
	}
	return out
}

// sortParts orders parts by a time, those of one second by id.
func sortParts(list []part, by func(*part) int64, descending bool) {
	slices.SortFunc(list, func(a, b part) int {
		c := cmp64(by(&a), by(&b))
		if c == 0 {
			c = a.serial - b.serial
		}
		if descending {
			return -c
		}
		return c
	})
}

// TruthPart is one of the smaller things that a repository holds.
type TruthPart struct {
	ID int64 `json:"id"`
	// Name names it where that is not its id.
	Name      string `json:"name,omitempty"`
	Number    int    `json:"number,omitempty"`
	Title     string `json:"title"`
	Author    string `json:"author,omitempty"`
	CreatedAt int64  `json:"created_at"`
	UpdatedAt int64  `json:"updated_at"`
}

// truthParts lists what a repository held at an instant, by kind.
func (w *world) truthParts(r *repo, at int64) map[string][]TruthPart {
	out := map[string][]TruthPart{}
	for k := range partKinds {
		for serial := range r.lastPart(k) {
			p, ok := r.partAt(k, serial, at)
			if !ok {
				continue
			}
			one := TruthPart{ID: p.id(), Name: p.name(), Number: p.number, Title: p.words(), CreatedAt: p.created, UpdatedAt: p.updated}
			if !k.nobodys() {
				one.Author = w.cast(r, p.role).login
			}
			out[partNames[k]] = append(out[partNames[k]], one)
			if k == partRun {
				out[endpointRunJob] = append(out[endpointRunJob], p.truthJobs()...)
			}
		}
	}
	return out
}

// The kinds of parts, for those who change them.
const (
	PartComment       = "comment"
	PartReviewComment = "review_comment"
	PartReview        = "review"
	PartRelease       = "release"
	PartLabel         = "label"
	PartMilestone     = "milestone"
	PartBranch        = "branch"
	PartTag           = "tag"
	PartContributor   = "contributor"
	PartRun           = "workflow_run"
	PartDeployment    = "deployment"
	PartIssueEvent    = "issue_event"
	PartDependabot    = "dependabot_alert"
	PartScanning      = "code_scanning_alert"
	PartDiscussion    = "discussion"
	PartPullCommit    = "pull_commit"
	PartPullFile      = "pull_file"
)

// AddPart adds something of a kind; number is the issue or pull request that it is
// about, whose updated_at moves.
func (s *Server) AddPart(target Repo, kind string, number int) error {
	serial := 0
	return s.tellPart(s.changePart(target, kind, func(r *repo, o *repoOverlay, k partKind, parts *partOverlay, now int64) error {
		if k.aboutItem() && !s.world.touchItem(r, o, number, now) {
			return fmt.Errorf("%s has no issue or pull request %d", r.fullName(), number)
		}
		if r.switchedOff(k) {
			return fmt.Errorf("%s has no %ss", r.fullName(), kind)
		}
		if !k.aboutItem() {
			number = 0
		}
		parts.added = append(parts.added, addedPart{number: number, created: now})
		serial = r.lastPart(k) - 1
		return nil
	}), target, kind, &serial, "created")
}

// tellPart tells of something that was changed.
func (s *Server) tellPart(err error, target Repo, kind string, serial *int, action string) error {
	if err != nil {
		return err
	}
	return s.tell(nil, target, partChange(partKind(slices.Index(partNames[:], kind)), *serial, action)...)
}

// EditPart changes something by its place among all that there ever were; what it is
// about is changed with it.
func (s *Server) EditPart(target Repo, kind string, serial int) error {
	return s.tellPart(s.changePart(target, kind, func(r *repo, o *repoOverlay, k partKind, parts *partOverlay, now int64) error {
		p, ok := r.findPart(k, serial)
		if !ok || k.fixed() {
			return fmt.Errorf("%s has no %s %d", r.fullName(), kind, serial)
		}
		if k.aboutItem() {
			s.world.touchItem(r, o, p.number, now)
		}
		parts.edits[serial] = append(parts.edits[serial], max(now, p.updated))
		return nil
	}), target, kind, &serial, "edited")
}

// DeletePart removes something; no listing tells of it.
func (s *Server) DeletePart(target Repo, kind string, serial int) error {
	return s.tellPart(s.changePart(target, kind, func(r *repo, _ *repoOverlay, k partKind, parts *partOverlay, now int64) error {
		if _, ok := r.findPart(k, serial); !ok {
			return fmt.Errorf("%s has no %s %d", r.fullName(), kind, serial)
		}
		parts.removed[serial] = parts.removed[serial].begin(GoneDeleted, now)
		return nil
	}), target, kind, &serial, "deleted")
}

func (r *repo) findPart(k partKind, serial int) (part, bool) {
	if serial < 0 || serial >= r.lastPart(k) {
		return part{}, false
	}
	return r.partAt(k, serial, latest)
}

func (w *world) touchItem(r *repo, o *repoOverlay, number int, now int64) bool {
	it, ok := r.findItem(number)
	if ok {
		o.edits[number] = append(o.edits[number], it.edit(now))
	}
	return ok
}

func (s *Server) changePart(target Repo, kind string, apply func(*repo, *repoOverlay, partKind, *partOverlay, int64) error) error {
	k := partKind(slices.Index(partNames[:], kind))
	if k < 0 {
		return fmt.Errorf("there is no kind %q", kind)
	}
	return s.change(target, func(r *repo, o *repoOverlay, now int64) error {
		return apply(r, o, k, o.partsOf(k), now)
	})
}

// partsOf is the overlay of a kind, made when it is first needed.
func (o *repoOverlay) partsOf(k partKind) *partOverlay {
	if o.parts[k] == nil {
		o.parts[k] = &partOverlay{edits: map[int][]int64{}, removed: map[int]absences{}}
	}
	return o.parts[k]
}
