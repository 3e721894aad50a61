package cli

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"sluice/internal/fleet"
	"sluice/internal/httpapi/wire"
)

// systemCommand shows what an installation consists of.
type systemCommand struct{ *App }

// installation is what it prints as JSON.
type installation struct {
	Processes []fleet.Process `json:"processes"`
	Backends  []fleet.Backend `json:"backends"`
}

func (a systemCommand) system(o *options) *cobra.Command {
	return &cobra.Command{Use: "system", Short: "Show the processes of an installation, and the databases and servers that they work with", Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.with(c.Context(), o, func(s *session) error {
				processes, err := s.Processes(c.Context())
				if err != nil {
					return err
				}
				backends, err := s.Backends(c.Context())
				if err != nil {
					return err
				}
				return a.print(o, processes, backends)
			})
		}}
}

func (a systemCommand) print(o *options, processes wire.ProcessList, backends wire.BackendList) error {
	if o.json() {
		return printJSON(a.Out, installation{processes.Items, backends.Items})
	}
	yesNo := map[bool]string{true: "yes", false: "no"}
	err := table(a.Out, "PROCESS\tVERSION\tROLES\tADDRESS\tSTARTED\tLEADS\tANSWERS", func(line func(string, ...any)) {
		for _, p := range processes.Items {
			answers := "yes"
			if !p.Answers {
				answers = "not since " + when(p.AnsweredAt)
			}
			line("%s:%d\t%s\t%s\t%s\t%s\t%s\t%s", p.Host, p.PID, cmp.Or(p.Version, "-"), cmp.Or(strings.Join(p.Roles, ","), "all"),
				cmp.Or(p.Address, "-"), when(p.StartedAt), yesNo[p.Leads], answers)
		}
	})
	if err != nil {
		return err
	}
	fmt.Fprintln(a.Out)
	return table(a.Out, "WORKS WITH\tWHAT\tADDRESS\tFIGURE\tVALUE", func(line func(string, ...any)) {
		for _, b := range backends.Items {
			what := strings.TrimSpace(b.Kind + " " + b.Version)
			if b.Error != "" {
				line("%s\t%s\t%s\t%s\t", b.Name, what, cmp.Or(b.Address, "-"), b.Error)
			}
			for _, f := range b.Figures {
				line("%s\t%s\t%s\t%s\t%s", b.Name, what, cmp.Or(b.Address, "-"), f.Name, f)
			}
		}
	})
}
