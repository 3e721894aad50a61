package github

import (
	"net/url"
	"strconv"
	"time"

	"github.com/tidwall/gjson"

	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/source"
)

// eventPages is how many pages the window of events has at most.
const eventPages = 3

func profileRequest(_ *Source, c *call) request {
	if c.p.URL != "" {
		return request{target: c.p.URL, etag: c.etag()}
	}
	return request{target: "/users/" + url.PathEscape(c.Run.Login), etag: c.etag()}
}

func readProfile(_ *Source, c *call, a *answer) source.Result {
	doc := document.Document{Raw: a.body}
	id := int64(0)
	members(a.body, 0, func(name string, v gjson.Result) {
		ownProfile(&doc.Fields, name, v)
		switch name {
		case "id":
			id = v.Int()
		case "login":
			doc.Author = text(v)
		case "name":
			doc.Title = text(v)
		case "type":
			doc.State = text(v)
		case "created_at":
			doc.CreatedAt = when(v)
		case "updated_at":
			doc.UpdatedAt = when(v)
		}
	})
	if id == 0 {
		return malformed("the profile has no id")
	}
	doc.Key = c.key(KindProfile, formatID(id))
	doc.Version = doc.UpdatedAt
	res := source.Result{Verdict: source.Done, Documents: []document.Document{doc}, Items: 1, Pages: 1}
	c.remember(&res, linked{etag: a.header.Get("Etag")})
	res.Cursors = []domain.Cursor{c.cursor(UserProfile)}
	if c.opt.NoGraphQL && doc.State == "Organization" {
		res.Target, res.Next = domain.TargetOrganization, organizationJobs(c.Run, id, 0)
	}
	return res
}

func sameProfile(_ *Source, c *call) source.Result {
	return source.Result{Verdict: source.Done, Pages: 1, Cursors: []domain.Cursor{c.cursor(UserProfile)}}
}

func eventsRequest(_ *Source, c *call) request {
	target := c.p.URL
	if target == "" {
		target = "/users/" + url.PathEscape(c.Run.Login) + "/events?per_page=" + strconv.Itoa(pageSize)
	}
	return request{target: target, etag: c.etag()}
}

func readEvents(s *Source, c *call, a *answer) source.Result {
	res := pageOf(a)
	n, wrong := eachOf(a.body, func(i int) (int, string) {
		doc, end, wrong := c.event(a.body, i)
		res.Documents = append(res.Documents, doc)
		return end, wrong
	})
	if wrong != "" {
		return malformed(wrong)
	}
	res.Items = n
	l := c.withinWindow(s.linksOf(c, a))
	c.remember(&res, l)
	c.goOn(&res, l, span{})
	res.Cursors = append(res.Cursors, s.pollAgain(c, a)...)
	return res
}

// pollKey names the cursor that remembers from when on GitHub wants to be asked
// for events again.
func pollKey(login string) string { return CursorKey(UserEvents, userResource(login)) + " poll" }

func (s *Source) pollAgain(c *call, a *answer) []domain.Cursor {
	seconds, err := strconv.Atoi(a.header.Get("X-Poll-Interval"))
	if err != nil || seconds <= 0 || c.p.page() > 1 {
		return nil
	}
	at := s.serverTime(a).Add(time.Duration(seconds) * time.Second)
	return []domain.Cursor{{AccountID: c.Run.AccountID, Resource: pollKey(c.Run.Login), At: at}}
}

func sameEvents(_ *Source, c *call) source.Result {
	res := source.Result{Verdict: source.Done}
	c.goOn(&res, c.withinWindow(linked{next: c.Stored.Next}), span{})
	return res
}

// withinWindow ends the walk of events where GitHub would refuse to go on.
func (c *call) withinWindow(l linked) linked {
	l.pages = min(l.pages, eventPages)
	if c.p.page() >= eventPages {
		l.next = ""
	}
	return l
}

func (c *call) event(body []byte, i int) (doc document.Document, end int, wrong string) {
	end = members(body, i, func(name string, v gjson.Result) {
		ownEvent(&doc.Fields, name, v)
		switch name {
		case "id":
			doc.Key = c.key(KindEvent, text(v))
		case "type":
			doc.Title = text(v)
		case "actor":
			doc.Author = login(v)
		case "repo":
			doc.Repository = v.Get("id").Int()
			doc.External = !c.owns(v.Get("name").String())
		case "public":
			doc.Private = !v.Bool()
		case "created_at":
			doc.CreatedAt = when(v)
		}
	})
	if end < 0 || doc.Name == "" {
		return doc, end, "an event is cut off or has no id"
	}
	doc.Raw, doc.Version = body[i:end:end], doc.CreatedAt
	return doc, end, ""
}
