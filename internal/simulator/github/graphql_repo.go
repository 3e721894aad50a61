package github

import "time"

func (ex *execution) repository(sel *selection, r *repo) {
	ex.object(sel, "Repository", func(f *chosen) bool {
		return ex.repositoryScalar(f, r) || ex.repositoryTrait(f, r) || ex.repositoryObject(f, r)
	})
}

func (ex *execution) repositoryScalar(f *chosen, r *repo) bool {
	w := ex.out
	switch f.field.Name {
	case "id":
		w.join(repoNodeID(r.id))
	case "databaseId":
		w.int(r.id)
	case "name":
		w.join(r.name)
	case "nameWithOwner":
		w.join(r.fullName())
	case "description":
		w.str("A " + r.name + " by " + r.owner.login)
	case "url":
		w.join(site, r.fullName())
	case "stargazerCount":
		w.int(r.stars)
	case "forkCount":
		w.int(r.forks)
	case "diskUsage":
		w.int(r.size)
	case "createdAt":
		w.time(r.created)
	case "updatedAt":
		w.time(r.updated)
	case "pushedAt":
		w.time(r.pushed)
	default:
		return false
	}
	return true
}

// repositoryTrait writes what kind of repository it is.
func (ex *execution) repositoryTrait(f *chosen, r *repo) bool {
	w := ex.out
	switch f.field.Name {
	case "isFork":
		w.bool(r.fork)
	case "isPrivate":
		w.bool(r.private)
	case "isEmpty":
		w.bool(r.empty())
	case "isArchived":
		w.bool(r.archived)
	case "isDisabled":
		w.bool(r.blocked())
	case "isLocked", "isMirror", "isTemplate", "isInOrganization":
		w.bool(false)
	case "lockReason", "mirrorUrl":
		w.null()
	case "homepageUrl":
		w.strOrNull(r.homepage())
	case "resourcePath":
		w.join("/", r.fullName())
	case "hasDiscussionsEnabled":
		w.bool(!r.switchedOff(partDiscussion))
	case "hasIssuesEnabled":
		w.bool(!r.issuesDisabled)
	case "visibility":
		w.join(map[bool]string{true: "PRIVATE", false: "PUBLIC"}[r.private])
	default:
		return false
	}
	return true
}

func (ex *execution) repositoryObject(f *chosen, r *repo) bool {
	switch f.field.Name {
	case "owner":
		ex.user(f.sub, r.owner)
	case "stargazers":
		ex.count(f, "Stargazer", r.stars)
	case "watchers":
		ex.count(f, "User", r.watchers)
	case "forks":
		ex.count(f, "Repository", r.forks)
	case "primaryLanguage":
		ex.language(f.sub, r.language)
	case "languages":
		ex.languages(f, r)
	case "licenseInfo":
		ex.license(f, r)
	case "defaultBranchRef":
		ex.branch(f, r)
	case "issues":
		ex.items(f, r, false)
	case "pullRequests":
		ex.items(f, r, true)
	case "releases":
		ex.repoParts(f, r, partRelease, "Release")
	case "labels":
		ex.repoParts(f, r, partLabel, "Label")
	case "milestones":
		ex.repoParts(f, r, partMilestone, "Milestone")
	case "discussions":
		if !ex.tooHeavy(f, r.id) {
			ex.repoParts(f, r, partDiscussion, "Discussion")
		}
	case "issue":
		ex.itemByNumber(f, r, "an Issue", func(it *item) bool { return !it.pull })
	case "pullRequest":
		ex.itemByNumber(f, r, "a PullRequest", func(it *item) bool { return it.pull })
	case "issueOrPullRequest":
		ex.itemByNumber(f, r, "an issue or pull request", func(*item) bool { return true })
	case "object":
		ex.commitByRef(f, r)
	default:
		return false
	}
	return true
}

func (ex *execution) language(sel *selection, name string) {
	if name == "" {
		ex.out.null()
		return
	}
	ex.object(sel, "Language", func(f *chosen) bool {
		switch f.field.Name {
		case "name":
			ex.out.str(name)
		case "id":
			ex.out.join("LA_", name)
		case "color":
			ex.out.join("#00ADD8")
		default:
			return false
		}
		return true
	})
}

func (ex *execution) license(f *chosen, r *repo) {
	if r.license() == "" {
		ex.out.null()
		return
	}
	ex.object(f.sub, "License", func(f *chosen) bool {
		if f.field.Name != "spdxId" {
			return false
		}
		ex.out.join(r.license())
		return true
	})
}

