package github

import (
	"net/url"

	"github.com/tidwall/gjson"

	"sluice/internal/document"
	"sluice/internal/source"
)

// reposRequest is discovery in REST, by creation.
func reposRequest(_ *Source, c *call) request {
	target := c.p.URL
	if target == "" {
		target = "/users/" + url.PathEscape(c.Run.Login) + "/repos?type=owner&sort=created&direction=asc&per_page=100"
	}
	return request{target: c.resize(target), etag: c.etag()}
}

// readRepos reads one page of repositories in REST. REST does not tell what
// changed within them: every repository gets its listings, most of which a
// later run finds unchanged at no cost.
func readRepos(s *Source, c *call, a *answer) source.Result {
	d := s.discovery(c, a)
	if c.p.page() == 1 && !c.p.Bridge {
		c.p.Unmet = c.unmet()
	}
	var on span
	n, wrong := eachOf(a.body, func(i int) (int, string) {
		r, end := readRESTRepository(a.body, i)
		if r.raw == nil || r.ID == 0 || r.Name == "" {
			return end, "a repository is cut off or has no id or no name"
		}
		r.External = !c.owns(r.Name)
		on.add(r.ID)
		d.met(r.ID)
		if c.takes(&r) && !d.withheld(r) {
			d.listed(r)
			d.res.Documents = append(d.res.Documents, d.document(r))
			d.listings(r)
			d.addSweeps(r, BucketCore)
			d.resources(r)
		}
		return end, ""
	})
	if wrong != "" {
		return malformed(wrong)
	}
	d.res.Items = n
	c.p.Since = seconds(d.since)
	c.goOn(&d.res, s.linksOf(c, a), on)
	return d.res
}

// listings adds the listings of a repository in REST.
func (d *discovery) listings(r repository) {
	if d.changed(r.pushed, d.cursorOf(RepoCommits, BucketCore, r)) {
		d.add(params{}, RepoCommits, r.repoRef, BucketCore, 0)
	}
	if !r.NoIssues {
		d.add(params{}, RepoIssues, r.repoRef, BucketCore, 0)
	}
	d.add(params{}, RepoPulls, r.repoRef, BucketCore, 0)
}

func readRESTRepository(body []byte, i int) (r repository, end int) {
	var f document.Fields
	end = members(body, i, func(name string, v gjson.Result) {
		ownRepository(&f, name, v)
		switch name {
		case "id":
			r.ID = v.Int()
		case "node_id":
			r.Node = text(v)
		case "full_name":
			r.Name = text(v)
		case "fork":
			r.Fork = v.Bool()
		case "private":
			r.Private = v.Bool()
		case "archived":
			r.archived = v.Bool()
		case "disabled":
			r.disabled = v.Bool()
		case "has_issues":
			r.NoIssues = v.Type == gjson.False
		case "stargazers_count":
			r.stars = v.Int()
		case "language":
			r.Language = text(v)
		case "created_at":
			r.created = when(v)
		case "updated_at":
			r.updated = when(v)
		case "pushed_at":
			r.pushed = when(v)
		}
	})
	if end >= 0 {
		r.raw, r.own = body[i:end:end], f.Own
	}
	return r, end
}
