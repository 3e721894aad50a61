package httpapi

import (
	"context"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"sluice/internal/document"
	"sluice/internal/domain"
	"sluice/internal/httpapi/wire"
)

const (
	// changesAtOnce is how many changes are read at once, and changesLooked how many
	// are looked at for one page: what is asked for may be rare.
	changesAtOnce = 1000
	changesLooked = 20_000
	// afterNow is the position of whoever wants nothing but what is to come.
	afterNow = "now"
)

// changeRoutes tell which documents have changed, in pages and as it happens.
type changeRoutes struct {
	*common
	accountFinder
	Reader   AccountReader
	Observer Observer
	// Feed is nil where the store of the documents has none.
	Feed document.Feed
}

func (s *changeRoutes) registerChanges(api huma.API) {
	op := operation{id: "list-changes", method: http.MethodGet, path: "/api/v1/changes", tag: "events",
		summary: "Tell which documents have changed since a position, or follow the changes",
		errors:  []int{http.StatusNotFound, http.StatusGone, http.StatusConflict, http.StatusUnprocessableEntity}}.huma()
	op.Responses = eventResponses(api, "with Accept: text/event-stream; snapshot (where the stream begins), change (each as it is committed), position (where it is, after changes that were not asked for)",
		exampleEvent("1204", wire.EventChange, "{\"position\":1204,\"account_id\":1,\"account\":\"octocat\",\"kind\":\"issues\",\"id\":\"42\",\"what\":\"updated\",\"at\":\"2026-10-16T09:00:00Z\"}"),
		map[string]any{wire.EventSnapshot: wire.FeedBounds{}, wire.EventPosition: wire.FeedBounds{}, wire.EventChange: wire.Change{}})
	answer := op.Responses["200"]
	answer.Description = "A page of changes; or " + answer.Description
	answer.Content["application/json"] = &huma.MediaType{Schema: api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[wire.ChangePage](), true, "")}
	huma.Register(api, op, func(ctx context.Context, in *changesInput) (*huma.StreamResponse, error) {
		f, err := s.following(ctx, in)
		if err != nil {
			return nil, s.problem(ctx, op.OperationID, err)
		}
		if in.streams() {
			//nolint:contextcheck // huma's context carries the request's
			return &huma.StreamResponse{Body: func(ctx huma.Context) { s.stream(ctx, op.OperationID, s.Observer.Watch, f.look) }}, nil
		}
		page, err := f.page(ctx, in.Limit)
		if err != nil {
			return nil, s.problem(ctx, op.OperationID, err)
		}
		return &huma.StreamResponse{Body: func(ctx huma.Context) {
			_, w := humago.Unwrap(ctx)
			w.Header().Set("Content-Type", "application/json")
			// To a caller that went away nothing can be said.
			_ = writeJSON(w, page)
		}}, nil
	})
}

type changesInput struct {
	After   string   `query:"after" maxLength:"20" default:"0" doc:"Changes after this position: that of an earlier answer, 0 for all that are kept, or now for what is to come"`
	Feed    string   `query:"feed" maxLength:"100" doc:"The feed that the position is of; if it is another one by now, as of a store that was made anew, the answer is 409"`
	Kind    []string `query:"kind,explode" maxItems:"100" doc:"Only of these kinds, by the names of their tables; that an account was purged is told in any case"`
	Account []string `query:"account,explode" maxItems:"1000" doc:"Only of these accounts: an id or a login each"`
	Source  string   `query:"source" maxLength:"50" doc:"Where logins are looked up"`
	ID      []string `query:"id,explode" maxItems:"100" doc:"Only of documents with these ids, as their tables have them; that an account was purged is told in any case"`
	Limit   int      `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"How many at most; a stream has no limit"`
	LastID  string   `header:"Last-Event-ID" maxLength:"20" doc:"The id of the last event that the reader has, instead of after; a browser sends it when it reconnects"`
	Accept  string   `header:"Accept" doc:"text/event-stream follows the changes"`
}

func (in *changesInput) streams() bool { return strings.Contains(in.Accept, "text/event-stream") }

// position is where to begin; -1 if that is the end.
func (in *changesInput) position() (int64, error) {
	text, name := in.After, "after"
	if in.LastID != "" && in.streams() {
		// A browser repeats the address with its after: the event is newer.
		text, name = in.LastID, "Last-Event-ID"
	}
	if text == afterNow && name == "after" {
		return -1, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, domain.Errorf(domain.CodeInvalid, "%s is not a position: give that of an earlier answer, 0 for all that are kept, or now", name)
	}
	return n, nil
}

