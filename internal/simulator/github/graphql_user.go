package github

import (
	"slices"
	"strconv"
	"strings"
)

// user writes a User or an Organization; nobody is null.
func (ex *execution) user(sel *selection, p person) {
	if !p.known() {
		ex.out.null()
		return
	}
	ex.object(sel, p.kind(), func(f *chosen) bool { return ex.userField(f, p) })
}

func (ex *execution) userField(f *chosen, p person) bool {
	switch f.field.Name {
	case "login":
		ex.out.join(p.login)
	case "id":
		ex.out.join(userNodeID(p.id))
	case "databaseId":
		ex.out.int(p.id)
	case "url":
		ex.out.join(site, p.login)
	case "avatarUrl":
		ex.out.join("https://avatars.example.com/u/", strconv.FormatInt(p.id, 10), "?v=4")
	case "email":
		ex.out.join()
	default:
		return ex.profileField(f, p)
	}
	return true
}

func (ex *execution) profileField(f *chosen, p person) bool {
	var about profile
	if p.account >= 0 {
		about = ex.world.profile(p.account)
	}
	switch f.field.Name {
	case "name":
		ex.out.strOrNull(about.name)
	case "company":
		ex.out.strOrNull(about.company)
	case "location":
		ex.out.strOrNull(about.location)
	case "bio":
		ex.out.null()
	case "createdAt":
		ex.out.time(about.created)
	case "updatedAt":
		ex.out.time(about.updated)
	case "followers":
		ex.count(f, "Follower", about.followers)
	case "following":
		ex.count(f, "Following", about.following)
	case "repositories":
		if ex.tooHeavy(f, p.id) {
			return true
		}
		ex.repositories(f, ex.affiliated(f, p))
	case "repositoriesContributedTo":
		ex.repositories(f, ex.contributedTo(p))
	case "issues":
		ex.authored(f, p, false)
	case "pullRequests":
		ex.authored(f, p, true)
	default:
		return false
	}
	return true
}

// affiliated lists a user's repositories. Unless told otherwise GitHub includes
// those of others that the user collaborates on.
func (ex *execution) affiliated(f *chosen, p person) []*repo {
	if p.account < 0 {
		return nil
	}
	affiliations := ex.stringsArg(f, "ownerAffiliations")
	if affiliations == nil {
		affiliations = []string{"OWNER", "COLLABORATOR"}
	}
	var repos []*repo
	if slices.Contains(affiliations, "OWNER") {
		repos = ex.world.ownedRepos(p.account, ex.call.viewer)
	}
	if slices.Contains(affiliations, "COLLABORATOR") {
		for _, r := range ex.world.helpedRepos(p.account) {
			if r.collaborates {
				repos = append(repos, r)
			}
		}
	}
	fork, byFork := ex.argument(f.field, "isFork").(bool)
	privacy := ex.stringArg(f, "privacy")
	return slices.DeleteFunc(repos, func(r *repo) bool {
		return byFork && r.fork != fork || privacy != "" && !strings.EqualFold(privacy, visibility(r.private))
	})
}

func (ex *execution) contributedTo(p person) []*repo {
	if p.account < 0 {
		return nil
	}
	return ex.world.helpedRepos(p.account)
}

// repositories pages through a list in the order the field asks for.
func (ex *execution) repositories(f *chosen, repos []*repo) {
	order := ex.objectArg(f, "orderBy")
	field, _ := order["field"].(string)
	direction, _ := order["direction"].(string)
	compare := func(a, b repoPlace) int {
		c := strings.Compare(a.name, b.name)
		if c == 0 {
			c = cmp64(a.key, b.key)
		}
		if c == 0 {
			c = cmp64(a.id, b.id)
		}
		if direction == "DESC" {
			return -c
		}
		return c
	}
	slices.SortFunc(repos, func(a, b *repo) int { return compare(placeOf(a, field), placeOf(b, field)) })
	p := connectionPage{typ: "Repository", total: len(repos)}
	p.cursor = func(i int) string { return encodeCursor(placeOf(repos[i], field).key, repos[i].id) }
	p.node = func(sel *selection, i int) { ex.repository(sel, repos[i]) }
	ex.connection(f, p, func(cursor string) (int, bool) {
		key, id, ok := decodeCursor(cursor)
		if !ok {
			return 0, false
		}
		behind := repoPlace{key: key, id: id}
		if r, found := ex.world.repoByID(id); found && field == "NAME" {
			behind.name = r.name
		}
		at, found := slices.BinarySearchFunc(repos, behind, func(r *repo, target repoPlace) int {
			return compare(placeOf(r, field), target)
		})
		if found {
			at++
		}
		return at, true
	})
}

// repoPlace is where a repository stands in an ordering.
type repoPlace struct {
	name string
	key  int64
	id   int64
}

func placeOf(r *repo, field string) repoPlace {
	place := repoPlace{id: r.id}
	switch field {
	case "PUSHED_AT":
		place.key = r.pushed
	case "UPDATED_AT":
		place.key = r.updated
	case "CREATED_AT":
		place.key = r.created
	case "STARGAZERS":
		place.key = r.stars
	case "NAME":
		place.name = r.name
	}
	return place
}

// authored lists the issues or pull requests a user opened anywhere.
func (ex *execution) authored(f *chosen, p person, pulls bool) {
	var found []item
	if p.account >= 0 {
		q := ex.itemQuery(f)
		q.issues, q.pulls = !pulls, pulls
		for _, r := range append(ex.world.ownedRepos(p.account, ex.call.viewer), ex.world.helpedRepos(p.account)...) {
			list := r.items(q)
			for i := range list.len() {
				if it := r.item(list.at(i).number); ex.world.cast(r, it.role).account == p.account {
					found = append(found, it)
				}
			}
		}
		ex.sortItems(found, q)
	}
	page := connectionPage{typ: itemType(pulls), total: len(found)}
	page.cursor = func(i int) string { return encodeCursor(found[i].created, found[i].id()) }
	page.node = func(sel *selection, i int) { ex.item(sel, &found[i]) }
	ex.connection(f, page, func(cursor string) (int, bool) {
		_, id, ok := decodeCursor(cursor)
		at := slices.IndexFunc(found, func(it item) bool { return it.id() == id })
		return at + 1, ok && at >= 0
	})
}

func (ex *execution) sortItems(found []item, q itemQuery) {
	key := func(it *item) int64 {
		if q.sort == sortUpdated {
			return it.updated
		}
		return it.created
	}
	slices.SortFunc(found, func(a, b item) int {
		c := cmp64(key(&a), key(&b))
		if c == 0 {
			c = cmp64(a.id(), b.id())
		}
		if q.descending {
			return -c
		}
		return c
	})
}
