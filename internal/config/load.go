package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"sluice/internal/domain"
	"sluice/internal/notify"
	"sluice/internal/source/declared/shipped"
	"sluice/internal/sources"
)

// Origin is where settings come from, besides the defaults.
type Origin struct {
	// Flags are those of the command, as the command line left them.
	Flags *pflag.FlagSet
	// Command is its path, such as "timer set".
	Command string
	Env     func(string) (string, bool)
	// Known holds the names of all flags of the program, so that one file can
	// serve every command.
	Known []string
	// Files are where a configuration file is looked for that nobody named, after
	// the data folder; nil means nowhere.
	Files []string
}

// Load fills a Config whose settings were registered at the flags of its origin,
// and reports everything that is wrong with it. Whether servers go together is
// the matter of whoever opens them, unless opens says that this will be.
func (c *Config) Load(from Origin, opens bool) error {
	beside := c.find(from)
	typed := map[string]bool{}
	from.Flags.Visit(func(f *pflag.Flag) { typed[f.Name] = f.Changed })
	settings, found, err := read(c.File, from.Known)
	if err != nil {
		return err
	}
	found = append(found, misdeclared(Settings())...)
	if _, says := settings["data-dir"]; says && beside {
		found.add("data-dir", "%s: it lies in the data folder and cannot say where that is; take data-dir out, or name the file with --config", c.File)
	}
	others := c.withoutFlag(from)
	found = append(found, apply(from.Flags, c.File, from.Env, settings)...)
	found = append(found, apply(others, c.File, from.Env, settings)...)
	given := func(name string) bool { return from.Flags.Changed(name) || others.Changed(name) }
	found = append(found, c.readSecrets(from, given, typed)...)
	found = append(found, c.readSinks(typed["sink"])...)
	if !given("floor") && c.Quota.Floor >= c.Quota.Limit {
		c.Quota.Floor = max(0, c.Quota.Limit/50)
	}
	found = append(found, c.wrong()...)
	if opens {
		found = append(found, c.Servers.wrong()...)
		c.Notify.CheckSecrets(func(format string, args ...any) { found.add("notify", format, args...) })
	}
	return found.err()
}

// Apply sets the flags that the command line left alone. known holds the names
// of all flags of the program, so that one file can serve every command.
func Apply(flags *pflag.FlagSet, file string, env func(string) (string, bool), known []string) error {
	settings, found, err := read(file, known)
	if err != nil {
		return err
	}
	return append(found, apply(flags, file, env, settings)...).err()
}

// withoutFlag registers the settings that a command uses and has no flag for.
func (c *Config) withoutFlag(from Origin) *pflag.FlagSet {
	others := pflag.NewFlagSet(from.Command, pflag.ContinueOnError)
	for _, s := range Settings() {
		if s.UsedBy(from.Command) && from.Flags.Lookup(s.Name) == nil {
			s.register(others, c)
		}
	}
	return others
}

// apply sets the flags that the command line left alone, from the environment
// and what the file holds.
func apply(flags *pflag.FlagSet, file string, env func(string) (string, bool), settings map[string]string) (found Problems) {
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Changed {
			return
		}
		value, from, ok := lookup(f.Name, file, env, settings)
		if !ok {
			return
		}
		if err := f.Value.Set(value); err != nil {
			switch f.Value.(type) {
			case *notify.Targets, *Sinks:
				// It may hold what does not belong there.
				value = "…"
			}
			found.add(f.Name, "%s: %q is not valid for --%s: %v", from, value, f.Name, err)
			// What could not be read may have left something behind; a list has not.
			if _, list := f.Value.(pflag.SliceValue); !list {
				_ = f.Value.Set(f.DefValue)
			}
			return
		}
		f.Changed = true
	})
	return found
}

func lookup(flag, file string, env func(string) (string, bool), settings map[string]string) (value, from string, ok bool) {
	if value, ok = env(EnvName(flag)); ok {
		return value, EnvName(flag), true
	}
	value, ok = settings[flag]
	return value, file, ok
}

