package github

import (
	"net/http"
	"slices"
	"strconv"
)

// The listings below a repository that hold parts.
const (
	endpointComments       = "comments"
	endpointReviewComments = "review_comments"
	endpointReleases       = "releases"
	endpointLabels         = "labels"
	endpointMilestones     = "milestones"
)

// partEndpoints says which kind an endpoint lists.
var partEndpoints = map[string]partKind{
	endpointComments: partComment, endpointReviewComments: partReviewComment, endpointReleases: partRelease,
	endpointLabels: partLabel, endpointMilestones: partMilestone,
}

// partRoute recognises a listing of parts by what follows the repository.
func partRoute(tail string) string {
	switch tail {
	case "issues/comments":
		return endpointComments
	case "pulls/comments":
		return endpointReviewComments
	case "releases", "labels", "milestones":
		return tail
	}
	return ""
}

func (c *call) serveParts(w *renderer, r *repo) {
	k := partEndpoints[c.route.endpoint]
	list := r.parts(k)
	p := c.page()
	if k.aboutItem() {
		since, ok := c.instant("since", "Comment")
		if !ok {
			return
		}
		if p.number > c.server.options.DeepestPage {
			c.fail(http.StatusUnprocessableEntity, "In order to keep the API fast for everyone, pagination is limited for this resource.", "rest/issues/comments")
			return
		}
		list = slices.DeleteFunc(list, func(p part) bool { return p.updated < since })
		by := func(p *part) int64 { return p.created }
		if c.query.Get("sort") == "updated" {
			by = func(p *part) int64 { return p.updated }
		}
		sortParts(list, by, c.query.Get("direction") == "desc")
	} else if k == partRelease {
		sortParts(list, func(p *part) int64 { return p.created }, true)
	}
	start, end := c.paginate(p, len(list), repoPath(r, c.route.tail))
	w.open('[')
	for i := start; i < end; i++ {
		w.part(&list[i])
	}
	w.close(']')
}

func (w *renderer) part(p *part) {
	full := p.repo.fullName()
	id := strconv.FormatInt(p.id(), 10)
	w.open('{')
	w.key("id").int(p.id())
	w.key("node_id").join(partNames[p.kind], "_", b36(p.id()))
	switch p.kind {
	case partComment:
		w.remark(p, "issue_url", w.base+"/repos/"+full+"/issues/"+strconv.Itoa(p.number), site+full+"/issues/"+strconv.Itoa(p.number)+"#issuecomment-"+id)
		w.key("reactions").raw(`{"total_count":0,"+1":0}`)
	case partReviewComment:
		w.remark(p, "pull_request_url", w.base+"/repos/"+full+"/pulls/"+strconv.Itoa(p.number), site+full+"/pull/"+strconv.Itoa(p.number)+"#discussion_r"+id)
		w.reviewComment(p)
	case partRelease:
		w.release(p, full)
	case partLabel:
		w.key("url").join(w.base, "/repos/", full, "/labels/", strconv.Itoa(p.serial))
		w.key("name").str(p.title())
		w.key("color").join("d73a4a")
		w.key("default").bool(p.serial < 2)
		w.key("description").str("For " + p.title())
	case partMilestone:
		w.milestonePart(p, full)
	}
	w.close('}')
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

func (w *renderer) release(p *part, full string) {
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

func (w *renderer) milestonePart(p *part, full string) {
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
