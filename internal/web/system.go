package web

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"sluice/internal/access"
	"sluice/internal/client"
	"sluice/internal/config"
	"sluice/internal/domain"
	"sluice/internal/httpapi/wire"
)

// systemData is what the page of the service itself shows.
type systemData struct {
	Version, Roles string
	Leads          bool
	Checks         []wire.Check
	Figures        []figure
	Rations        []ration
	MoreRations    bool
	// Redis is what is known of it; nothing where there is none.
	Redis []fact
	Sinks []wire.Sink
	// Servers are processes that have told of themselves by what they did lately.
	Servers []server
	// What follows is for admins.
	Settings      []config.Explained
	All           bool
	Tokens        []access.Token
	Audit         []access.Entry
	Next          string
	Actor, Action string
	Notes         []string
}

type figure struct {
	Name  string
	Value float64
}

// shownFigures are metrics that tell how the parts of the service do.
var shownFigures = []struct{ name, metric string }{
	{"SQL transactions", "sluice_sql_transactions_total"}, {"SQL reads", "sluice_sql_reads_total"}, {"Upstream calls", "sluice_calls_total"},
	{"Documents received", "sluice_documents_total"}, {"Jobs ready", "sluice_dispatch_ready"}, {"Jobs in hand", "sluice_dispatch_leased"},
	{"Waits for an instant", "sluice_dispatch_due"}, {"Lanes", "sluice_dispatch_lanes"}, {"Lanes parked", "sluice_dispatch_lanes_parked"},
	{"Jobs taken over from silent workers", "sluice_jobs_reclaimed_total"}, {"Statistics that are retried", "sluice_statistics_retrying"},
}

func (s *site) system(ctx context.Context, v *visit) (*page, error) {
	d := &systemData{Version: s.Version, Roles: s.Roles, All: v.query("settings") == "all", Actor: v.query("actor"), Action: v.query("action")}
	var err error
	if d.Checks, err = v.checks(ctx); err != nil {
		d.Notes = append(d.Notes, message(err))
	}
	if f, err := v.figures(ctx); err == nil {
		d.Leads = f["sluice_scheduler_leads"] == 1
		for _, shown := range shownFigures {
			if n, known := f[shown.metric]; known {
				d.Figures = append(d.Figures, figure{shown.name, n})
			}
		}
	}
	if d.Rations, d.MoreRations, err = rations(ctx, v, listLimit, false); err != nil {
		d.Notes = append(d.Notes, message(err))
	}
	d.Redis = v.redis(ctx)
	if sinks, err := v.Sinks(ctx); err == nil {
		d.Sinks = sinks.Items
	}
	d.Servers = v.servers(ctx)
	if v.who.Role.Allows(access.Admin) {
		if err := s.forAdmins(ctx, v, d); err != nil {
			return nil, err
		}
	}
	return &page{Title: "System", Template: "system.html", Nav: "system", Every: 10, Data: d}, nil
}

// forAdmins adds what only they may see.
func (s *site) forAdmins(ctx context.Context, v *visit, d *systemData) error {
	tokens, err := v.Tokens(ctx, client.Page{Limit: 200})
	if err != nil {
		return err
	}
	d.Tokens = tokens.Items
	audit, err := v.Audit(ctx, access.Search{Actor: d.Actor, Action: d.Action, Cursor: v.query("cursor"), Limit: 25})
	if err != nil && domain.CodeOf(err) != domain.CodeUnavailable {
		return err
	}
	d.Audit, d.Next = audit.Items, s.nextPage(v, audit.NextCursor)
	if s.Settings != nil {
		for _, one := range s.Settings() {
			if d.All || one.From != config.FromDefault {
				d.Settings = append(d.Settings, one)
			}
		}
	}
	return nil
}

// server is a process that was seen at work.
type server struct {
	Name  string
	Fired int
	Last  time.Time
}

// servers are the processes that have fired timers in the last day: nothing else
// that is stored names processes.
func (v *visit) servers(ctx context.Context) (all []server) {
	done, err := v.Completions(ctx, completionHours, client.Page{Limit: 1000})
	if err != nil {
		return nil
	}
	for i := range done.Items {
		c := &done.Items[i]
		at := slices.IndexFunc(all, func(s server) bool { return s.Name == c.Server })
		if at < 0 {
			at = len(all)
			all = append(all, server{Name: c.Server})
		}
		all[at].Fired++
		if c.FiredAt.After(all[at].Last) {
			all[at].Last = c.FiredAt
		}
	}
	return all
}

// fact is a figure with its name.
type fact struct{ Name, Value string }

// facts are the figures of an object of JSON, whatever it holds them in.
func facts(prefix string, raw json.RawMessage) (all []fact) {
	object := map[string]json.RawMessage{}
	if json.Unmarshal(raw, &object) != nil {
		if text := value(raw); text != "" && len(text) < 200 {
			all = append(all, fact{strings.TrimSpace(prefix), text})
		}
		return all
	}
	for _, name := range namesIn(raw) {
		all = append(all, facts(prefix+" "+words(name), object[name])...)
	}
	return all
}

// redis tells of the Redis in use; nothing where there is none.
func (v *visit) redis(ctx context.Context) []fact {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, ownAddress+"/debug/redis/stats", nil)
	if err != nil {
		return nil
	}
	if token := tokenOf(v.r); token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := v.calls.RoundTrip(req)
	if err != nil {
		return nil
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil || res.StatusCode != http.StatusOK {
		return nil
	}
	return facts("", text)
}

// What buttons of the system do.

func createToken(ctx context.Context, v *visit, f url.Values) (string, error) {
	made, err := v.CreateToken(ctx, wire.TokenRequest{Name: strings.TrimSpace(f.Get("name")), Role: f.Get("role"), ExpiresIn: strings.TrimSpace(f.Get("expires"))})
	if err != nil {
		return "", err
	}
	return made.Secret, nil
}

func revokeToken(ctx context.Context, v *visit, f url.Values) (string, error) {
	return "Token " + f.Get("name") + " was revoked", v.RevokeToken(ctx, f.Get("name"))
}
