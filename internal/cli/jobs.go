package cli

import (
	"github.com/spf13/cobra"

	"sluice/internal/client"
	"sluice/internal/domain"
	"sluice/internal/httpapi/wire"
)

// jobCommands are those about jobs.
type jobCommands struct{ *App }

func (a jobCommands) jobs(o *options) *cobra.Command {
	return group("job", "List, show, retry and cancel jobs", a.jobList(o), a.jobShow(o), a.jobRetry(o), a.jobCancel(o))
}

func (a jobCommands) jobList(o *options) *cobra.Command {
	var f client.JobFilter
	var status string
	var page paging
	c := &cobra.Command{Use: "list", Short: "List jobs", Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			f.Status = upperNames(status)
			if err := checkNames[domain.JobStatus]("status", f.Status); err != nil {
				return err
			}
			return a.with(c.Context(), o, func(s *session) error {
				list, err := gather(page, func(p client.Page) (wire.JobList, error) {
					f.Page = p
					return s.Jobs(c.Context(), f)
				})
				if err != nil {
					return err
				}
				if o.json() {
					return printJSON(a.Out, list)
				}
				defer a.more(list.NextCursor)
				return table(a.Out, "JOB\tRUN\tTYPE\tRESOURCE\tSTATUS\tATTEMPT\tITEMS\tWHY\tERROR", func(line func(string, ...any)) {
					for _, j := range list.Items {
						line("%d\t%d\t%s\t%s\t%s\t%d\t%d\t%s\t%s", j.ID, j.RunID, j.Type, j.Resource, j.Status, j.Attempt, j.Items, orDash(string(j.ErrorKind)), orDash(j.Error))
					}
				})
			})
		}}
	c.Flags().Int64Var(&f.Run, "run", 0, "only jobs of this run")
	c.Flags().StringVar(&f.Account, "account", "", "only jobs of this account (id or login)")
	c.Flags().StringVar(&f.Type, "type", "", "only jobs of this type, such as REPO_ISSUES")
	c.Flags().StringVar(&status, "status", "", "only these states, such as FAILED or READY,RUNNING")
	c.Flags().StringVar(&f.Error, "error", "", "only jobs whose last attempt failed so: "+domain.FailureKindNames())
	page.register(c)
	renamed(c, &page.cursor, "after")
	return c
}

func (a jobCommands) jobShow(o *options) *cobra.Command {
	return &cobra.Command{Use: "show JOB", Short: "Show one upstream call and its outcome", Args: oneID,
		RunE: func(c *cobra.Command, args []string) error {
			return a.with(c.Context(), o, func(s *session) error {
				j, err := s.Job(c.Context(), parseID(args[0]))
				if err != nil {
					return err
				}
				if j.Error != "" {
					a.showPage(o, s, "/jobs/%d", j.ID)
				}
				return a.showJob(o, j)
			})
		}}
}

func (a jobCommands) showJob(o *options, j wire.Job) error {
	if o.json() {
		return printJSON(a.Out, j)
	}
	say(a.Out, "job %d of run %d: %s %s %s\n", j.ID, j.RunID, j.Type, j.Resource, j.Status)
	say(a.Out, "  attempt %d, %d failures, %d workers lost, %d items\n", j.Attempt, j.Failures, j.Lost, j.Items)
	say(a.Out, "  created %s, not before %s, begun %s, ended %s\n", when(j.CreatedAt), when(j.NotBefore), when(j.StartedAt), when(j.FinishedAt))
	if j.Error != "" {
		say(a.Out, "  %s: %s\n", j.ErrorKind, j.Error)
	}
	return nil
}

func (a jobCommands) jobRetry(o *options) *cobra.Command {
	var b bulk
	var in wire.JobsRequest
	c := &cobra.Command{Use: "retry JOB | --all", Short: "Retry a failed job, or all that a filter selects, and resume their runs", Args: b.one,
		RunE: func(c *cobra.Command, args []string) error {
			return a.changing(c.Context(), o, func(s *session) error {
				if b.all {
					in.All, in.DryRun = true, b.dry
					sum, err := b.carryOut(func(cursor string) (wire.BulkAnswer, error) {
						in.Cursor = cursor
						return s.RetryJobs(c.Context(), in)
					})
					if err != nil {
						return err
					}
					return b.print(a.App, o, sum, "failed job", "retried")
				}
				j, err := s.RetryJob(c.Context(), parseID(args[0]))
				if err != nil {
					return err
				}
				return a.showJob(o, j)
			})
		}}
	b.register(c, "all failed jobs that the filters select")
	c.Flags().Int64Var(&in.Run, "run", 0, "with --all: only jobs of this run")
	c.Flags().StringVar(&in.Account, "account", "", "with --all: only jobs of this account (id or login)")
	c.Flags().StringVar(&in.Type, "type", "", "with --all: only jobs of this type")
	c.Flags().StringVar(&in.Error, "error", "", "with --all: only jobs that failed so: "+domain.FailureKindNames())
	return c
}

func (a jobCommands) jobCancel(o *options) *cobra.Command {
	var in wire.CancelJobsRequest
	var b bulk
	c := &cobra.Command{Use: "cancel --all", Short: "Cancel the unfinished jobs that a filter selects, with the runs they are of",
		Long: "Cancel jobs that have not ended, with everything that is left of the runs they are of: a run without\n" +
			"some of its jobs would pass for a whole one. What was stored stays.",
		Args: func(c *cobra.Command, args []string) error {
			if !b.all {
				return usage("`%s` needs --all, and filters that say which", c.CommandPath())
			}
			return noArguments(c, args)
		},
		RunE: func(c *cobra.Command, _ []string) error {
			return a.changing(c.Context(), o, func(s *session) error {
				in.All, in.DryRun = true, b.dry
				sum, err := b.carryOut(func(cursor string) (wire.BulkAnswer, error) {
					in.Cursor = cursor
					return s.CancelJobs(c.Context(), in)
				})
				if err != nil {
					return err
				}
				return b.print(a.App, o, sum, "job", "canceled")
			})
		}}
	b.register(c, "all unfinished jobs that the filters select")
	c.Flags().Int64Var(&in.Run, "run", 0, "only jobs of this run")
	c.Flags().StringVar(&in.Account, "account", "", "only jobs of this account (id or login)")
	c.Flags().StringVar(&in.Type, "type", "", "only jobs of this type")
	c.Flags().StringVar(&in.Status, "status", "", "only jobs in this state: READY, RUNNING or PAUSED")
	c.Flags().StringVar(&in.Error, "error", "", "only jobs whose last attempt failed so: "+domain.FailureKindNames())
	c.Flags().StringVar(&in.Reason, "reason", "", "why, for people")
	return c
}