// read loads a YAML file of "flag: value" lines; lists become repeated values.
// Keys that no flag knows are found wrong.
func read(file string, known []string) (settings map[string]string, found Problems, err error) {
	if file == "" {
		return nil, nil, nil
	}
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, domain.Errorf(domain.CodeInvalid, "the configuration file %s does not exist", file)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read configuration: %w", err)
	}
	raw := map[string]any{}
	if err := yaml.Unmarshal(text, &raw); err != nil {
		return nil, nil, domain.Errorf(domain.CodeInvalid, "%s: %w", file, err)
	}
	settings = make(map[string]string, len(raw))
	for _, key := range slices.Sorted(maps.Keys(raw)) {
		name := strings.ReplaceAll(key, "_", "-")
		if !slices.Contains(known, name) {
			found.add(name, "%s: there is no setting %q%s", file, key, Suggest(name, known))
			continue
		}
		settings[name] = render(raw[key])
	}
	return settings, found, nil
}

func render(value any) string {
	list, ok := value.([]any)
	if !ok {
		return fmt.Sprint(value)
	}
	if len(list) > 0 {
		if _, structured := list[0].(map[string]any); structured {
			// It was read from YAML, and is YAML again.
			text, _ := yaml.Marshal(list)
			return string(text)
		}
	}
	parts := make([]string, len(list))
	for i, v := range list {
		parts[i] = fmt.Sprint(v)
	}
	return strings.Join(parts, ",")
}

// Suggest returns "; did you mean …?" with the name nearest to what was typed,
// or nothing if none is near.
func Suggest(typed string, names []string) string {
	if best := Nearest(typed, names); best != "" {
		return "; did you mean " + best + "?"
	}
	return ""
}

// Nearest is the name that was probably meant, "" if there is none: two letters
// in five may be wrong, and three at most.
func Nearest(typed string, names []string) string {
	best, distance := "", min(3, (2*len(typed)+1)/5)+1
	for _, name := range names {
		if d := levenshtein.ComputeDistance(typed, name); d < distance || (d == distance && name < best) {
			best, distance = name, d
		}
	}
	if best != "" || len(typed) < 3 {
		return best
	}
	// Whoever stops typing early means what goes on so, if one thing does.
	for _, name := range names {
		if !strings.HasPrefix(name, typed) || name == best {
			continue
		}
		if best != "" {
			return ""
		}
		best = name
	}
	return best
}

// tokenSuffix ends the names of variables that hold credentials for sources.
const tokenSuffix = "_TOKEN"

// sourcesOf are the sources that variables for credentials are named after.
func sourcesOf(names []string) (of []string) {
	for _, name := range names {
		if source, ok := strings.CutSuffix(name, tokenSuffix); ok {
			of = append(of, source)
		}
	}
	return of
}

// UnknownVariables says of each variable of the program that no flag reads what
// may have been meant. environment has lines NAME=value, and known holds the names
// of all flags.
func UnknownVariables(environment, known []string) (said []string) {
	// Tokens of sources have no flag: what is in one would be in a process list.
	known = append(known, TokenSetting("source"))
	for _, r := range sources.Collected() {
		known = append(known, TokenSetting(r.Name))
	}
	for _, name := range shipped.Names() {
		known = append(known, TokenSetting(name))
	}
	var names []string
	for _, flag := range known {
		names = append(names, strings.TrimPrefix(EnvName(flag), EnvPrefix))
	}
	for _, line := range environment {
		variable, _, _ := strings.Cut(line, "=")
		name, ours := strings.CutPrefix(variable, EnvPrefix)
		if !ours || strings.HasPrefix(name, testPrefix) || slices.Contains(names, name) {
			continue
		}
		if of, token := strings.CutSuffix(name, tokenSuffix); token && Nearest(of, sourcesOf(names)) == "" {
			// It may be the credential for a source that somebody has added.
			continue
		}
		text := "there is no setting " + variable
		if meant := Nearest(name, names); meant != "" {
			text += "; did you mean " + EnvPrefix + meant + "?"
		}
		said = append(said, text)
	}
	slices.Sort(said)
	return said
}
