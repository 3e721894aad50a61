package cli

import (
	"errors"

	"github.com/spf13/cobra"
)

// doctorCommand checks what the service needs.
type doctorCommand struct{ *App }

func (a doctorCommand) doctor(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "doctor", Short: "Check the configuration and everything the service needs", Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			so, err := a.service(o, "sluice doctor")
			if err != nil {
				return err
			}
			findings := a.Check(c.Context(), so)
			sick := 0
			for _, f := range findings {
				if !f.OK {
					sick++
				}
			}
			if o.json() {
				if err := printJSON(a.Out, map[string]any{"ok": sick == 0, "findings": findings}); err != nil {
					return err
				}
			} else {
				a.printFindings(findings)
			}
			if sick > 0 {
				return errors.New(plural(sick, "check") + " failed")
			}
			return nil
		},
	}
}

func (a doctorCommand) printFindings(findings []Finding) {
	st := a.style(a.Out)
	for _, f := range findings {
		mark := st.green("ok  ")
		switch {
		case !f.OK:
			mark = st.red("FAIL")
		case len(f.Warnings) > 0:
			mark = st.yellow("warn")
		}
		say(a.Out, "%s  %-14s %s\n", painted(mark), f.What, f.Detail)
		if !f.OK && f.Fix != "" {
			say(a.Out, "      %-14s → %s\n", "", f.Fix)
		}
		for _, warning := range f.Warnings {
			say(a.Out, "      %-14s → %s\n", "", warning)
		}
	}
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return count(int64(n)) + " " + noun + "s"
}
