package github

import "strconv"

// issue writes an item as the issues listing shows it; pull requests appear
// there too, marked by a pull_request member.
func (w *renderer) issue(it item) {
	full, number := it.repo.fullName(), strconv.Itoa(it.number)
	kind := "/issues/"
	if it.pull {
		kind = "/pull/"
	}
	w.open('{')
	w.key("url").join(w.base, "/repos/", full, "/issues/", number)
	w.key("repository_url").join(w.base, "/repos/", full)
	w.key("labels_url").join(w.base, "/repos/", full, "/issues/", number, "/labels{/name}")
	w.key("comments_url").join(w.base, "/repos/", full, "/issues/", number, "/comments")
	w.key("events_url").join(w.base, "/repos/", full, "/issues/", number, "/events")
	w.key("html_url").join(site, full, kind, number)
	w.key("id").int(it.id())
	w.key("node_id").join(it.ownNodeID())
	w.itemFields(&it)
	w.key("comments").int(it.comments())
	if it.pull {
		w.key("draft").bool(it.draft)
		w.key("pull_request").open('{')
		w.key("url").join(w.base, "/repos/", full, "/pulls/", number)
		w.key("html_url").join(site, full, "/pull/", number)
		w.key("diff_url").join(site, full, "/pull/", number, ".diff")
		w.key("patch_url").join(site, full, "/pull/", number, ".patch")
		w.key("merged_at").timeOrNull(it.merged)
		w.close('}')
	}
	w.key("reactions").raw(`{"total_count":0,"+1":0,"-1":0,"laugh":0,"hooray":0,"confused":0,"heart":0,"rocket":0,"eyes":0}`)
	w.key("timeline_url").join(w.base, "/repos/", full, "/issues/", number, "/timeline")
	w.key("performed_via_github_app").null()
	w.key("state_reason")
	w.stateReason(&it)
	w.close('}')
}

func (w *renderer) stateReason(it *item) {
	if it.open() || it.pull {
		w.null()
		return
	}
	w.join("completed")
}

// itemFields writes what issues and pull requests show alike.
func (w *renderer) itemFields(it *item) {
	w.key("number").int(int64(it.number))
	w.key("title").str(it.title())
	w.key("user")
	w.user(w.world.cast(it.repo, it.role))
	w.key("labels").open('[')
	for _, l := range it.labels() {
		w.label(it.repo, l)
	}
	w.close(']')
	w.key("state").join(restState(it))
	w.key("locked").bool(false)
	w.assignees(it)
	w.key("milestone")
	w.milestone(it)
	w.key("created_at").time(it.created)
	w.key("updated_at").time(it.updated)
	w.key("closed_at").timeOrNull(it.closed)
	w.key("author_association").join(association(it.role))
	w.key("active_lock_reason").null()
	w.key("body").str(it.body())
}

func restState(it *item) string {
	if it.open() {
		return "open"
	}
	return "closed"
}

func association(role authorRole) string {
	switch role {
	case byOwner:
		return "OWNER"
	case byHelper:
		return "CONTRIBUTOR"
	default:
		return "NONE"
	}
}

func (it *item) labels() []string {
	at := it.key >> 13 % uint64(len(labels))
	if at > 3 {
		return nil
	}
	return labels[at : at+1+it.key>>17%2]
}

// assigned tells whether somebody is to see to the item.
func (it *item) assigned() bool { return it.key>>23%4 == 0 }

// milestone is the title of the item's, "" for most.
func (it *item) milestone() string {
	if it.key>>27%8 != 0 {
		return ""
	}
	return "v" + strconv.FormatUint(1+it.key>>31%3, 10) + ".0"
}

// assignees writes both forms: the one that is left from when there was but one.
func (w *renderer) assignees(it *item) {
	w.key("assignee")
	if !it.assigned() {
		w.null()
		w.key("assignees").raw("[]")
		return
	}
	w.user(it.repo.owner)
	w.key("assignees").open('[')
	w.user(it.repo.owner)
	w.close(']')
}

func (w *renderer) milestone(it *item) {
	title := it.milestone()
	if title == "" {
		w.null()
		return
	}
	w.open('{')
	w.key("number").int(int64(title[1] - '0'))
	w.key("title").join(title)
	w.key("state").join("open")
	w.close('}')
}

func (w *renderer) label(r *repo, name string) {
	w.open('{')
	w.key("id").int(r.id*10 + int64(len(name)))
	w.key("node_id").join("LA_kwDO", b36(r.id), "_", b36(int64(len(name))))
	w.key("url").join(w.base, "/repos/", r.fullName(), "/labels/", name)
	w.key("name").join(name)
	w.key("color").join("d73a4a")
	w.key("default").bool(true)
	w.key("description").null()
	w.close('}')
}

// pull writes a pull request as the pulls listing shows it: merged_at, but no
// merged flag and no statistics.
func (w *renderer) pull(it item) {
	full, number := it.repo.fullName(), strconv.Itoa(it.number)
	api := w.base + "/repos/" + full
	w.open('{')
	w.key("url").join(api, "/pulls/", number)
	w.key("id").int(it.pullID())
	w.key("node_id").join(it.pullNodeID())
	w.key("html_url").join(site, full, "/pull/", number)
	w.key("diff_url").join(site, full, "/pull/", number, ".diff")
	w.key("patch_url").join(site, full, "/pull/", number, ".patch")
	w.key("issue_url").join(api, "/issues/", number)
	w.itemFields(&it)
	w.key("merged_at").timeOrNull(it.merged)
	w.key("merge_commit_sha").join(shaOf(it.key, 1))
	w.key("requested_reviewers").raw("[]")
	w.key("requested_teams").raw("[]")
	w.key("draft").bool(it.draft)
	w.key("commits_url").join(api, "/pulls/", number, "/commits")
	w.key("review_comments_url").join(api, "/pulls/", number, "/comments")
	w.key("comments_url").join(api, "/issues/", number, "/comments")
	w.key("statuses_url").join(api, "/statuses/", shaOf(it.key, 2))
	w.key("head")
	w.branch(&it, "topic-"+number, 2)
	w.key("base")
	w.branch(&it, "main", 3)
	w.key("_links").open('{')
	w.link("self", api, "/pulls/", number)
	w.link("html", site, full, "/pull/", number)
	w.link("issue", api, "/issues/", number)
	w.close('}')
	w.key("auto_merge").null()
	w.close('}')
}

func (w *renderer) link(rel string, parts ...string) {
	w.key(rel).open('{')
	w.key("href").join(parts...)
	w.close('}')
}

func (w *renderer) branch(it *item, ref string, salt int) {
	r := it.repo
	w.open('{')
	w.key("label").join(r.owner.login, ":", ref)
	w.key("ref").join(ref)
	w.key("sha").join(shaOf(it.key, salt))
	w.key("user")
	w.user(r.owner)
	w.key("repo").open('{')
	w.key("id").int(r.id)
	w.key("node_id").join(repoNodeID(r.id))
	w.key("name").join(r.name)
	w.key("full_name").join(r.owner.login, "/", r.name)
	w.key("private").bool(r.private)
	w.key("url").join(w.base, "/repos/", r.owner.login, "/", r.name)
	w.close('}')
	w.close('}')
}
