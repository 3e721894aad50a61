package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// pageWidth is how wide the first page may be.
const pageWidth = 80

// rootPage is what the program says of itself: on one screen.
func rootPage(w io.Writer, root *cobra.Command) {
	fmt.Fprintf(w, "%s.\n", root.Short)
	fmt.Fprintln(w, "  sluice demo to see it at work; SLUICE_GITHUB_TOKEN=… sluice collect octocat")
	for _, g := range root.Groups() {
		title := strings.TrimSuffix(g.Title, ":")
		for _, c := range root.Commands() {
			// What the last lines tell of needs no line of its own.
			if c.GroupID == g.ID && c.IsAvailableCommand() && c.Name() != "version" {
				fmt.Fprintln(w, shortened(fmt.Sprintf("%-8s %-9s %s", title, c.Name(), c.Short)))
				title = ""
			}
		}
	}
	fmt.Fprintln(w, "Flags of every command: --config FILE, -o json, --log-level LEVEL, -h (--help).")
	fmt.Fprintln(w, "More: sluice help COMMAND, sluice help settings (all of them), sluice version.")
	fmt.Fprint(w, exitCodes+"\n")
}

// shortened cuts a line that is too wide for a screen, at a word.
func shortened(line string) string {
	if len([]rune(line)) <= pageWidth {
		return line
	}
	cut := string([]rune(line)[:pageWidth-1])
	if at := strings.LastIndexByte(cut, ' '); at > 0 {
		cut = cut[:at]
	}
	return strings.TrimRight(cut, " ,;") + "…"
}

// helpCommand is `sluice help`, which refuses what is no command and names the
// nearest.
func helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND]", Short: "Help about any command", Hidden: true,
		// Help must be had whatever is wrong with the settings.
		PersistentPreRunE: func(*cobra.Command, []string) error { return nil },
		ValidArgsFunction: func(_ *cobra.Command, args []string, word string) (names []string, _ cobra.ShellCompDirective) {
			c, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			for _, sub := range c.Commands() {
				if !sub.Hidden && strings.HasPrefix(sub.Name(), word) {
					names = append(names, sub.Name()+"\t"+sub.Short)
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			c, rest, err := root.Find(args)
			if err != nil || c == nil {
				return knownCommand(root, args)
			}
			if len(rest) > 0 && c.HasSubCommands() {
				return knownCommand(c, rest)
			}
			c.InitDefaultHelpFlag()
			return c.Help()
		},
	}
}
