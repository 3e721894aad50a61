package web

import (
	"context"
	"net/url"
	"slices"

	"sluice/internal/domain"
	"sluice/internal/httpapi/wire"
)

// shownLetters is how many refused batches the page of a sink shows.
const shownLetters = 100

// sink shows how one sink fares, and the batches that its receiver refused.
func (*site) sink(ctx context.Context, v *visit) (*page, error) {
	name := v.r.PathValue("name")
	sinks, err := v.Sinks(ctx)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(sinks.Items, func(s wire.Sink) bool { return s.Name == name })
	if at < 0 {
		return nil, domain.Errorf(domain.CodeNotFound, "there is no sink of that name; the page of the system lists them")
	}
	d := struct {
		wire.Sink
		Refused []wire.SinkLetter
		Unread  string
	}{Sink: sinks.Items[at]}
	// Only some targets set batches aside.
	if d.Letters != nil {
		letters, err := v.SinkLetters(ctx, name, shownLetters)
		if err != nil {
			d.Unread = message(err)
		}
		d.Refused = letters.Items
	}
	return &page{Title: "Sink " + name, Template: "sink.html", Nav: "system", Every: 5, Data: d}, nil
}

// sinkLetters are the batches that a form names.
func sinkLetters(f url.Values) wire.SinkLettersRequest {
	if id := f.Get("id"); id != "" {
		return wire.SinkLettersRequest{IDs: []string{id}}
	}
	return wire.SinkLettersRequest{All: true}
}

func redriveSink(ctx context.Context, v *visit, f url.Values) (string, error) {
	n, err := v.RedriveSinkLetters(ctx, f.Get("sink"), sinkLetters(f))
	return counted(n, "batch") + " sent again", err
}

func discardSink(ctx context.Context, v *visit, f url.Values) (string, error) {
	n, err := v.DiscardSinkLetters(ctx, f.Get("sink"), sinkLetters(f))
	return counted(n, "batch") + " discarded", err
}
