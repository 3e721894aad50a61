package web

import (
	"context"
	"net/url"
	"strings"

	"sluice/internal/domain"
	"sluice/internal/httpapi/wire"
	"sluice/internal/query"
)

// examples are statements that people begin with.
var examples = []struct{ About, SQL string }{
	{"Commits by month", "SELECT substr(cast(authored_at AS char(40)), 1, 7) AS month, count(*) AS commits FROM commits WHERE NOT deleted GROUP BY 1 ORDER BY 1"},
	{"Busiest repositories", "SELECT repository, count(*) AS commits FROM commits WHERE NOT deleted GROUP BY repository ORDER BY commits DESC"},
	{"Open issues", "SELECT repository, number, title, author, created_at FROM issues WHERE state = 'open' AND NOT deleted ORDER BY created_at DESC"},
	{"Merged pull requests by author", "SELECT author, count(*) AS merged FROM pulls WHERE merged_at IS NOT NULL GROUP BY author ORDER BY merged DESC"},
}

// sqlRows is how many rows of an answer are read, and so drawn; shownRows how many of
// them the table shows.
const sqlRows, shownRows = 1000, 200

type example struct{ About, Link string }

// sqlData is what the page of statements shows.
type sqlData struct {
	SQL, Wrong string
	// Name is that of the saved query that is shown.
	Name, About string
	Answer      *wire.SQLAnswer
	Hidden      int
	Chart       *chart
	Saved       []query.SavedQuery
	Examples    []example
	Same        []sameAs
}

func (s *dataPages) sql(ctx context.Context, v *visit) (*page, error) {
	d := &sqlData{SQL: v.query("sql"), Name: v.query("query")}
	p := &page{Title: "SQL", Template: "sql.html", Nav: "data", Data: d}
	for _, e := range examples {
		d.Examples = append(d.Examples, example{e.About, "/data/sql?" + url.Values{"sql": {e.SQL}}.Encode()})
	}
	saved, err := v.SavedQueries(ctx)
	if err != nil {
		return nil, err
	}
	d.Saved = saved.Items
	if d.SQL == "" && d.Name != "" {
		q, err := v.SavedQuery(ctx, d.Name)
		if err != nil {
			return nil, err
		}
		d.SQL, d.About, p.Title = q.SQL, q.About, q.Name
	}
	if d.SQL == "" {
		return p, nil
	}
	answer, err := v.SQL(ctx, wire.SQLRequest{Query: d.SQL, Limit: sqlRows})
	switch {
	case domain.CodeOf(err) == domain.CodeUnauthorized:
		return nil, err
	case err != nil:
		d.Wrong = message(err)
		return p, nil
	}
	d.Chart, d.Answer = chartOf(answer), &answer
	d.Hidden = max(0, len(answer.Rows)-shownRows)
	answer.Rows = answer.Rows[:len(answer.Rows)-d.Hidden]
	d.Same = []sameAs{
		{"curl", "curl " + s.auth(v) + "-H 'Content-Type: application/json' " + quoted(s.address(v, "/api/v1/sql")) + " -d " + quoted(`{"query":`+jsonText(d.SQL)+`}`)},
		{"Command line", "sluice sql " + quoted(d.SQL)},
	}
	if d.Name != "" {
		d.Same[1].Text = "sluice query run " + d.Name
	}
	return p, nil
}

// What buttons of queries do.

func saveQuery(ctx context.Context, v *visit, f url.Values) (string, error) {
	q, err := v.SaveQuery(ctx, strings.TrimSpace(f.Get("name")), wire.QueryRequest{Query: f.Get("sql"), About: f.Get("about")})
	if err != nil {
		return "", err
	}
	f.Set("next", "/data/sql?"+url.Values{"query": {q.Name}}.Encode())
	return "Query " + q.Name + " is saved", nil
}

func removeQuery(ctx context.Context, v *visit, f url.Values) (string, error) {
	return "Query " + f.Get("name") + " is forgotten", v.RemoveQuery(ctx, f.Get("name"))
}
