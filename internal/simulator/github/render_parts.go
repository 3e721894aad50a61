package github

import (
	"strconv"
	"strings"
)

// endpointRunJobs lists what a run of a workflow consisted of.
const (
	endpointRunJobs = "workflow_jobs"
	endpointRunJob  = "workflow_job"
)

// runJob is a job of one attempt of a run.
type runJob struct {
	run     *part
	attempt int // from 1
	at      int
	when    int64
}

// jobsOfRun is how many jobs an attempt of a run has.
func (p *part) jobsOfRun() int { return 1 + p.serial%3 }

// jobs are those of the last attempt, or of all of them.
func (p *part) jobs(all bool) (jobs []runJob) {
	for attempt := 1; attempt <= 1+p.edits; attempt++ {
		if attempt <= p.edits && !all {
			continue
		}
		when := p.created
		if attempt > 1 {
			when = p.repo.overlay.parts[p.kind].edits[p.serial][attempt-2]
		}
		for i := range p.jobsOfRun() {
			jobs = append(jobs, runJob{p, attempt, i, when})
		}
	}
	return jobs
}

// id tells attempts apart: each has jobs of its own.
func (j *runJob) id() int64 { return j.run.id()*1000 + int64(j.attempt-1)*3 + int64(j.at) }

func (j *runJob) title() string {
	return "job " + strconv.Itoa(j.at) + " of " + partNames[partRun] + " " + strconv.Itoa(j.run.serial) + ", attempt " + strconv.Itoa(j.attempt)
}

// truthJobs are the jobs of a run.
func (p *part) truthJobs() []TruthPart {
	var out []TruthPart
	for _, j := range p.jobs(true) {
		out = append(out, TruthPart{ID: j.id(), Title: j.title(), CreatedAt: j.when, UpdatedAt: j.when})
	}
	return out
}

// serveRunJobs answers which jobs a run has; false for other endpoints.
func (c *call) serveRunJobs(w *renderer, r *repo) bool {
	if c.route.endpoint != endpointRunJobs {
		return false
	}
	id, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimPrefix(c.route.tail, "/actions/runs/"), "/jobs"), 10, 64)
	p, ok := r.findPart(partRun, int((id-1)%mostParts))
	if err != nil || !ok || p.id() != id {
		c.notFound()
		return true
	}
	jobs := p.jobs(c.query.Get("filter") == "all")
	start, end := c.paginate(c.page(), len(jobs), repoPath(r, c.route.tail))
	w.open('{')
	w.key("total_count").int(int64(len(jobs)))
	w.key("jobs").open('[')
	for _, j := range jobs[start:end] {
		w.runJob(&j)
	}
	w.close(']')
	w.close('}')
	return true
}

func (w *renderer) runJob(j *runJob) {
	w.open('{')
	w.key("id").int(j.id())
	w.key("run_id").int(j.run.id())
	w.key("run_attempt").int(int64(j.attempt))
	w.key("name").str(j.title())
	w.key("status").join("completed")
	w.key("conclusion").join("success")
	w.key("runner_name").join("runner-", strconv.Itoa(j.at))
	w.key("created_at").time(j.when)
	w.key("started_at").time(j.when)
	w.key("completed_at").time(j.when)
	w.key("html_url").join(site, j.run.repo.fullName(), "/actions/runs/", strconv.FormatInt(j.run.id(), 10), "/job/", strconv.FormatInt(j.id(), 10))
	w.close('}')
}

func (w *renderer) branchPart(p *part) {
	w.key("name").str(p.name())
	w.commitOf(p)
	w.key("protected").bool(p.serial == 0)
}

func (w *renderer) tagPart(p *part) {
	w.key("name").str(p.name())
	w.commitOf(p)
	w.key("zipball_url").join(w.base, "/repos/", p.repo.fullName(), "/zipball/refs/tags/", p.name())
	w.key("node_id").join("REF_", b36(p.id()))
}

// commitOf writes the commit that a part stands at.
func (w *renderer) commitOf(p *part) {
	w.key("commit").open('{')
	w.key("sha").join(p.sha())
	w.key("url").join(w.base, "/repos/", p.repo.fullName(), "/commits/", p.sha())
	w.close('}')
}

func (w *renderer) contributor(p *part) {
	w.key("login").join(p.name())
	w.key("id").int(p.id())
	w.key("type").join("User")
	w.key("html_url").join(site, p.name())
	w.key("contributions").int(int64(p.contributions()))
}

