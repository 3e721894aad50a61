package config

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"sluice/internal/notify"
)

// EnvPrefix starts the name of every environment variable; testPrefix follows it
// in those that tests take.
const (
	EnvPrefix  = "SLUICE_"
	testPrefix = "TEST_"
)

// EnvName is the environment variable of a flag.
func EnvName(flag string) string {
	return EnvPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// Secrecy says how a value is to be treated.
type Secrecy int

// The kinds of values.
const (
	// Public values may be seen by anybody.
	Public Secrecy = iota
	// Secret values come from a file or the environment alone.
	Secret
	// SecretURL values may hold a password, which then comes from a file or the
	// environment alone.
	SecretURL
)

// Setting is the declaration of one setting.
type Setting struct {
	// Name is that of the flag and the key of the file; Env that of the variable.
	Name  string
	Group string
	Help  string
	// Secrecy says whether the value may be seen.
	Secrecy Secrecy
	// Short is the flag's letter, if it has one.
	Short string
	// Commands have it as a flag; none means all of them.
	Commands []string
	// Own says that it is for these commands alone. Whatever is not, a command
	// that opens a service in its own process takes from the file and the
	// environment, though it has no flag for it.
	Own bool
	// field is where a Config keeps it.
	field func(*Config) any
}

// Env is the environment variable of the setting.
func (s Setting) Env() string { return EnvName(s.Name) }

// Default is what holds where nothing was set, as it is written in a file; "" if
// there is nothing.
func (s Setting) Default() string {
	c := Default()
	return s.value(&c)
}

// Settings are all that there are, in the order of their groups.
func Settings() []Setting { return slices.Clone(settings()) }

// settings and defaults are made once: every start of the program asks for them for
// each of its commands, and for each flag of each.
var (
	settings = sync.OnceValue(func() []Setting {
		return slices.Concat(everywhere(), service(), servers(), api(), accessing(), collect(), quotas(), harvest(), timers(), refreshes(), kafka(), sinks(), notifications(), logLines(), traces(), ofSources())
	})
	defaults = sync.OnceValue(func() *Config { c := Default(); return &c })
)

// Find is the setting of a name.
func Find(name string) (s Setting, found bool) {
	all := Settings()
	i := slices.IndexFunc(all, func(s Setting) bool { return s.Name == name })
	if i < 0 {
		return s, false
	}
	return all[i], true
}

// FlagOf says whether a command, named by its path such as "timer set", has the
// setting as a flag.
func (s Setting) FlagOf(command string) bool {
	return len(s.Commands) == 0 || slices.ContainsFunc(s.Commands, func(name string) bool { return within(command, name) })
}

// UsedBy says whether a command uses the setting, wherever it is set.
func (s Setting) UsedBy(command string) bool {
	return s.FlagOf(command) || !s.Own && slices.ContainsFunc(stores, func(name string) bool { return within(command, name) })
}

// within says whether a command is another, or below it.
func within(command, name string) bool {
	return command == name || strings.HasPrefix(command, name+" ")
}

// RegisterGlobal gives a flag set the settings that every command has, with the
// defaults of Default.
func RegisterGlobal(f *pflag.FlagSet, c *Config) {
	for _, s := range settings() {
		if len(s.Commands) == 0 {
			s.register(f, c)
		}
	}
}

// Register gives the flags of a command the settings that it has beside the
// global ones. What has a flag already keeps it.
func Register(f *pflag.FlagSet, c *Config, command string) {
	for _, s := range settings() {
		if len(s.Commands) > 0 && s.FlagOf(command) && f.Lookup(s.Name) == nil {
			s.register(f, c)
		}
	}
}

// RegisterOwn gives a flag set those settings alone that name the command
// itself: of an account's schedule, those of schedules.
func RegisterOwn(f *pflag.FlagSet, c *Config, command string) {
	for _, s := range settings() {
		if s.Own && slices.Contains(s.Commands, command) {
			s.register(f, c)
		}
	}
}

// GroupOf is the group of a flag that is a setting of a command's, "" of others.
func GroupOf(f *pflag.Flag) string {
	if group := f.Annotations[groupAnnotation]; len(group) > 0 {
		return group[0]
	}
	return ""
}

const groupAnnotation = "setting"

// register makes the setting a flag. It reports false for one of a type that no flag
// has, which Load refuses.
func (s Setting) register(f *pflag.FlagSet, c *Config) bool {
	switch v := s.field(defaults()).(type) {
	case *notify.Targets:
		f.Var(s.field(c).(*notify.Targets), s.Name, s.Help)
	case *Sinks:
		f.Var(s.field(c).(*Sinks), s.Name, s.Help)
	case *Roles:
		f.StringSliceVar((*[]string)(s.field(c).(*Roles)), s.Name, slices.Clone(*v), s.Help)
	case *string:
		f.StringVarP(s.field(c).(*string), s.Name, s.Short, *v, s.Help)
	case *int:
		f.IntVar(s.field(c).(*int), s.Name, *v, s.Help)
	case *int64:
		f.Int64Var(s.field(c).(*int64), s.Name, *v, s.Help)
	case *bool:
		f.BoolVar(s.field(c).(*bool), s.Name, *v, s.Help)
	case *time.Duration:
		f.DurationVar(s.field(c).(*time.Duration), s.Name, *v, s.Help)
	default:
		return false
	}
	f.Lookup(s.Name).Annotations = map[string][]string{groupAnnotation: {s.Group}}
	return true
}

// misdeclared finds settings that are kept in a type which neither flags nor files
// have, and secrets that are no texts. Who declares one finds out at the next start.
func misdeclared(all []Setting) (found Problems) {
	c := Default()
	for _, s := range all {
		_, text := s.field(&c).(*string)
		switch {
		case !s.register(pflag.NewFlagSet("", pflag.ContinueOnError), &c):
			found.add(s.Name, "the setting %s is kept as %T, which no flag has: keep it as a text, a number, a duration or a truth value, or let Setting.register and Setting.value know the type",
				s.Name, s.field(&c))
		case s.Secrecy != Public && !text:
			found.add(s.Name, "the setting %s is a secret and kept as %T: keep it as a text, which can name a file", s.Name, s.field(&c))
		}
	}
	return found
}
