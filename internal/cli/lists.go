package cli

import (
	"cmp"
	"strings"

	"github.com/spf13/cobra"

	"sluice/internal/client"
	"sluice/internal/httpapi/wire"
)

// paging is which part of a list a command shows.
type paging struct {
	limit  int
	cursor string
}

// register adds the flags that every list has; what limit there is stays, if one is.
func (p *paging) register(c *cobra.Command) {
	c.Flags().IntVar(&p.limit, "limit", cmp.Or(p.limit, 50), "how many at most; 0 for all")
	c.Flags().StringVar(&p.cursor, "cursor", "", "go on where an earlier list ended")
}

// renamed keeps a flag's old name for a release.
func renamed(c *cobra.Command, value *string, old string) {
	c.Flags().StringVar(value, old, "", "use --cursor")
	if f := c.Flags().Lookup(old); f != nil {
		f.Hidden, f.Deprecated = true, "use --cursor"
	}
}

// largestPage is what a service answers at once.
const largestPage = 1000

// gather reads pages until there are as many items as are wanted: a page may have
// fewer than that, or none, and more to come.
func gather[T any](p paging, read func(client.Page) (wire.List[T], error)) (wire.List[T], error) {
	out := wire.List[T]{Items: []T{}, NextCursor: p.cursor}
	if p.limit < 0 {
		return out, usage("--limit is %d; it is how many at most, 0 for all", p.limit)
	}
	for {
		next := client.Page{Cursor: out.NextCursor, Limit: largestPage}
		if p.limit > 0 {
			next.Limit = min(p.limit-len(out.Items), largestPage)
		}
		page, err := read(next)
		if err != nil {
			return out, err
		}
		out.Items, out.NextCursor = append(out.Items, page.Items...), page.NextCursor
		if page.NextCursor == "" || p.limit > 0 && len(out.Items) >= p.limit {
			return out, nil
		}
	}
}

// more says how to go on with a list.
func (a *App) more(cursor string) {
	if cursor != "" {
		say(a.screen, "there are more: --cursor %s goes on, --limit 0 lists all\n", cursor)
	}
}

// upperNames reads names of states as people type them.
func upperNames(text string) []string {
	names := strings.FieldsFunc(text, func(r rune) bool { return r == ',' })
	for i := range names {
		names[i] = strings.ToUpper(strings.TrimSpace(names[i]))
	}
	return names
}

// checkNames refuses what no state is called.
func checkNames[S any, P interface {
	*S
	UnmarshalText(text []byte) error
}](flag string, names []string) error {
	for _, name := range names {
		if err := P(new(S)).UnmarshalText([]byte(name)); err != nil {
			return usage("--%s: %v", flag, err)
		}
	}
	return nil
}

// bulk is a command about everything that a filter selects.
type bulk struct{ all, dry bool }

func (b *bulk) register(c *cobra.Command, all string) {
	c.Flags().BoolVar(&b.all, "all", false, all)
	c.Flags().BoolVar(&b.dry, "dry-run", false, "with --all: only say how many")
}

// one demands one id, or none with --all.
func (b *bulk) one(c *cobra.Command, args []string) error {
	if !b.all {
		return oneID(c, args)
	}
	if len(args) > 0 {
		return usage("`%s --all` takes no id: a filter says which", c.CommandPath())
	}
	return nil
}

// carryOut repeats a request until there is no more to do, and adds the answers up.
func (b *bulk) carryOut(do func(cursor string) (wire.BulkAnswer, error)) (sum wire.BulkAnswer, err error) {
	sum.DryRun = b.dry
	for cursor := ""; ; {
		one, err := do(cursor)
		sum.Matched += one.Matched
		sum.Changed += one.Changed
		if sum.Skipped += one.Skipped; one.Reason != "" {
			sum.Reason = one.Reason
		}
		if err != nil || one.NextCursor == "" {
			return sum, err
		}
		cursor = one.NextCursor
	}
}

// print says what came of it; done is a verb.
func (b *bulk) print(a *App, o *options, sum wire.BulkAnswer, what, done string) error {
	if o.json() {
		return printJSON(a.Out, sum)
	}
	if b.dry {
		say(a.Out, "%s would be %s\n", plural(sum.Matched, what), done)
		return nil
	}
	say(a.Out, "%s %s\n", plural(sum.Changed, what), done)
	if sum.Skipped > 0 {
		say(a.Out, "%s could not be %s, such as: %s\n", count(int64(sum.Skipped)), done, sum.Reason)
	}
	return nil
}
