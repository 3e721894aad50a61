package config

import (
	"fmt"
	"strings"
)

// Describe tells of every setting: where it is set, what it is unless that is
// done, what it does and which commands have it as a flag.
func Describe() string {
	var text strings.Builder
	text.WriteString("A setting is taken from the command line, or from the environment, or from the YAML file that\n" +
		"--config names, or is its default, in this order. Each line has its key in the file, its\n" +
		"variable and its default. One file serves every command: each takes what it uses. Where none is\n" +
		"named, the first that is there counts: sluice.yaml of the data folder, of ~/.config/sluice\n" +
		"($XDG_CONFIG_HOME/sluice), of /etc/sluice. `sluice config show` tells what holds, and why.\n\n" +
		"A command has flags for what is its own. What else a service is made with, commands that open\n" +
		"one in their own process take from the environment and the file.\n")
	group := ""
	for _, s := range Settings() {
		if s.Group != group {
			group = s.Group
			fmt.Fprintf(&text, "\n%s\n", group)
		}
		fmt.Fprintf(&text, "  %s, %s", s.Name, s.Env())
		if value := s.Default(); value != "" {
			fmt.Fprintf(&text, ", %s", value)
		}
		fmt.Fprintf(&text, "\n      %s\n      --%s of %s\n", s.Help, s.Name, s.commandsText())
	}
	return strings.TrimSuffix(text.String(), "\n")
}

// commandsText names the commands that have the setting as a flag.
func (s Setting) commandsText() string {
	if len(s.Commands) == 0 {
		return "every command"
	}
	return strings.Join(s.Commands, ", ")
}