// following reads what is asked for, and finds where it begins.
func (s *changeRoutes) following(ctx context.Context, in *changesInput) (*followChanges, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	if s.Feed == nil {
		return nil, noFeed()
	}
	f := &followChanges{changeRoutes: s, names: in.ID, accounts: map[int64]domain.Account{}}
	// Lists of one parameter are as usual as repeated ones; no name has a comma.
	for plural := range strings.SplitSeq(strings.Join(in.Kind, ","), ",") {
		if plural == "" && len(in.Kind) == 0 {
			break
		}
		kind := s.kinds.Table(plural)
		if kind == nil {
			return nil, domain.Errorf(domain.CodeInvalid, "kind: there are no documents of the kind %s; there are %s", shownName(plural), strings.Join(s.kinds.Tables(), ", "))
		}
		f.tables = append(f.tables, kind.Kind)
	}
	for _, ref := range in.Account {
		a, err := s.account(ctx, ref, in.Source)
		if err != nil {
			return nil, err
		}
		f.only = append(f.only, a.ID)
	}
	at, err := in.position()
	if err != nil {
		return nil, err
	}
	bounds, err := s.Feed.Bounds(ctx)
	if err != nil {
		return nil, err
	}
	if in.Feed != "" && in.Feed != bounds.Feed {
		return nil, domain.Errorf(domain.CodeConflict, "the feed is another one now, in which the position means nothing: export the documents anew, and go on after position %d of feed %s", bounds.Newest, bounds.Feed)
	}
	if f.position = at; at < 0 {
		f.position = bounds.Newest
	}
	// What is too old or ahead is told before a stream begins.
	_, err = s.Feed.Changes(ctx, f.position, 1)
	f.bounds = bounds
	return f, err
}

func noFeed() error {
	return domain.Errorf(domain.CodeUnavailable, "the store of the documents keeps no feed of changes; GET /api/v1/export has all of them")
}

// followChanges reads the feed from a position on.
type followChanges struct {
	*changeRoutes
	// tables, only and names restrict it, if there are any.
	tables   []document.Kind
	only     []int64
	names    []string
	accounts map[int64]domain.Account
	bounds   document.Bounds
	// position is what was looked at, and told what the reader knows of that.
	position, told int64
	begun          bool
}

func (f *followChanges) asked(c *document.Change) bool {
	if len(f.only) > 0 && !slices.Contains(f.only, c.Account) {
		return false
	}
	return c.What == document.Purged ||
		(len(f.tables) == 0 || slices.Contains(f.tables, c.Kind)) && (len(f.names) == 0 || slices.Contains(f.names, c.Name))
}

// next reads on, and returns what of it was asked for; more says that there may be
// more.
func (f *followChanges) next(ctx context.Context, most int) (told []wire.Change, more bool, err error) {
	changes, err := f.Feed.Changes(ctx, f.position, most)
	if err != nil {
		return nil, false, err
	}
	for i := range changes {
		c := &changes[i]
		if f.asked(c) {
			shown, err := f.show(ctx, c)
			if err != nil {
				return nil, false, err
			}
			told = append(told, shown)
		}
		f.position = c.Position
	}
	return told, len(changes) == most, nil
}

func (f *followChanges) show(ctx context.Context, c *document.Change) (wire.Change, error) {
	shown := wire.Change{Position: c.Position, AccountID: c.Account, Kind: string(c.Kind), ID: c.Name, What: string(c.What), At: c.At.UTC()}
	if kind := f.kinds.Of(c.Kind); kind != nil {
		shown.Kind = kind.Plural
	}
	if !c.Version.IsZero() {
		version := c.Version.UTC()
		shown.Version = &version
	}
	a, known := f.accounts[c.Account]
	if !known {
		var err error
		// One that is purged may be unknown by now.
		if a, err = f.Reader.Account(ctx, c.Account); err != nil && domain.CodeOf(err) != domain.CodeNotFound {
			return shown, err
		}
		f.accounts[c.Account] = a
	}
	shown.Account, shown.Source = a.Login, a.Source
	return shown, nil
}

func (f *followChanges) at(b document.Bounds) wire.FeedBounds {
	// The feed may have grown since.
	return wire.FeedBounds{Feed: b.Feed, Oldest: b.Oldest, Newest: max(b.Newest, f.position), Position: f.position}
}

// page reads so many changes at most. What is asked for may be rare: a page may be
// short, and more to come.
func (f *followChanges) page(ctx context.Context, limit int) (wire.ChangePage, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	page := wire.ChangePage{Items: []wire.Change{}, More: true}
	for looked := 0; page.More && len(page.Items) < limit && looked < changesLooked; {
		most := limit - len(page.Items)
		told, more, err := f.next(ctx, most)
		if err != nil {
			return page, err
		}
		page.Items, page.More = append(page.Items, told...), more
		looked += most
	}
	bounds, err := f.Feed.Bounds(ctx)
	page.FeedBounds = f.at(bounds)
	return page, err
}

// look sends what has been committed since the last look.
func (f *followChanges) look(ctx context.Context, out *eventStream) (ended bool, err error) {
	if !f.begun {
		// A reader that comes back before anything has changed knows where it was.
		if err := out.identified(f.id(), wire.EventSnapshot, f.at(f.bounds)); err != nil {
			return false, err
		}
		f.begun, f.told = true, f.position
	}
	for {
		told, more, err := f.next(ctx, changesAtOnce)
		if err != nil {
			return false, err
		}
		for _, c := range told {
			f.told = c.Position
			if err := out.identified(strconv.FormatInt(c.Position, 10), wire.EventChange, c); err != nil {
				return false, err
			}
		}
		if f.told != f.position {
			// The reader is to come back behind what it did not ask for.
			if err := out.identified(f.id(), wire.EventPosition, f.at(f.bounds)); err != nil {
				return false, err
			}
		}
		f.told = f.position
		if !more {
			return false, nil
		}
	}
}

func (f *followChanges) id() string { return strconv.FormatInt(f.position, 10) }
