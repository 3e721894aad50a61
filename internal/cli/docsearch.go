package cli

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sluice/internal/client"
	"sluice/internal/domain"
	"sluice/internal/httpapi/wire"
)

// searchCommand finds documents by their words.
type searchCommand struct{ *App }

func (a searchCommand) search(o *options) *cobra.Command {
	var q client.SearchQuery
	c := &cobra.Command{
		Use:   "search QUERY",
		Short: "Search titles, messages and bodies by their words",
		Long: "Find documents that have all words of the query in their titles, messages or\n" +
			"bodies, newest first. \"A phrase\" is found as it stands, -word excludes, and\n" +
			"begin* finds what begins like that; case and accents make no difference. It is\n" +
			"asked of a service if one has the data folder or is named, and of the folder's\n" +
			"database otherwise, as far as that is indexed.",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("`%s` needs words to look for", c.CommandPath())
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			q.Query = strings.Join(args, " ")
			return a.with(c.Context(), o, func(s *session) error {
				found, err := s.Search(c.Context(), q)
				if err != nil {
					return err
				}
				if o.json() {
					err = printJSON(a.Out, found)
				} else {
					a.print(found)
				}
				if note := behindNote(found.Behind); err == nil && note != "" {
					say(a.screen, "%s\n", note)
				}
				return err
			})
		},
	}
	f := c.Flags()
	f.StringSliceVar(&q.Kinds, "kind", nil, "only of these kinds, such as issues,pulls")
	f.StringVar(&q.Account, "account", "", "only of this account")
	f.StringVar(&q.Deleted, "deleted", "", "true finds only what the upstream shows no longer, false only what it shows")
	f.StringVar(&q.Cursor, "cursor", "", "where to begin: next_cursor of the page before")
	f.IntVar(&q.Limit, "limit", 20, "how many, up to 200")
	return c
}

// behindNote says that an answer may lack something.
func behindNote(b wire.SearchBehind) string {
	switch {
	case b.Building:
		return "not all documents are indexed yet: a service on this data (`sluice up`) goes on with it"
	case b.Changes > 0:
		return "the index is " + plural(int(b.Changes), "change") + " behind: a service on this data (`sluice up`) reads them"
	}
	return ""
}

// print shows each hit on two lines: what it is, and where it matches.
func (a searchCommand) print(found wire.SearchAnswer) {
	for _, hit := range found.Items {
		gone := ""
		if hit.Deleted {
			gone = " (deleted)"
		}
		where := hit.URL
		if where == "" {
			where = hit.ID
		}
		what := hit.Kind
		if hit.Title != "" {
			what += "  " + oneLineOf(hit.Title)
		}
		say(a.Out, "%s  %s  %s%s\n", hit.UpdatedAt.Format(time.DateOnly), what, where, gone)
		if hit.Snippet.Text != hit.Title {
			say(a.Out, "    %s\n", oneLineOf(marked(hit.Snippet)))
		}
	}
	switch {
	case len(found.Items) == 0 && found.NextCursor == "":
		say(a.screen, "nothing is found\n")
	case found.NextCursor != "":
		say(a.screen, "there may be more: --cursor %s\n", found.NextCursor)
	}
}

// marked puts what matches between brackets.
func marked(s wire.SearchSnippet) string {
	var out strings.Builder
	text, at := []rune(s.Text), 0
	for _, m := range s.Marks {
		if m[0] < at || m[1] < m[0] || m[1] > len(text) {
			break // not of this text
		}
		out.WriteString(string(text[at:m[0]]) + "[" + string(text[m[0]:m[1]]) + "]")
		at = m[1]
	}
	return out.String() + string(text[at:])
}

// oneLineOf is a text of an upstream on one line, without what steers a terminal.
func oneLineOf(text string) string { return domain.Printable(strings.Join(strings.Fields(text), " ")) }
