package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"sluice/internal/notify"
	"sluice/internal/secret"
)

// Explained is a setting as it holds, and where that comes from.
type Explained struct {
	Name  string `json:"name"`
	Group string `json:"group"`
	// Value is masked where it is secret.
	Value string `json:"value"`
	// From is default, file, environment or flag.
	From string `json:"from"`
	// Where is the file, the variable or the flag.
	Where string `json:"where,omitempty"`
}

// Where a value comes from.
const (
	FromDefault     = "default"
	FromFile        = "file"
	FromEnvironment = "environment"
	FromFlag        = "flag"
)

// Explain tells every setting of a loaded Config. typed says which flags stood on
// the command line; the origin is the one that it was loaded from.
func (c *Config) Explain(from Origin, typed map[string]bool) []Explained {
	// It was read before, and what is wrong with it was said then.
	settings, _, _ := read(c.File, from.Known)
	var all []Explained
	for _, s := range Settings() {
		one := Explained{Name: s.Name, Group: s.Group, Value: s.value(c), From: FromDefault}
		raw, set := from.Env(s.Env())
		inFile, has := settings[s.Name]
		switch {
		case typed[s.Name]:
			one.From, one.Where = FromFlag, "--"+s.Name
		case set:
			one.From, one.Where = FromEnvironment, s.Env()
		case has:
			one.From, one.Where, raw = FromFile, c.File, inFile
		case s.Name == "config" && c.File != "":
			// Nobody named it: it lay where one is looked for.
			one.From, one.Where = FromFile, c.File
		}
		one.Value = masked(s, one.Value, raw)
		all = append(all, one)
	}
	return all
}

// mask stands for what may not be seen.
const mask = "********"

// masked is a value as it may be seen: of a secret from which file it comes, or that
// it is set; of a URL, whichever setting it is, where it leads.
func masked(s Setting, value, raw string) string {
	switch {
	case value == "":
		return ""
	case s.Secrecy != Public && strings.HasPrefix(raw, "@"):
		return raw
	case s.Secrecy == Secret:
		return mask
	case s.Name == "notify" || s.Name == "sink":
		// They hide what is secret in them by themselves.
		return value
	}
	return secret.MaskedURL(value)
}

// value is what a Config holds, as it is written in a file.
func (s Setting) value(c *Config) string {
	switch v := s.field(c).(type) {
	case *notify.Targets:
		return v.String()
	case *Sinks:
		return v.String()
	case *Roles:
		return strings.Join(*v, ",")
	case *string:
		return *v
	case *int:
		return fmt.Sprint(*v)
	case *int64:
		return fmt.Sprint(*v)
	case *bool:
		return fmt.Sprint(*v)
	case *time.Duration:
		return v.String()
	}
	return "" // Load has refused it
}

// RegisterAll gives a flag set every setting that it has not yet, without a word in
// its help.
func RegisterAll(f *pflag.FlagSet, c *Config) {
	for _, s := range settings() {
		// What every command has comes from the program itself.
		if len(s.Commands) > 0 && f.Lookup(s.Name) == nil {
			if s.register(f, c) {
				f.Lookup(s.Name).Hidden = true
			}
		}
	}
}

// Template is a configuration file with every setting in a comment.
func Template() string {
	var text strings.Builder
	text.WriteString("# Settings of Sluice. What begins with one # is what holds unless it is set: take the mark away and\n" +
		"# write another value. Variables (SLUICE_…) and flags come before what stands here.\n" +
		"# Secrets are not written here but named as files: api-token: \"@/etc/sluice/api.token\"\n")
	group := ""
	for _, s := range Settings() {
		// These are about one command line, not about a service.
		if slices.Contains([]string{"config", "output", "server"}, s.Name) {
			continue
		}
		if s.Group != group {
			group = s.Group
			fmt.Fprintf(&text, "\n## %s\n", group)
		}
		value := cmp.Or(s.Default(), `""`)
		if strings.ContainsAny(value, ":@,") {
			value = fmt.Sprintf("%q", value)
		}
		fmt.Fprintf(&text, "\n## %s\n#%s: %s\n", s.Help, s.Name, value)
	}
	return text.String()
}