func (ex *execution) languages(f *chosen, r *repo) {
	p := connectionPage{typ: "Language", cursor: func(i int) string { return encodeCursor(0, int64(i)) }}
	if r.language != "" {
		p.total = 1
	}
	p.node = func(sel *selection, _ int) { ex.language(sel, r.language) }
	ex.connection(f, p, func(string) (int, bool) { return p.total, true })
}

// branch writes the default branch, null in a repository that is empty or whose
// contents are blocked.
func (ex *execution) branch(f *chosen, r *repo) {
	if r.empty() || r.blocked() {
		ex.out.null()
		return
	}
	head := ex.world.commit(r, r.head())
	ex.object(f.sub, "Ref", func(f *chosen) bool {
		switch f.field.Name {
		case "name":
			ex.out.join("main")
		case "prefix":
			ex.out.join("refs/heads/")
		case "id":
			ex.out.join("REF_kwDO", b36(r.id), "_main")
		case "target":
			ex.commit(f.sub, &head)
		default:
			return false
		}
		return true
	})
}

// commitByRef resolves object(oid:) and object(expression:).
func (ex *execution) commitByRef(f *chosen, r *repo) {
	ref := ex.stringArg(f, "oid")
	if ref == "" {
		ref = ex.stringArg(f, "expression")
	}
	i, ok := r.resolve(ref)
	if !ok {
		ex.out.null()
		return
	}
	c := ex.world.commit(r, i)
	ex.commit(f.sub, &c)
}

func (ex *execution) commit(sel *selection, c *commit) {
	ex.object(sel, "Commit", func(f *chosen) bool { return ex.commitField(f, c) })
}

func (ex *execution) commitField(f *chosen, c *commit) bool {
	w := ex.out
	switch f.field.Name {
	case "oid":
		w.join(c.sha)
	case "abbreviatedOid":
		w.join(c.sha[:7])
	case "id":
		w.join(c.nodeID())
	case "committedDate":
		w.time(c.committed)
	case "authoredDate":
		w.time(c.authored)
	case "additions":
		w.int(c.additions)
	case "deletions":
		w.int(c.deletions)
	case "changedFiles", "changedFilesIfAvailable":
		w.int(int64(c.files))
	case "messageHeadline":
		w.str(c.headline())
	case "message":
		w.str(c.message())
	case "url", "commitUrl":
		w.join(site, c.repo.fullName(), "/commit/", c.sha)
	case "author":
		ex.actor(f.sub, c.author, c.authorName, c.email, c.authored)
	case "committer":
		ex.actor(f.sub, person{account: -1}, "GitHub", "noreply@github.example.com", c.committed)
	case "parents":
		ex.count(f, "Commit", c.parents())
	case "repository":
		ex.repository(f.sub, c.repo)
	case "history":
		return ex.history(f, c)
	default:
		return false
	}
	return true
}

func (ex *execution) actor(sel *selection, p person, name, email string, at int64) {
	ex.object(sel, "GitActor", func(f *chosen) bool {
		switch f.field.Name {
		case "name":
			ex.out.str(name)
		case "email":
			ex.out.str(email)
		case "date":
			ex.out.time(at)
		case "user":
			ex.user(f.sub, p)
		default:
			return false
		}
		return true
	})
}

// history lists the ancestors of a commit, itself included, newest first.
func (ex *execution) history(f *chosen, c *commit) bool {
	r := c.repo
	filter := commitFilter{since: parseInstant(ex.stringArg(f, "since")), until: parseInstant(ex.stringArg(f, "until")), start: c.serial + 1}
	author := ex.objectArg(f, "author")
	filter.authorID, _ = author["id"].(string)
	if emails, ok := author["emails"].([]any); ok && len(emails) > 0 {
		filter.author, _ = emails[0].(string)
	}
	if ex.tooHeavy(f, r.id) {
		return true
	}
	list := ex.world.commitRange(r, filter)
	p := connectionPage{typ: "Commit", total: list.count}
	p.cursor = func(i int) string { return encodeCursor(0, int64(list.at(i))) }
	p.node = func(sel *selection, i int) {
		node := ex.world.commit(r, list.at(i))
		ex.commit(sel, &node)
	}
	ex.connection(f, p, func(cursor string) (int, bool) {
		_, index, ok := decodeCursor(cursor)
		return list.position(int(index)), ok
	})
	return true
}

// parseInstant reads a DateTime or GitTimestamp; zero when there is none.
func parseInstant(value string) int64 {
	t, err := time.Parse(time.RFC3339, value)
	if err != nil {
		return 0
	}
	return t.Unix()
}
