package github

import (
	"net/http"
	"strconv"
	"strings"
)

// partListing is a listing below a repository that holds parts.
type partListing struct {
	kind           partKind
	endpoint, tail string
	// wrap is the member that holds the list, beside how many there are.
	wrap string
	// since says that it can be asked for from an instant on, newest that the newest
	// come first.
	since, newest bool
	// refusal is the answer where the repository does not have it.
	refusal int
	why     string
	write   func(w *renderer, p *part)
}

var partListings = []partListing{
	{kind: partComment, endpoint: "comments", tail: "issues/comments", since: true, write: (*renderer).commentPart},
	{kind: partReviewComment, endpoint: "review_comments", tail: "pulls/comments", since: true, write: (*renderer).reviewComment},
	{kind: partRelease, endpoint: "releases", tail: "releases", newest: true, write: (*renderer).release},
	{kind: partLabel, endpoint: "labels", tail: "labels", write: (*renderer).labelPart},
	{kind: partMilestone, endpoint: "milestones", tail: "milestones", write: (*renderer).milestonePart},
	{kind: partBranch, endpoint: "branches", tail: "branches", write: (*renderer).branchPart},
	{kind: partTag, endpoint: "tags", tail: "tags", write: (*renderer).tagPart},
	{kind: partContributor, endpoint: "contributors", tail: "contributors", refusal: http.StatusNoContent, write: (*renderer).contributor},
	{kind: partRun, endpoint: "workflow_runs", tail: "actions/runs", wrap: "workflow_runs", newest: true, write: (*renderer).run},
	{kind: partDeployment, endpoint: "deployments", tail: "deployments", newest: true, write: (*renderer).deployment},
	{kind: partIssueEvent, endpoint: "issue_events", tail: "issues/events", newest: true, write: (*renderer).issueEvent},
	{kind: partDependabot, endpoint: "dependabot_alerts", tail: "dependabot/alerts", refusal: http.StatusForbidden,
		why: "Dependabot alerts are disabled for this repository.", write: (*renderer).dependabotAlert},
	{kind: partScanning, endpoint: "code_scanning_alerts", tail: "code-scanning/alerts", refusal: http.StatusNotFound,
		why: "no analysis found", write: (*renderer).scanningAlert},
}

// partRoute recognises a listing of parts by what follows the repository.
func partRoute(tail string) string {
	for i := range partListings {
		if partListings[i].tail == tail {
			return partListings[i].endpoint
		}
	}
	if strings.HasPrefix(tail, "actions/runs/") && strings.HasSuffix(tail, "/jobs") {
		return endpointRunJobs
	}
	return dayRoute(tail)
}

func listingAt(endpoint string) *partListing {
	for i := range partListings {
		if partListings[i].endpoint == endpoint {
			return &partListings[i]
		}
	}
	return nil
}

func (c *call) serveParts(w *renderer, r *repo, l *partListing) {
	if r.switchedOff(l.kind) && l.refusal != 0 {
		c.fail(l.refusal, l.why, "rest")
		if l.refusal == http.StatusNoContent {
			c.out.b = c.out.b[:0]
		}
		return
	}
	p := c.page()
	order, descending := byPlace, false
	since := int64(0)
	switch {
	case l.since:
		from, ok := c.instant("since", "Comment")
		if !ok {
			return
		}
		if p.number > c.server.options.DeepestPage {
			c.fail(http.StatusUnprocessableEntity, "In order to keep the API fast for everyone, pagination is limited for this resource.", "rest/issues/comments")
			return
		}
		order, descending, since = byCreation, c.query.Get("direction") == "desc", from
		if c.query.Get("sort") == "updated" {
			order = byChange
		}
	case l.newest:
		order, descending = byCreation, true
	}
	list := r.ordered(l.kind, order, since)
	start, end := c.paginate(p, len(list), repoPath(r, c.route.tail))
	if l.wrap != "" {
		w.open('{')
		w.key("total_count").int(int64(len(list)))
		w.key(l.wrap)
	}
	w.open('[')
	for i := start; i < end; i++ {
		at := i
		if descending {
			at = len(list) - 1 - i
		}
		one, _ := r.partAt(l.kind, int(list[at].serial), latest)
		w.open('{')
		l.write(w, &one)
		w.close('}')
	}
	w.close(']')
	if l.wrap != "" {
		w.close('}')
	}
}

