package cli

import (
	"github.com/spf13/cobra"

	"sluice/internal/client"
	"sluice/internal/httpapi/wire"
	"sluice/internal/refresh"
)

func (a snapshotCommands) snapshotHistory(o *options) *cobra.Command {
	e := refresh.Entity{}
	var whole bool
	var page paging
	c := &cobra.Command{Use: "history KEY", Short: "List the stored values of an entity, newest first",
		Long: "List the stored values of an entity, newest first: the present one, those that are not\n" +
			"archived yet, and those that `sluice archive restore` put back. A value that a refresh\n" +
			"found unchanged is not stored again.",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("`%s` takes one key, such as item-equipment:OCID", c.CommandPath())
			}
			if whole && !o.json() {
				return usage("--values needs -o json")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			e.Key = args[0]
			return a.with(c.Context(), o, func(s *session) error {
				list, err := gather(page, func(p client.Page) (wire.SnapshotHistory, error) {
					return s.SnapshotHistory(c.Context(), e, whole, p)
				})
				if err != nil {
					return err
				}
				if o.json() {
					return printJSON(a.Out, list)
				}
				defer a.more(list.NextCursor)
				return table(a.Out, "STORED\tVERSION\tBYTES\tHASH", func(line func(string, ...any)) {
					for _, v := range list.Items {
						line("%s\t%d\t%s\t%s", when(v.StoredAt), v.Version, count(int64(v.Size)), v.Hash)
					}
				})
			})
		}}
	c.Flags().StringVar(&e.Source, "source", snapshotSource, "whose snapshot")
	c.Flags().BoolVar(&whole, "values", false, "with the values themselves; needs -o json")
	page.register(c)
	return c
}
