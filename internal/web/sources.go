package web

import (
	"context"
	"maps"
	"net/url"
	"slices"
	"strings"

	"sluice/internal/catalogue"
	"sluice/internal/client"
	"sluice/internal/domain"
	"sluice/internal/httpapi/wire"
)

// addsSource is the action whose form has a file.
const addsSource = "add-source"

// sources shows which sources there are.
func (*site) sources(ctx context.Context, v *visit) (*page, error) {
	list, err := v.Sources(ctx)
	if err != nil {
		return nil, err
	}
	d := struct{ Used, Shipped []catalogue.Item }{}
	for _, i := range list.Items {
		if i.Origin == catalogue.Shipped {
			d.Shipped = append(d.Shipped, i)
			continue
		}
		d.Used = append(d.Used, i)
	}
	return &page{Title: "Sources", Template: "sources.html", Nav: "sources", Every: 10, Data: d}, nil
}

// sourceData is what the page of a source shows.
type sourceData struct {
	catalogue.Detail
	// Windows are the counts of its rations, as far as anything was called.
	Windows []ration
	Unread  string
	// Added says that its file can be changed, and the source removed; Addable that it can
	// be added.
	Added, Addable bool
}

// Values are those that were set, one on each line.
func (d *sourceData) Values() string {
	var lines []string
	for _, name := range sortedNames(d.Set) {
		lines = append(lines, name+"="+d.Set[name])
	}
	return strings.Join(lines, "\n")
}

func (s *site) source(ctx context.Context, v *visit) (*page, error) {
	of, err := v.Source(ctx, v.r.PathValue("name"))
	if err != nil {
		return nil, err
	}
	d := &sourceData{Detail: of, Added: of.Origin == catalogue.AddedHere, Addable: of.Origin == catalogue.Shipped}
	buckets := map[string]bool{of.Name: true}
	for _, known := range s.Sources {
		if known.Name == of.Name {
			for _, r := range known.Rations {
				buckets[r.Bucket] = true
			}
		}
	}
	quota, err := v.Quota(ctx, "", client.Page{Limit: shownWindows})
	if err != nil {
		d.Unread = message(err)
	}
	for _, w := range quota.Items {
		if buckets[w.Bucket] {
			d.Windows = append(d.Windows, ration{w, ownerName(w)})
		}
	}
	return &page{Title: "Source " + of.Title, Template: "source.html", Nav: "sources", Every: 10, Data: d}, nil
}

// shownWindows is among how many counts those of a source are looked for.
const shownWindows = 1000

func sortedNames(set map[string]string) []string { return slices.Sorted(maps.Keys(set)) }

// valuesOf are values that stand on lines, as NAME=VALUE.
func valuesOf(text string) (map[string]string, error) {
	var set map[string]string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok {
			return nil, domain.Errorf(domain.CodeInvalid, "write values as NAME=VALUE, one on each line")
		}
		if set == nil {
			set = map[string]string{}
		}
		set[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	return set, nil
}

// What buttons on sources do.

func addSource(ctx context.Context, v *visit, f url.Values) (string, error) {
	set, err := valuesOf(f.Get("set"))
	if err != nil {
		return "", err
	}
	added, err := v.AddSource(ctx, catalogue.Addition{File: strings.ReplaceAll(f.Get("file"), "\r\n", "\n"), Name: strings.TrimSpace(f.Get("name")), Set: set})
	if err != nil {
		return "", err
	}
	f.Set("next", "/sources/"+url.PathEscape(added.Name))
	if !added.New {
		return added.Name + " has this file now", nil
	}
	return added.Name + " was added", nil
}

func removeSource(ctx context.Context, v *visit, f url.Values) (string, error) {
	if err := v.RemoveSource(ctx, f.Get("source")); err != nil {
		return "", err
	}
	f.Set("next", "/sources")
	return f.Get("source") + " was removed", nil
}

func probeSource(ctx context.Context, v *visit, f url.Values) (string, error) {
	p, err := v.ProbeSource(ctx, f.Get("source"), wire.SourceProbe{Target: strings.TrimSpace(f.Get("target")), Token: strings.TrimSpace(f.Get("token"))})
	return counted(len(p.Calls), "call") + " made; what they showed stands below", err
}
