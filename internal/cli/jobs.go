package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"sluice/internal/domain"
	"sluice/internal/httpapi/wire"
	"sluice/internal/state"
)

func (a *App) jobs(o *options) *cobra.Command {
	return group("job", "List, show and retry jobs", a.jobList(o), a.jobShow(o), a.jobRetry(o))
}

func (a *App) jobList(o *options) *cobra.Command {
	var q state.JobQuery
	var status string
	c := &cobra.Command{Use: "list", Short: "List jobs", Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			for _, name := range strings.FieldsFunc(status, func(r rune) bool { return r == ',' }) {
				var st domain.JobStatus
				if err := st.UnmarshalText([]byte(strings.ToUpper(name))); err != nil {
					return usage("--status: %v", err)
				}
				q.Statuses = append(q.Statuses, st)
			}
			return a.with(c.Context(), o, func(s *session) error {
				list, err := s.Jobs(c.Context(), q)
				if err != nil {
					return err
				}
				if o.json() {
					return printJSON(a.Out, list)
				}
				return table(a.Out, "JOB\tRUN\tTYPE\tRESOURCE\tSTATUS\tATTEMPT\tITEMS\tERROR", func(line func(string, ...any)) {
					for _, j := range list.Jobs {
						line("%d\t%d\t%s\t%s\t%s\t%d\t%d\t%s", j.ID, j.RunID, j.Type, j.Resource, j.Status, j.Attempt, j.Items, orDash(j.Error))
					}
				})
			})
		}}
	c.Flags().Int64Var(&q.RunID, "run", 0, "only jobs of this run")
	c.Flags().StringVar(&status, "status", "", "only these states, such as FAILED or READY,RUNNING")
	c.Flags().Int64Var(&q.AfterID, "after", 0, "only jobs with a larger id, to page on")
	c.Flags().IntVar(&q.Limit, "limit", 50, "how many")
	return c
}

func (a *App) jobShow(o *options) *cobra.Command {
	return &cobra.Command{Use: "show JOB", Short: "Show one upstream call and what became of it", Args: oneID,
		RunE: func(c *cobra.Command, args []string) error {
			return a.with(c.Context(), o, func(s *session) error {
				j, err := s.Job(c.Context(), parseID(args[0]))
				if err != nil {
					return err
				}
				return a.showJob(o, j)
			})
		}}
}

func (a *App) showJob(o *options, j wire.Job) error {
	if o.json() {
		return printJSON(a.Out, j)
	}
	fmt.Fprintf(a.Out, "job %d of run %d: %s %s %s\n", j.ID, j.RunID, j.Type, j.Resource, j.Status)
	fmt.Fprintf(a.Out, "  attempt %d, %d failures, %d workers lost, %d items\n", j.Attempt, j.Failures, j.Lost, j.Items)
	fmt.Fprintf(a.Out, "  created %s, not before %s, ended %s\n", when(j.CreatedAt), when(j.NotBefore), when(j.FinishedAt))
	if j.Error != "" {
		fmt.Fprintf(a.Out, "  %s: %s\n", j.ErrorKind, j.Error)
	}
	return nil
}

func (a *App) jobRetry(o *options) *cobra.Command {
	return &cobra.Command{Use: "retry JOB", Short: "Try a failed job again, and its run with it", Args: oneID,
		RunE: func(c *cobra.Command, args []string) error {
			return a.with(c.Context(), o, func(s *session) error {
				j, err := s.RetryJob(c.Context(), parseID(args[0]))
				if err != nil {
					return err
				}
				return a.showJob(o, j)
			})
		}}
}
