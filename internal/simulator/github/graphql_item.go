package github

import (
	"fmt"
	"slices"
	"strconv"
)

func itemType(pull bool) string {
	if pull {
		return "PullRequest"
	}
	return "Issue"
}

// itemQuery reads states, orderBy and filterBy; without an order GitHub lists
// the oldest first.
func (ex *execution) itemQuery(f *chosen) itemQuery {
	q := itemQuery{}
	states := ex.stringsArg(f, "states")
	q.open = states == nil || slices.Contains(states, "OPEN")
	q.closed = states == nil || slices.Contains(states, "CLOSED")
	q.merged = states == nil || slices.Contains(states, "MERGED")
	order := ex.objectArg(f, "orderBy")
	switch order["field"] {
	case "UPDATED_AT":
		q.sort = sortUpdated
	case "COMMENTS":
		q.sort = sortComments
	}
	q.descending = order["direction"] == "DESC"
	since, _ := ex.objectArg(f, "filterBy")["since"].(string)
	q.since = parseInstant(since)
	return q
}

func (ex *execution) items(f *chosen, r *repo, pulls bool) {
	q := ex.itemQuery(f)
	q.issues, q.pulls = !pulls, pulls
	if r.blocked() {
		ex.count(f, itemType(pulls), 0)
		return
	}
	if !selectsItems(f.field.SelectionSet) && q.everyState() && q.since == 0 {
		ex.count(f, itemType(pulls), int64(r.itemCount(pulls)))
		return
	}
	if ex.tooHeavy(f, r.id) {
		return
	}
	list := r.items(q)
	p := connectionPage{typ: itemType(pulls), total: list.len()}
	p.cursor = func(i int) string {
		ref := list.at(i)
		return encodeCursor(ref.key, int64(ref.number))
	}
	p.node = func(sel *selection, i int) {
		it := r.item(list.at(i).number)
		ex.item(sel, &it)
	}
	ex.connection(f, p, func(cursor string) (int, bool) {
		key, number, ok := decodeCursor(cursor)
		return list.after(itemRef{key: key, number: int(number)}), ok
	})
}

func (ex *execution) itemByNumber(f *chosen, r *repo, what string, wanted func(*item) bool) {
	number := ex.intArg(f, "number")
	it, ok := r.findItem(number)
	if !ok || !wanted(&it) {
		ex.missing(f, "Could not resolve to %s with the number of %d.", what, number)
		return
	}
	ex.item(f.sub, &it)
}

func (ex *execution) item(sel *selection, it *item) {
	ex.object(sel, itemType(it.pull), func(f *chosen) bool {
		return ex.itemScalar(f, it) || ex.itemObject(f, it) || it.pull && ex.pullField(f, it)
	})
}

func (ex *execution) itemScalar(f *chosen, it *item) bool {
	w := ex.out
	switch f.field.Name {
	case "id":
		w.join(it.ownNodeID())
	case "databaseId", "fullDatabaseId":
		ex.itemID(f, it)
	case "number":
		w.int(int64(it.number))
	case "title":
		w.str(it.title())
	case "body", "bodyText":
		w.str(it.body())
	case "state":
		w.join(graphQLState(it))
	case "closed":
		w.bool(!it.open())
	case "locked":
		w.bool(false)
	case "totalCommentsCount":
		if !it.pull {
			return false
		}
		w.int(it.comments())
	case "createdAt":
		w.time(it.created)
	case "updatedAt":
		w.time(it.updated)
	case "closedAt":
		w.timeOrNull(it.closed)
	case "authorAssociation":
		w.join(association(it.role))
	case "url":
		w.join(site, it.repo.fullName(), map[bool]string{true: "/pull/", false: "/issues/"}[it.pull], strconv.Itoa(it.number))
	default:
		return false
	}
	return true
}

// itemID writes the number REST knows the item by; the full one is a BigInt,
// which GraphQL carries as a string.
func (ex *execution) itemID(f *chosen, it *item) {
	id := it.id()
	if it.pull {
		id = it.pullID()
	}
	if f.field.Name == "fullDatabaseId" {
		ex.out.join(strconv.FormatInt(id, 10))
		return
	}
	if it.pull {
		ex.shortID(f, itemType(true), id)
		return
	}
	ex.out.int(id)
}