// identity writes the id that most parts have.
func (w *renderer) identity(p *part) {
	w.key("id").int(p.id())
	w.key("node_id").join(partNames[p.kind], "_", b36(p.id()))
}

func (w *renderer) commentPart(p *part) {
	full, number := p.repo.fullName(), strconv.Itoa(p.number)
	w.identity(p)
	w.remark(p, "issue_url", w.base+"/repos/"+full+"/issues/"+number, site+full+"/issues/"+number+"#issuecomment-"+strconv.FormatInt(p.id(), 10))
	w.key("reactions").raw(`{"total_count":0,"+1":0}`)
}

func (w *renderer) labelPart(p *part) {
	w.identity(p)
	w.key("url").join(w.base, "/repos/", p.repo.fullName(), "/labels/", strconv.Itoa(p.serial))
	w.key("name").str(p.title())
	w.key("color").join("d73a4a")
	w.key("default").bool(p.serial < 2)
	w.key("description").str("For " + p.title())
}

func (w *renderer) remark(p *part, about, address, html string) {
	w.key("url").join(w.base, "/repos/", p.repo.fullName(), "/comments/", strconv.FormatInt(p.id(), 10))
	w.key("html_url").join(html)
	w.key(about).join(address)
	w.key("user")
	w.user(w.world.cast(p.repo, p.role))
	w.key("created_at").time(p.created)
	w.key("updated_at").time(p.updated)
	w.key("author_association").join(association(p.role))
	w.key("body").str(p.title())
}

func (w *renderer) reviewComment(p *part) {
	full, number := p.repo.fullName(), strconv.Itoa(p.number)
	w.identity(p)
	w.remark(p, "pull_request_url", w.base+"/repos/"+full+"/pulls/"+number, site+full+"/pull/"+number+"#discussion_r"+strconv.FormatInt(p.id(), 10))
	w.key("reactions").raw(`{"total_count":1,"+1":1}`)
	w.key("pull_request_review_id").int(p.id() + 1)
	w.key("path").join("internal/", strconv.Itoa(p.serial%7), ".go")
	w.key("diff_hunk").str("@@ -1,3 +1,3 @@")
	w.key("commit_id").join(shaOf(p.repo.key, 0))
	w.key("line").int(int64(1 + p.serial%80))
	if p.serial%3 == 0 {
		w.key("in_reply_to_id").int(p.id() - 1)
	}
}

func (w *renderer) release(p *part) {
	full := p.repo.fullName()
	w.identity(p)
	tag := "v0." + strconv.Itoa(p.serial) + ".0"
	w.key("url").join(w.base, "/repos/", full, "/releases/", strconv.FormatInt(p.id(), 10))
	w.key("html_url").join(site, full, "/releases/tag/", tag)
	w.key("tag_name").join(tag)
	w.key("target_commitish").join("main")
	w.key("name").str(p.title())
	w.key("draft").bool(false)
	w.key("prerelease").bool(p.serial%4 == 3)
	w.key("created_at").time(p.created)
	w.key("published_at").time(p.created)
	w.key("author")
	w.user(w.world.cast(p.repo, p.role))
	w.key("body").str("What is new in " + tag)
	w.key("reactions").raw(`{"total_count":2,"+1":2}`)
	w.key("assets").open('[')
	for i := range p.serial % 3 {
		w.open('{')
		w.key("id").int(p.id()*10 + int64(i))
		w.key("name").join("sluice-", strconv.Itoa(i), ".tar.gz")
		w.key("size").int(int64(1000 * (i + 1)))
		w.key("download_count").int(int64(p.key >> 20 % 1000))
		w.close('}')
	}
	w.close(']')
}

func (w *renderer) milestonePart(p *part) {
	full := p.repo.fullName()
	w.identity(p)
	w.key("url").join(w.base, "/repos/", full, "/milestones/", strconv.Itoa(p.serial+1))
	w.key("html_url").join(site, full, "/milestone/", strconv.Itoa(p.serial+1))
	w.key("number").int(int64(p.serial + 1))
	w.key("title").str(p.title())
	w.key("state").join("open")
	w.key("description").str("Until " + p.title() + " is reached")
	w.key("creator")
	w.user(w.world.cast(p.repo, p.role))
	w.key("open_issues").int(int64(p.key % 9))
	w.key("closed_issues").int(int64(p.key >> 9 % 9))
	w.key("created_at").time(p.created)
	w.key("updated_at").time(p.updated)
	w.key("closed_at").null()
	w.key("due_on").time(p.created + 90*86400)
}
