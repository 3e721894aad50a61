package github

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
)

// Delivery is a webhook as GitHub sends it.
type Delivery struct {
	// ID is the same when it is sent again.
	ID, Event string
	Payload   []byte
}

// Sign is what GitHub puts into X-Hub-Signature-256.
func (d Delivery) Sign(secret string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(d.Payload)
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

// OnDelivery has send called with what GitHub would tell of each change that is made
// by a method of the server from now on, as things are right after it; base is where
// the addresses in it begin. Whether, when and how often it arrives is up to send.
// Changes that the world makes by itself are not told.
func (s *Server) OnDelivery(base string, send func(Delivery)) {
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	s.tells = &teller{base: base, send: send}
}

// teller sends what changes.
type teller struct {
	base string
	send func(Delivery)
	sent int
}

// change is one thing that GitHub tells of: the event, the action, and what goes into
// the payload beside repository and sender.
type change struct {
	event, action string
	body          func(w *renderer, r *repo) bool
}

// tell tells of a change of a repository that was made, if somebody listens.
func (s *Server) tell(err error, target Repo, changes ...change) error {
	if err != nil {
		return err
	}
	s.world.mu.Lock()
	var all []Delivery
	t := s.tells
	r, ok := s.world.repoByName(target.Owner, target.Name)
	for _, c := range changes {
		if t == nil || !ok {
			break
		}
		w := &renderer{buffer: &buffer{}, world: s.world, base: t.base}
		if !w.delivery(r, c) {
			continue
		}
		t.sent++
		id := strconv.FormatUint(derive(s.options.Seed, kindMutation, uint64(1<<40+t.sent)), 16)
		all = append(all, Delivery{ID: id, Event: c.event, Payload: w.b})
	}
	s.world.mu.Unlock()
	for _, d := range all {
		t.send(d)
	}
	return nil
}

// delivery writes a payload; false if there is nothing to tell.
func (w *renderer) delivery(r *repo, c change) bool {
	w.open('{')
	if c.action != "" {
		w.key("action").join(c.action)
	}
	if c.body != nil && !c.body(w, r) {
		return false
	}
	w.key("repository")
	w.repo(r)
	w.key("sender")
	w.user(r.owner)
	w.close('}')
	return true
}

// itemChange tells of an issue or a pull request.
func itemChange(number int, action string) []change {
	member := func(pull bool) func(w *renderer, r *repo) bool {
		return func(w *renderer, r *repo) bool {
			it, ok := r.itemAt(number, latest)
			if !ok || it.pull != pull {
				return false
			}
			if pull {
				w.key("pull_request")
				w.pull(it)
			} else {
				w.key("issue")
				w.issue(it)
			}
			return true
		}
	}
	return []change{{"issues", action, member(false)}, {"pull_request", action, member(true)}}
}

// pushChange tells of commits, without naming any: a payload has some of them.
func pushChange() change {
	return change{"push", "", func(w *renderer, _ *repo) bool {
		w.key("ref").join("refs/heads/main")
		w.key("commits").raw("[]")
		return true
	}}
}

// toldParts is how each kind of parts is told of: the event, the member of the
// payload that has it, and what writes it.
var toldParts = map[partKind]struct {
	event, member string
	write         func(*renderer, *part)
}{
	partComment:       {"issue_comment", "comment", (*renderer).commentPart},
	partReviewComment: {"pull_request_review_comment", "comment", (*renderer).reviewComment},
	partRelease:       {"release", "release", (*renderer).release},
	partLabel:         {"label", "label", (*renderer).labelPart},
	partMilestone:     {"milestone", "milestone", (*renderer).milestonePart},
	partRun:           {"workflow_run", "workflow_run", (*renderer).run},
	partDeployment:    {"deployment", "deployment", (*renderer).deployment},
	partDiscussion:    {"discussion", "discussion", (*renderer).toldDiscussion},
	partDependabot:    {"dependabot_alert", "alert", (*renderer).dependabotAlert},
	partScanning:      {"code_scanning_alert", "alert", (*renderer).scanningAlert},
}

// toldDiscussion writes what an event tells of a discussion, which is not what GraphQL
// does.
func (w *renderer) toldDiscussion(p *part) {
	w.identity(p)
	w.key("number").int(int64(p.serial + 1))
	w.key("title").str(p.title())
}

// refChange tells of a branch or a tag.
func refChange(k partKind, serial int, action string) []change {
	event := "create"
	switch action {
	case "deleted":
		event = "delete"
	case "edited":
		return nil // a push tells of that
	}
	return []change{{event, "", func(w *renderer, r *repo) bool {
		p := part{repo: r, kind: k, serial: serial}
		w.key("ref").str(p.name())
		w.key("ref_type").join(partNames[k])
		return true
	}}}
}

// jobChanges tells of the jobs of a run's last attempt.
func jobChanges(serial int) (all []change) {
	for i := range (&part{serial: serial}).jobsOfRun() {
		all = append(all, change{"workflow_job", "completed", func(w *renderer, r *repo) bool {
			p, ok := r.partAt(partRun, serial, latest)
			if ok {
				w.key("workflow_job")
				w.runJob(&p.jobs(false)[i])
			}
			return ok
		}})
	}
	return all
}

// partChange tells of something by its place among all that there ever were.
func partChange(k partKind, serial int, action string) []change {
	told, ok := toldParts[k]
	switch {
	case k == partBranch || k == partTag:
		return refChange(k, serial, action)
	case !ok || k == partRun && action == "deleted":
		return nil // GitHub does not tell
	}
	var jobs []change
	if k == partRun {
		jobs = jobChanges(serial)
	}
	return append([]change{{told.event, action, func(w *renderer, r *repo) bool {
		p, ok := r.partAt(k, serial, latest)
		if !ok {
			return true // it is gone, which the action says
		}
		w.key(told.member).open('{')
		told.write(w, &p)
		w.close('}')
		if it, ok := r.itemAt(p.number, latest); ok && k == partComment {
			w.key("issue")
			w.issue(it)
		} else if ok && k == partReviewComment {
			w.key("pull_request")
			w.pull(it)
		}
		return true
	}}}, jobs...)
}

// repoChange tells of the repository itself; former is what it was before, as GitHub
// words it.
func repoChange(event, action string, former ...string) change {
	return change{event: event, action: action, body: func(w *renderer, _ *repo) bool {
		if len(former) > 0 {
			w.key("changes").raw(former[0])
		}
		return true
	}}
}
