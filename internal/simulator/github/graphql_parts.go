package github

import "strconv"

// repoParts lists the smaller things of a repository, by creation unless they are to
// be ordered otherwise.
func (ex *execution) repoParts(f *chosen, r *repo, k partKind, typ string) {
	var list []part
	if !r.blocked() {
		list = r.parts(k)
	}
	order := ex.objectArg(f, "orderBy")
	by := func(p *part) int64 { return p.created }
	if order["field"] == "UPDATED_AT" {
		by = func(p *part) int64 { return p.updated }
	}
	sortParts(list, by, order["direction"] == "DESC")
	page := connectionPage{typ: typ, total: len(list)}
	page.cursor = func(i int) string { return encodeCursor(by(&list[i]), int64(list[i].serial)) }
	page.node = func(sel *selection, i int) {
		ex.object(sel, typ, func(f *chosen) bool { return ex.partField(f, &list[i]) })
	}
	ex.connection(f, page, func(cursor string) (int, bool) {
		_, serial, ok := decodeCursor(cursor)
		for i := range list {
			if int64(list[i].serial) == serial {
				return i + 1, ok
			}
		}
		return len(list), ok
	})
}

func (ex *execution) partField(f *chosen, p *part) bool {
	w := ex.out
	switch f.field.Name {
	case "id":
		w.join(partNames[p.kind], "_", b36(p.id()))
	case "createdAt":
		w.time(p.created)
	case "updatedAt":
		w.time(p.updated)
	default:
		return p.kind == partDiscussion && ex.discussionField(f, p)
	}
	return true
}

func (ex *execution) discussionField(f *chosen, p *part) bool {
	w := ex.out
	switch f.field.Name {
	case "databaseId":
		w.int(p.id())
	case "number":
		w.int(int64(p.serial + 1))
	case "title":
		w.str(p.title())
	case "body":
		w.str("About " + p.title())
	case "author":
		ex.user(f.sub, ex.world.cast(p.repo, p.role))
	case "authorAssociation":
		w.join(association(p.role))
	case "upvoteCount":
		w.int(int64(p.key % 9))
	case "isAnswered", "closed", "locked":
		w.bool(p.key%2 == 0)
	case "url":
		w.join(site, p.repo.fullName(), "/discussions/", strconv.Itoa(p.serial+1))
	case "comments":
		ex.count(f, "DiscussionComment", int64(p.key%7))
	case "category":
		ex.object(f.sub, "DiscussionCategory", func(f *chosen) bool {
			w.join("Ideas")
			return f.field.Name == "name"
		})
	default:
		return false
	}
	return true
}
