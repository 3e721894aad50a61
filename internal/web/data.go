package web

import (
	"context"
	"net/url"
	"strconv"
	"strings"

	"sluice/internal/domain"
	"sluice/internal/export"
	"sluice/internal/httpapi/wire"
	"sluice/internal/source"
)

// examples are statements that people begin with.
var examples = []struct{ About, SQL string }{
	{"Commits by month", "SELECT substr(cast(authored_at AS char(40)), 1, 7) AS month, count(*) AS commits FROM commits WHERE NOT deleted GROUP BY 1 ORDER BY 1"},
	{"Busiest repositories", "SELECT repository, count(*) AS commits FROM commits WHERE NOT deleted GROUP BY repository ORDER BY commits DESC"},
	{"Open issues", "SELECT repository, number, title, author, created_at FROM issues WHERE state = 'open' AND NOT deleted ORDER BY created_at DESC"},
	{"Merged pull requests by author", "SELECT author, count(*) AS merged FROM pulls WHERE merged_at IS NOT NULL GROUP BY author ORDER BY merged DESC"},
}

// sqlRows is how many rows of an answer the page shows, and chartRows how many a
// chart has at most.
const sqlRows, chartRows = 200, 60

func (s *site) data(ctx context.Context, v *visit) (*page, error) {
	d := &dataData{Kind: v.query("kind"), Account: v.query("account"), SQL: strings.TrimSpace(v.query("sql")), Kinds: export.Kinds(source.Kinds(s.Sources))}
	for _, e := range examples {
		d.Examples = append(d.Examples, example{e.About, "/data?" + url.Values{"sql": {e.SQL}}.Encode()})
	}
	if d.Kind == "" && len(d.Kinds) > 0 {
		d.Kind = d.Kinds[0]
	}
	d.Export = url.Values{"kind": {d.Kind}}
	if d.Account != "" {
		d.Export.Set("account", d.Account)
	}
	if d.SQL == "" && listable(s.Sources, d.Kind) {
		var err error
		if d.List, err = s.documents(ctx, v, d.Kind); err != nil {
			return nil, err
		}
	}
	if d.SQL != "" {
		answer, err := v.SQL(ctx, wire.SQLRequest{Query: d.SQL, Limit: sqlRows})
		if err != nil && domain.CodeOf(err) == domain.CodeUnauthorized {
			return nil, err
		}
		if err != nil {
			d.Wrong = message(err)
		} else {
			d.Answer = &answer
			d.Chart, d.ChartOf = chartOf(answer)
		}
	}
	return &page{Title: "Data", Template: "data.html", Nav: "data", Data: d}, nil
}

type example struct{ About, Link string }

// dataData is what the page of the data shows.
type dataData struct {
	Kinds         []string
	Kind, Account string
	Export        url.Values
	SQL, Wrong    string
	Answer        *wire.SQLAnswer
	Chart         []column
	ChartOf       string
	Examples      []example
	// List are documents of the kind; nil while a statement is shown.
	List *listing
}

// Download is the address of an export in a format.
func (d *dataData) Download(format string) string {
	q := url.Values{"format": {format}}
	for name, values := range d.Export {
		q[name] = values
	}
	return "/api/v1/export?" + q.Encode()
}

// chartOf draws an answer whose last column has numbers and whose first names them.
func chartOf(a wire.SQLAnswer) ([]column, string) {
	last := len(a.Columns) - 1
	if last < 1 || len(a.Rows) < 2 || len(a.Rows) > chartRows {
		return nil, ""
	}
	counts, names := make([]int64, len(a.Rows)), make([]string, len(a.Rows))
	for i, row := range a.Rows {
		n, err := strconv.ParseFloat(string(row[last]), 64)
		if err != nil || n < 0 {
			return nil, ""
		}
		counts[i], names[i] = int64(n), value(row[0])
	}
	return histogram(counts, names, 960, 140), a.Columns[last] + " by " + a.Columns[0]
}
