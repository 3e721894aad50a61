package web

import (
	"encoding/json"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"sluice/internal/document"
)

// sameAs is what a page shows, as it is asked for elsewhere.
type sameAs struct{ Where, Text string }

// address is that of a path of the service, as the browser reaches it.
func (s *site) address(v *visit, path string) string {
	scheme := "http"
	if encrypted(v.r) {
		scheme = "https"
	}
	return (&url.URL{Scheme: scheme, Host: hostOf(v.r, s.TrustedProxies)}).String() + s.Prefix + path
}

// hostOf is what a browser calls the service: a proxy that is trusted says it, as it does
// of the forms that it passes on.
func hostOf(r *http.Request, proxies []netip.Prefix) string {
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	trusted := err == nil && slices.ContainsFunc(proxies, func(p netip.Prefix) bool { return p.Contains(from.Addr().Unmap().WithZone("")) })
	// Of several proxies the first was asked by the browser.
	host, _, _ := strings.Cut(r.Header.Get("X-Forwarded-Host"), ",")
	if host = strings.TrimSpace(host); !trusted || host == "" || strings.Trim(host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:[]") != "" {
		return r.Host
	}
	return host
}

// auth is how curl shows a token, where one is needed.
func (*site) auth(v *visit) string {
	if tokenOf(v.r) == "" {
		return ""
	}
	return `-H "Authorization: Bearer $SLUICE_API_TOKEN" `
}

// quoted is a text as one word of a shell.
func quoted(text string) string {
	if text != "" && strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:@%+=,") == "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// literal is a text as SQL has it.
func literal(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

func jsonText(text string) string {
	// A text always encodes.
	out, _ := json.Marshal(text)
	return string(out)
}

// statement is a list of documents as SQL; "" where SQL has no word for it.
func statement(kind *document.Declaration, filter map[string]string) string {
	columns := map[document.Origin]string{}
	for _, c := range kind.Columns {
		columns[c.From] = c.Name
	}
	var where []string
	for _, f := range []struct {
		name, operator string
		from           document.Origin
	}{
		{"account", " = ", document.FromAccount}, {"repository", " = ", document.FromContainerTitle}, {"author", " = ", document.FromAuthor},
		{"state", " = ", document.FromState}, {"created_from", " >= ", document.FromCreatedAt}, {"created_until", " < ", document.FromCreatedAt},
	} {
		text := filter[f.name]
		if f.name == "account" {
			// Tables have logins alone.
			_, login, named := strings.Cut(text, ":")
			if named {
				text = login
			}
		}
		if text == "" {
			continue
		}
		column := columns[f.from]
		if f.from == document.FromState && column == "" {
			column = columns[document.FromVisibleState]
		}
		if column == "" {
			return ""
		}
		where = append(where, column+f.operator+literal(text))
	}
	if label := filter["label"]; label != "" {
		if kind.Labels == "" {
			return ""
		}
		where = append(where, kind.Labels+" LIKE "+literal("%"+jsonText(label)+"%"))
	}
	if gone := filter["deleted"]; gone != "" {
		where = append(where, map[string]string{"true": "deleted", "false": "NOT deleted"}[gone])
	}
	sql := "SELECT * FROM " + kind.Plural
	if len(where) > 0 {
		sql += " WHERE " + strings.Join(where, " AND ")
	}
	by, descending := strings.CutPrefix(filter["sort"], "-")
	if column := columns[map[string]document.Origin{"created": document.FromCreatedAt, "updated": document.FromUpdatedAt}[by]]; column != "" {
		sql += " ORDER BY " + column
		if descending {
			sql += " DESC"
		}
	}
	return sql
}
