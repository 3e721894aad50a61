package github

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
)

// The last accounts of a world are its organisations (Options.Organizations).
// They have no tokens: their members collect them.

// orgOverlay is what happened to an organisation after the base world ended.
type orgOverlay struct {
	joined map[int]bool // by account: whether it is a member by now
	teams  map[int]bool // teams that were deleted, by their place
}

func (w *world) isOrganization(a int) bool { return a >= w.accounts-w.organizations && a < w.accounts }

// members lists who belongs to an organisation: its first always, of the others
// about half.
func (w *world) members(org int) []person {
	var out []person
	for a := range w.accounts - w.organizations {
		if w.isMember(org, a) {
			out = append(out, w.person(a))
		}
	}
	return out
}

func (w *world) isMember(org, account int) bool {
	if account < 0 || !w.isOrganization(org) || w.isOrganization(account) || !w.accountExists(account) {
		return false
	}
	if now, changed := w.orgs[org].joined[account]; changed {
		return now
	}
	return account == w.lead(org) || derive(w.accountKey(org), kindMember, uint64(account))%2 == 0
}

// lead is the member who founded the organisation and works in its name.
func (w *world) lead(org int) int {
	return org % max(w.accounts-w.organizations, 1)
}

// publicMember tells whether a membership is shown to everybody.
func (w *world) publicMember(org, account int) bool {
	return derive(w.accountKey(org), kindMember, uint64(account)^1<<40)%2 == 0
}

// team is a group of an organisation's members.
type team struct {
	id         int64
	name, slug string
	secret     bool
}

func (w *world) teams(org int) []team {
	d := draws{derive(w.accountKey(org), kindTeam, 0)}
	var out []team
	for i := range int(2 + d.below(4)) {
		slug := pick(repoNouns, d.next()) + "-" + strconv.Itoa(i)
		t := team{id: teamIDBase + int64(org)*100 + int64(i), name: slug, slug: slug, secret: d.oneIn(3)}
		if !w.orgs[org].teams[i] {
			out = append(out, t)
		}
	}
	return out
}

// TruthMember is who belongs to an organisation.
type TruthMember struct {
	ID    int64  `json:"id"`
	Login string `json:"login"`
}

// TruthTeam is a team of an organisation.
type TruthTeam struct {
	ID   int64  `json:"id"`
	Slug string `json:"slug"`
}

func (w *world) truthMembers(a int) (members []TruthMember, teams []TruthTeam) {
	if !w.isOrganization(a) {
		return nil, nil
	}
	for _, p := range w.members(a) {
		members = append(members, TruthMember{ID: p.id, Login: p.login})
	}
	for _, t := range w.teams(a) {
		teams = append(teams, TruthTeam{ID: t.id, Slug: t.slug})
	}
	return members, teams
}

// Organizations lists the organisations of the world.
func (s *Server) Organizations() []string {
	s.world.mu.RLock()
	defer s.world.mu.RUnlock()
	var out []string
	for a := range s.world.accounts {
		if s.world.isOrganization(a) && s.world.accountExists(a) {
			out = append(out, s.world.login(a))
		}
	}
	return out
}

// Lead is the member of an organisation whose token Token gives out.
func (s *Server) Lead(organization string) string {
	s.world.mu.RLock()
	defer s.world.mu.RUnlock()
	org, ok := s.world.accountByLogin(organization)
	if !ok || !s.world.isOrganization(org) {
		return ""
	}
	return s.world.login(s.world.lead(org))
}

// SetMember lets an account join an organisation or leave it. Its lead, whose
// token Token gives out, cannot leave.
func (s *Server) SetMember(organization, login string, member bool) error {
	return s.changeOrganization(organization, func(org int, o *orgOverlay) error {
		a, ok := s.world.accountByLogin(login)
		if !ok || s.world.isOrganization(a) || a == s.world.lead(org) {
			return fmt.Errorf("%s cannot join or leave %s", login, organization)
		}
		o.joined[a] = member
		return nil
	})
}

