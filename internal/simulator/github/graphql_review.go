package github

import (
	"slices"
	"strconv"
)

// pullParts lists the smaller things of a pull request, oldest first.
func (ex *execution) pullParts(f *chosen, it *item, k partKind, typ string) {
	list := slices.DeleteFunc(it.repo.parts(k), func(p part) bool { return p.number != it.number })
	sortParts(list, func(p *part) int64 { return p.created }, false)
	page := connectionPage{typ: typ, total: len(list)}
	page.cursor = func(i int) string { return encodeCursor(list[i].created, int64(list[i].serial)) }
	page.node = func(sel *selection, i int) {
		ex.object(sel, typ, func(f *chosen) bool {
			switch k {
			case partPullCommit:
				return ex.pullCommitField(f, &list[i])
			case partPullFile:
				return ex.pullFileField(f, &list[i])
			}
			return ex.reviewField(f, &list[i])
		})
	}
	ex.connection(f, page, func(cursor string) (int, bool) {
		created, serial, ok := decodeCursor(cursor)
		for i := range list {
			if list[i].created > created || list[i].created == created && int64(list[i].serial) > serial {
				return i, ok
			}
		}
		return len(list), ok
	})
}

func (ex *execution) pullCommitField(f *chosen, p *part) bool {
	if f.field.Name != "commit" {
		return false
	}
	w := ex.out
	ex.object(f.sub, "Commit", func(f *chosen) bool {
		switch f.field.Name {
		case "oid":
			w.join(p.sha())
		case "messageHeadline":
			w.str(p.title())
		case "committedDate", "authoredDate":
			w.time(p.created)
		case "additions", "deletions":
			w.int(int64(p.key % 90))
		case "url":
			w.join(site, p.repo.fullName(), "/commit/", p.sha())
		case "author":
			ex.actor(f.sub, ex.world.cast(p.repo, p.role), "Somebody", "somebody@example.com", p.created)
		default:
			return false
		}
		return true
	})
	return true
}

func (ex *execution) pullFileField(f *chosen, p *part) bool {
	switch f.field.Name {
	case "path":
		ex.out.str(p.file())
	case "additions", "deletions":
		ex.out.int(int64(p.key % 70))
	case "changeType":
		ex.out.join([]string{"ADDED", "MODIFIED", "DELETED"}[p.key%3])
	default:
		return false
	}
	return true
}

// reviewRequests lists who is asked for a review: the owner, while it is open, and a
// team of an organisation.
func (ex *execution) reviewRequests(f *chosen, it *item) {
	n := 0
	if it.open() {
		n = 2
	}
	page := connectionPage{typ: "ReviewRequest", total: n, cursor: func(i int) string { return encodeCursor(0, int64(i)) }}
	page.node = func(sel *selection, i int) {
		ex.object(sel, "ReviewRequest", func(f *chosen) bool {
			if f.field.Name != "requestedReviewer" {
				return false
			}
			if i == 0 {
				ex.user(f.sub, it.repo.stranger())
				return true
			}
			ex.object(f.sub, "Team", func(f *chosen) bool {
				ex.out.join("reviewers")
				return f.field.Name == "slug"
			})
			return true
		})
	}
	ex.connection(f, page, func(cursor string) (int, bool) {
		_, at, ok := decodeCursor(cursor)
		return int(at) + 1, ok
	})
}

func (ex *execution) reviewField(f *chosen, p *part) bool {
	w := ex.out
	switch f.field.Name {
	case "id":
		w.join("PRR_kwDO", b36(p.id()))
	case "databaseId":
		ex.shortID(f, "PullRequestReview", p.id())
	case "fullDatabaseId":
		w.join(strconv.FormatInt(p.id(), 10))
	case "state":
		w.join([]string{"APPROVED", "CHANGES_REQUESTED", "COMMENTED"}[p.key%3])
	case "body":
		w.str(p.title())
	case "author":
		ex.user(f.sub, ex.world.cast(p.repo, p.role))
	case "authorAssociation":
		w.join(association(p.role))
	case "createdAt", "submittedAt":
		w.time(p.created)
	case "updatedAt":
		w.time(p.updated)
	case "url":
		w.join(site, p.repo.fullName(), "/pull/", strconv.Itoa(p.number), "#pullrequestreview-", strconv.FormatInt(p.id(), 10))
	case "commit":
		ex.object(f.sub, "Commit", func(f *chosen) bool {
			if f.field.Name != "oid" {
				return false
			}
			w.join(shaOf(p.key, 1))
			return true
		})
	default:
		return false
	}
	return true
}
