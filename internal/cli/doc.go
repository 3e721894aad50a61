package cli

import "github.com/spf13/cobra"

// docCommand is the group of commands about single documents.
func (a *App) docCommand(o *options) *cobra.Command {
	return group("doc", "Search documents that were collected", searchCommand{a}.search(o))
}