// DeleteTeam removes an organisation's team.
func (s *Server) DeleteTeam(organization, slug string) error {
	return s.changeOrganization(organization, func(org int, o *orgOverlay) error {
		for _, t := range s.world.teams(org) {
			if t.slug == slug {
				o.teams[int(t.id-teamIDBase)%100] = true
				return nil
			}
		}
		return fmt.Errorf("%s has no team %s", organization, slug)
	})
}

func (s *Server) changeOrganization(login string, apply func(org int, o *orgOverlay) error) error {
	s.world.mu.Lock()
	defer s.world.mu.Unlock()
	org, ok := s.world.accountByLogin(login)
	if !ok || !s.world.isOrganization(org) {
		return errors.New("there is no organisation " + login)
	}
	o := s.world.orgs[org]
	if o.joined == nil {
		o = orgOverlay{joined: map[int]bool{}, teams: map[int]bool{}}
		s.world.orgs[org] = o
	}
	return apply(org, &o)
}

// serveOrganization answers what lies below /orgs/{org}.
func (c *call) serveOrganization(w *renderer) {
	org, ok := w.world.accountByID(c.route.userID)
	if c.route.login != "" {
		org, ok = w.world.accountByLogin(c.route.login)
	}
	if !ok || !w.world.isOrganization(org) {
		c.notFound()
		return
	}
	member := w.world.isMember(org, c.viewer) && !c.lacks("read:org")
	switch {
	case c.route.endpoint == endpointTeams && !member:
		c.fail(http.StatusForbidden, "Must have admin rights to Organization.", "rest/teams/teams#list-teams")
	case c.route.endpoint == endpointTeams:
		c.serveTeams(w, org)
	case c.route.endpoint == endpointMembers && !member:
		c.status = http.StatusFound
		c.writer.Header().Set("Location", c.base+orgPath(org, "/public_members")+"?"+c.req.URL.RawQuery)
		c.out.raw(`{}`)
	default:
		c.serveMembers(w, org)
	}
}

func orgPath(org int, tail string) string {
	return "/organizations/" + strconv.FormatInt(accountIDBase+int64(org), 10) + tail
}

func (c *call) serveMembers(w *renderer, org int) {
	people, tail := w.world.members(org), "/members"
	if c.route.endpoint == endpointPublicMembers {
		tail = "/public_members"
		people = slices.DeleteFunc(people, func(p person) bool { return !w.world.publicMember(org, p.account) })
	}
	start, end := c.paginate(c.page(), len(people), orgPath(org, tail))
	w.open('[')
	for _, p := range people[start:end] {
		w.comma()
		w.user(p)
	}
	w.close(']')
}

func (c *call) serveTeams(w *renderer, org int) {
	teams := w.world.teams(org)
	start, end := c.paginate(c.page(), len(teams), orgPath(org, "/teams"))
	w.open('[')
	for _, t := range teams[start:end] {
		w.comma()
		w.open('{')
		w.key("id").int(t.id)
		w.key("node_id").join("T_kwDO", b36(t.id))
		w.key("name").str(t.name)
		w.key("slug").join(t.slug)
		w.key("description").str("Those who care for " + t.name)
		w.key("privacy").join(map[bool]string{true: "secret", false: "closed"}[t.secret])
		w.key("permission").join("pull")
		w.key("html_url").join(site, "orgs/", w.world.login(org), "/teams/", t.slug)
		w.key("parent").null()
		w.close('}')
	}
	w.close(']')
}

// ownerByLogin resolves user(login:), which knows no organisation, and
// organization(login:), which knows nothing else; repositoryOwner knows both.
func (ex *execution) ownerByLogin(f *chosen) {
	login := ex.stringArg(f, "login")
	a, ok := ex.world.accountByLogin(login)
	org := ok && ex.world.isOrganization(a)
	switch f.field.Name {
	case "repositoryOwner":
		if !ok {
			// GitHub reports no error here.
			ex.out.null()
			return
		}
	case "organization":
		if !org {
			ex.missing(f, "Could not resolve to an Organization with the login of '%s'.", login)
			return
		}
	default:
		if !ok || org {
			ex.missing(f, "Could not resolve to a User with the login of '%s'.", login)
			return
		}
	}
	ex.user(f.sub, ex.world.person(a))
}
