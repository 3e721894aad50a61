package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"sluice/internal/client"
	"sluice/internal/httpapi/wire"
	"sluice/internal/quota"
)

// quotaCommands are those about quotas.
type quotaCommands struct{ *App }

func (a quotaCommands) quota(o *options) *cobra.Command {
	var page paging
	var owner string
	c := &cobra.Command{Use: "quota", Short: "Show quotas by owner, and resume an owner that is parked", Args: knownCommand,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.with(c.Context(), o, func(s *session) error {
				q := wire.Quota{}
				list, err := gather(page, func(p client.Page) (wire.List[wire.QuotaWindow], error) {
					one, err := s.Quota(c.Context(), owner, p)
					q.Waits = one.Waits
					return one.List, err
				})
				if err != nil {
					return err
				}
				q.List = list
				return a.printQuota(o, q)
			})
		}}
	c.Flags().StringVar(&owner, "owner", "", "only of this owner, or of the owner of this login")
	page.register(c)
	c.AddCommand(a.quotaReset(o))
	return c
}

func (a quotaCommands) quotaReset(o *options) *cobra.Command {
	return &cobra.Command{Use: "reset OWNER", Short: "Resume an owner that is parked, named as in `sluice quota` or by a login: one call goes first",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("`%s` takes one owner, or a login that uses its quota; `sluice quota` lists them", c.CommandPath())
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			return a.changing(c.Context(), o, func(s *session) error {
				q, err := s.ResetQuota(c.Context(), args[0])
				if err != nil {
					return err
				}
				return a.printQuota(o, q)
			})
		}}
}

func (a quotaCommands) printQuota(o *options, q wire.Quota) error {
	if o.json() {
		return printJSON(a.Out, q)
	}
	if len(q.Items) == 0 {
		fmt.Fprintln(a.Out, "no quota has been used yet")
		return nil
	}
	defer a.more(q.NextCursor)
	return table(a.Out, "OWNER\tLOGINS\tBUCKET\tLIMIT\tUSED\tLEFT\tFLOOR\tIN FLIGHT\tRESETS\tPARKED UNTIL\tWHY", func(line func(string, ...any)) {
		for _, w := range q.Items {
			line("%s\t%s\t%s\t%d\t%d\t%d\t%d\t%d\t%s\t%s\t%s", w.Owner, orDash(loginsText(w.Logins)), w.Bucket, w.Limit, w.Used, w.Available,
				w.Floor, w.InFlight, when(w.Reset), when(w.ParkedUntil), parkedText(w.Window))
		}
	})
}

// fewLogins is how many are named in a line.
const fewLogins = 5

func loginsText(logins []string) string {
	if more := len(logins) - fewLogins; more > 0 {
		return strings.Join(logins[:fewLogins], " ") + fmt.Sprintf(" and %s more", count(int64(more)))
	}
	return strings.Join(logins, " ")
}

// parkedText says why nobody is served, and what a person can do about it.
func parkedText(w quota.Window) string {
	switch w.Parked {
	case "":
		return "-"
	case quota.ReasonPrimary:
		return "the quota is used up"
	case quota.ReasonFloorAll:
		return floorText(w.Floor, w.Limit)
	case quota.ReasonRetryAfter:
		return "the upstream asked to back off"
	case quota.ReasonBackoff:
		return "a limit was hit that does not say when it ends"
	}
	return string(w.Parked)
}

func floorText(floor, limit int) string {
	return fmt.Sprintf("the floor of %d keeps the whole limit of %d for its owner; lower it (--floor, account set --keep)", floor, limit)
}
