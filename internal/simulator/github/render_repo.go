package github

import "strconv"

// renderer writes REST representations into a buffer. base is the API's own
// address as the caller knows it.
type renderer struct {
	*buffer
	world *world
	base  string
}

const site = "https://github.example.com/"

// user writes the short form of a person; nobody is null.
func (w *renderer) user(p person) {
	if !p.known() {
		w.null()
		return
	}
	w.open('{')
	w.userFields(p)
	w.close('}')
}

func (w *renderer) userFields(p person) {
	w.key("login").join(p.login)
	w.key("id").int(p.id)
	w.key("node_id").join(userNodeID(p.id))
	w.key("avatar_url").join("https://avatars.example.com/u/", strconv.FormatInt(p.id, 10), "?v=4")
	w.key("gravatar_id").join()
	w.key("url").join(w.base, "/users/", p.login)
	w.key("html_url").join(site, p.login)
	w.key("followers_url").join(w.base, "/users/", p.login, "/followers")
	w.key("repos_url").join(w.base, "/users/", p.login, "/repos")
	w.key("events_url").join(w.base, "/users/", p.login, "/events{/privacy}")
	w.key("type").join(p.kind())
	w.key("site_admin").bool(false)
}

// account writes the long form, as on the account's own page. private is true
// when the account itself asks.
func (w *renderer) account(a int, private bool) {
	p := w.world.profile(a)
	w.open('{')
	w.userFields(w.world.person(a))
	w.key("name").str(p.name)
	w.key("company").strOrNull(p.company)
	w.key("blog").join()
	w.key("location").strOrNull(p.location)
	w.key("email").null()
	w.key("hireable").null()
	w.key("bio").null()
	public, owned := 0, w.world.ownedRepos(a, a)
	for _, r := range owned {
		if !r.private {
			public++
		}
	}
	w.key("public_repos").int(int64(public))
	w.key("public_gists").int(0)
	w.key("followers").int(p.followers)
	w.key("following").int(p.following)
	w.key("created_at").time(p.created)
	w.key("updated_at").time(p.updated)
	if private {
		w.key("total_private_repos").int(int64(len(owned) - public))
		w.key("owned_private_repos").int(int64(len(owned) - public))
	}
	w.close('}')
}

func (w *renderer) repo(r *repo) {
	full := r.fullName()
	w.open('{')
	w.key("id").int(r.id)
	w.key("node_id").join(repoNodeID(r.id))
	w.key("name").join(r.name)
	w.key("full_name").join(full)
	w.key("private").bool(r.private)
	w.key("owner")
	w.user(r.owner)
	w.key("html_url").join(site, full)
	w.key("description").str("A " + r.name + " by " + r.owner.login)
	w.key("fork").bool(r.fork)
	w.repoLinks(full)
	w.key("created_at").time(r.created)
	w.key("updated_at").time(r.updated)
	w.key("pushed_at").time(r.pushed)
	w.key("size").int(r.size)
	w.key("stargazers_count").int(r.stars)
	w.key("watchers_count").int(r.stars)
	w.key("language").strOrNull(r.language)
	w.key("has_issues").bool(!r.issuesDisabled)
	w.key("forks_count").int(r.forks)
	w.key("archived").bool(r.archived)
	w.key("disabled").bool(r.blocked())
	open := r.items(itemQuery{issues: true, pulls: true, open: true})
	w.key("open_issues_count").int(int64(open.len()))
	w.key("homepage").strOrNull(r.homepage())
	w.key("license")
	w.license(r)
	w.key("topics").raw(r.topics())
	w.key("visibility").join(visibility(r.private))
	w.key("default_branch").join("main")
	w.close('}')
}

// license is its SPDX id, "" for some.
func (r *repo) license() string {
	return pick([]string{"", "MIT", "Apache-2.0", "NOASSERTION"}, r.key>>11)
}

func (r *repo) homepage() string {
	if r.key>>19%4 != 0 {
		return ""
	}
	return "https://" + r.name + ".example.com"
}

// topics are a list in JSON.
func (r *repo) topics() string {
	return pick([]string{`[]`, `["testing"]`, `["command-line","testing"]`}, r.key>>29)
}

func (w *renderer) license(r *repo) {
	id := r.license()
	if id == "" {
		w.null()
		return
	}
	w.open('{')
	w.key("key").join(id)
	w.key("name").join(id)
	w.key("spdx_id").join(id)
	w.close('}')
}

func visibility(private bool) string {
	if private {
		return "private"
	}
	return "public"
}

func (w *renderer) repoLinks(full string) {
	w.key("url").join(w.base, "/repos/", full)
	w.key("commits_url").join(w.base, "/repos/", full, "/commits{/sha}")
	w.key("issues_url").join(w.base, "/repos/", full, "/issues{/number}")
	w.key("pulls_url").join(w.base, "/repos/", full, "/pulls{/number}")
	w.key("events_url").join(w.base, "/repos/", full, "/events")
	w.key("git_url").join("git://github.example.com/", full, ".git")
	w.key("clone_url").join(site, full, ".git")
}
