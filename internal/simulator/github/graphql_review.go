package github

import (
	"slices"
	"strconv"
)

// reviews lists the reviews of a pull request, oldest first.
func (ex *execution) reviews(f *chosen, it *item) {
	list := slices.DeleteFunc(it.repo.parts(partReview), func(p part) bool { return p.number != it.number })
	sortParts(list, func(p *part) int64 { return p.created }, false)
	page := connectionPage{typ: "PullRequestReview", total: len(list)}
	page.cursor = func(i int) string { return encodeCursor(list[i].created, int64(list[i].serial)) }
	page.node = func(sel *selection, i int) {
		ex.object(sel, "PullRequestReview", func(f *chosen) bool { return ex.reviewField(f, &list[i]) })
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

func (ex *execution) reviewField(f *chosen, p *part) bool {
	w := ex.out
	switch f.field.Name {
	case "id":
		w.join("PRR_kwDO", b36(p.id()))
	case "databaseId":
		w.int(p.id())
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
