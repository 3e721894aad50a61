package web

import (
	"context"
	"net/url"
	"strings"

	"sluice/internal/access"
	"sluice/internal/client"
	"sluice/internal/config"
	"sluice/internal/domain"
	"sluice/internal/fleet"
	"sluice/internal/httpapi/wire"
)

// systemData is what the page of the service itself shows.
type systemData struct {
	Checks      []wire.Check
	Figures     []figure
	Rations     []ration
	MoreRations bool
	// Processes are those of the installation, and Backends what they work with.
	Processes []fleet.Process
	Backends  []fleet.Backend
	Sinks     []wire.Sink
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
	d := &systemData{All: v.query("settings") == "all", Actor: v.query("actor"), Action: v.query("action")}
	var err error
	if d.Checks, err = v.checks(ctx); err != nil {
		d.Notes = append(d.Notes, message(err))
	}
	if f, err := v.figures(ctx); err == nil {
		for _, shown := range shownFigures {
			if n, known := f[shown.metric]; known {
				d.Figures = append(d.Figures, figure{shown.name, n})
			}
		}
	}
	if d.Rations, d.MoreRations, err = rations(ctx, v, listLimit, false); err != nil {
		d.Notes = append(d.Notes, message(err))
	}
	if processes, err := v.Processes(ctx); err != nil {
		d.Notes = append(d.Notes, message(err))
	} else {
		d.Processes = processes.Items
	}
	if backends, err := v.Backends(ctx); err == nil {
		d.Backends = backends.Items
	}
	if sinks, err := v.Sinks(ctx); err == nil {
		d.Sinks = sinks.Items
	}
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
