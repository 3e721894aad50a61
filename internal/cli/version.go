package cli

import (
	"runtime"

	"github.com/spf13/cobra"
)

// Build is what is known of how the program was built.
type Build struct {
	Version string `json:"version"`
	// Commit is that of the source, Built when that was made; "" where nobody told.
	Commit string `json:"commit,omitempty"`
	Built  string `json:"built,omitempty"`
	Go     string `json:"go"`
	System string `json:"system"`
	// Modules are what it was built with, as lines of a name and a version.
	Modules []string `json:"modules,omitempty"`
}

// versionCommand tells which program this is.
type versionCommand struct{ *App }

func (a versionCommand) version(o *options) *cobra.Command {
	var verbose bool
	c := &cobra.Command{
		Use: "version", Short: "Show the version, the commit and what the program was built with", Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			b := a.Build
			b.Version, b.System = a.Version, runtime.GOOS+"/"+runtime.GOARCH
			if b.Go == "" {
				b.Go = runtime.Version()
			}
			if !verbose {
				b.Modules = nil
			}
			if o.json() {
				return printJSON(a.Out, b)
			}
			say(a.Out, "sluice %s\n", b.Version)
			for _, line := range [][2]string{{"commit", b.Commit}, {"built", b.Built}, {"go", b.Go}, {"system", b.System}} {
				if line[1] != "" {
					say(a.Out, "  %-7s %s\n", line[0], line[1])
				}
			}
			for _, m := range b.Modules {
				say(a.Out, "  module  %s\n", m)
			}
			return nil
		},
	}
	c.Flags().BoolVarP(&verbose, "verbose", "v", false, "also the modules that it was built with")
	return c
}