// shortID refuses the short id of what GitHub has more of than an Int can count, unless
// this one is so old that it has no other.
func (ex *execution) shortID(f *chosen, typ string, id int64) {
	if slices.Contains(ex.call.server.options.Lacking, typ+".fullDatabaseId") {
		ex.out.int(id)
		return
	}
	ex.refuse(f, "", fmt.Sprintf("Integer out of bounds: %d", id+1<<31))
}

func graphQLState(it *item) string {
	switch {
	case it.open():
		return "OPEN"
	case it.merged != 0:
		return "MERGED"
	default:
		return "CLOSED"
	}
}

func (ex *execution) itemObject(f *chosen, it *item) bool {
	switch f.field.Name {
	case "author":
		ex.user(f.sub, ex.world.cast(it.repo, it.role))
	case "repository":
		ex.repository(f.sub, it.repo)
	case "comments":
		ex.count(f, "IssueComment", it.comments())
	case "labels":
		ex.labels(f, it)
	case "milestone":
		ex.milestone(f, it)
	default:
		return false
	}
	return true
}

func (ex *execution) milestone(f *chosen, it *item) {
	title := it.milestone()
	if title == "" {
		ex.out.null()
		return
	}
	ex.object(f.sub, "Milestone", func(f *chosen) bool {
		if f.field.Name != "title" {
			return false
		}
		ex.out.str(title)
		return true
	})
}

func (ex *execution) labels(f *chosen, it *item) {
	names := it.labels()
	p := connectionPage{typ: "Label", total: len(names), cursor: func(i int) string { return encodeCursor(0, int64(i)) }}
	p.node = func(sel *selection, i int) {
		ex.object(sel, "Label", func(f *chosen) bool {
			switch f.field.Name {
			case "name":
				ex.out.str(names[i])
			case "color":
				ex.out.join("d73a4a")
			default:
				return false
			}
			return true
		})
	}
	ex.connection(f, p, func(cursor string) (int, bool) {
		_, at, ok := decodeCursor(cursor)
		return int(at) + 1, ok
	})
}

func (ex *execution) pullField(f *chosen, it *item) bool {
	w := ex.out
	commits, additions, deletions, files := it.changes()
	switch f.field.Name {
	case "merged":
		w.bool(it.merged != 0)
	case "mergedAt":
		w.timeOrNull(it.merged)
	case "isDraft":
		w.bool(it.draft)
	case "additions":
		w.int(additions)
	case "deletions":
		w.int(deletions)
	case "changedFiles":
		w.int(files)
	case "commits":
		if !selectsItems(f.field.SelectionSet) {
			ex.count(f, "PullRequestCommit", commits)
			return true
		}
		ex.pullParts(f, it, partPullCommit, "PullRequestCommit")
	case "files":
		ex.pullParts(f, it, partPullFile, "PullRequestChangedFile")
	case "reviewRequests":
		ex.reviewRequests(f, it)
	case "reactions":
		ex.count(f, "Reaction", int64(it.key%5))
	case "headRefOid":
		w.join(shaOf(it.key, 2))
	case "baseRefOid":
		w.join(shaOf(it.key, 3))
	case "baseRefName":
		w.join("main")
	case "headRefName":
		w.join("topic-", strconv.Itoa(it.number))
	case "baseRepository", "headRepository":
		ex.repository(f.sub, it.repo)
	case "headRepositoryOwner":
		ex.user(f.sub, it.repo.owner)
	case "mergedBy":
		ex.mergedBy(f, it)
	case "reviews":
		ex.pullParts(f, it, partReview, "PullRequestReview")
	default:
		return false
	}
	return true
}

func (ex *execution) mergedBy(f *chosen, it *item) {
	if it.merged == 0 {
		ex.out.null()
		return
	}
	who := it.repo.owner
	if who.org {
		who = ex.world.person(ex.world.lead(who.account))
	}
	ex.user(f.sub, who)
}