func (w *renderer) run(p *part) {
	w.identity(p)
	w.key("name").join("CI")
	w.key("display_title").str(p.title())
	w.key("run_number").int(int64(p.serial + 1))
	w.key("run_attempt").int(int64(1 + p.edits))
	w.key("event").join("push")
	w.key("status").join("completed")
	w.key("conclusion").join([]string{"success", "failure", "cancelled"}[p.key%3])
	w.key("workflow_id").int(int64(1 + p.serial%3))
	w.key("head_branch").join("main")
	w.key("head_sha").join(p.sha())
	w.key("path").join(".github/workflows/ci.yml")
	w.key("actor")
	w.user(w.world.cast(p.repo, p.role))
	w.key("created_at").time(p.created)
	w.key("updated_at").time(p.updated)
	w.key("run_started_at").time(p.updated)
	w.key("url").join(w.base, "/repos/", p.repo.fullName(), "/actions/runs/", strconv.FormatInt(p.id(), 10))
	w.key("html_url").join(site, p.repo.fullName(), "/actions/runs/", strconv.FormatInt(p.id(), 10))
}

func (w *renderer) deployment(p *part) {
	w.identity(p)
	w.key("url").join(w.base, "/repos/", p.repo.fullName(), "/deployments/", strconv.FormatInt(p.id(), 10))
	w.key("sha").join(p.sha())
	w.key("ref").join("main")
	w.key("task").join("deploy")
	w.key("environment").join([]string{"production", "staging"}[p.key%2])
	w.key("description").str(p.title())
	w.key("creator")
	w.user(w.world.cast(p.repo, p.role))
	w.key("created_at").time(p.created)
	w.key("updated_at").time(p.updated)
	w.key("production_environment").bool(p.key%2 == 0)
}

func (w *renderer) issueEvent(p *part) {
	w.identity(p)
	w.key("url").join(w.base, "/repos/", p.repo.fullName(), "/issues/events/", strconv.FormatInt(p.id(), 10))
	w.key("actor")
	w.user(w.world.cast(p.repo, p.role))
	w.key("event").join(p.event())
	w.key("commit_id")
	if p.event() == "closed" {
		w.join(p.sha())
	} else {
		w.null()
	}
	w.key("created_at").time(p.created)
	switch p.event() {
	case "labeled":
		w.key("label").raw(`{"name":"bug","color":"d73a4a"}`)
	case "milestoned":
		w.key("milestone").raw(`{"title":"v1"}`)
	case "renamed":
		w.key("rename").raw(`{"from":"old","to":"new"}`)
	case "assigned":
		w.key("assignee")
		w.user(p.repo.owner)
	}
	w.key("issue").open('{')
	w.key("number").int(int64(p.number))
	w.close('}')
}

// alert writes what alerts of all kinds have.
func (w *renderer) alert(p *part, tail string) {
	w.key("number").int(int64(p.serial + 1))
	w.key("state").join([]string{"open", "fixed", "dismissed"}[p.key%3])
	w.key("url").join(w.base, "/repos/", p.repo.fullName(), "/", tail, "/alerts/", strconv.Itoa(p.serial+1))
	w.key("html_url").join(site, p.repo.fullName(), "/security/", tail, "/", strconv.Itoa(p.serial+1))
	w.key("created_at").time(p.created)
	w.key("updated_at").time(p.updated)
}

func (w *renderer) dependabotAlert(p *part) {
	w.alert(p, "dependabot")
	w.key("dependency").raw(`{"package":{"ecosystem":"go","name":"example.com/module"},"manifest_path":"go.mod","scope":"runtime"}`)
	w.key("security_advisory").open('{')
	w.key("ghsa_id").join("GHSA-", b36(p.id()))
	w.key("cve_id").join("CVE-2026-", strconv.Itoa(1000+p.serial))
	w.key("summary").str(p.title())
	w.key("severity").join([]string{"low", "medium", "high", "critical"}[p.key%4])
	w.close('}')
}

func (w *renderer) scanningAlert(p *part) {
	w.alert(p, "code-scanning")
	w.key("rule").open('{')
	w.key("id").join("go/rule-", strconv.Itoa(p.serial%5))
	w.key("severity").join("warning")
	w.key("description").str(p.title())
	w.close('}')
	w.key("tool").raw(`{"name":"CodeQL","version":"2.20.0"}`)
	w.key("most_recent_instance").raw(`{"ref":"refs/heads/main","location":{"path":"main.go","start_line":3}}`)
}
