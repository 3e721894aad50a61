// Package config fills the flags of a command from three places: the command
// line, the environment (SLUICE_… for every flag) and a YAML file, in that
// order of precedence. A setting that no flag knows is an error that names the
// nearest one.
package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"sluice/internal/domain"
)

// EnvPrefix starts the name of every environment variable.
const EnvPrefix = "SLUICE_"

// EnvName is the environment variable of a flag.
func EnvName(flag string) string {
	return EnvPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// Apply sets the flags that the command line left alone. known holds the names
// of all flags of the program, so that one file can serve every command.
func Apply(flags *pflag.FlagSet, file string, env func(string) (string, bool), known []string) error {
	settings, err := read(file, known)
	if err != nil {
		return err
	}
	var failed error
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Changed || failed != nil {
			return
		}
		value, from, ok := lookup(f.Name, file, env, settings)
		if !ok {
			return
		}
		if err := f.Value.Set(value); err != nil {
			failed = domain.Errorf(domain.CodeInvalid, "%s: %q is not valid for --%s: %w", from, value, f.Name, err)
			return
		}
		f.Changed = true
	})
	return failed
}

func lookup(flag, file string, env func(string) (string, bool), settings map[string]string) (value, from string, ok bool) {
	if value, ok = env(EnvName(flag)); ok {
		return value, EnvName(flag), true
	}
	value, ok = settings[flag]
	return value, file, ok
}

// read loads a YAML file of "flag: value" lines; lists become repeated values.
func read(file string, known []string) (map[string]string, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, domain.Errorf(domain.CodeInvalid, "the configuration file %s does not exist", file)
	}
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	raw := map[string]any{}
	if err := yaml.Unmarshal(text, &raw); err != nil {
		return nil, domain.Errorf(domain.CodeInvalid, "%s: %w", file, err)
	}
	settings := make(map[string]string, len(raw))
	for key, value := range raw {
		name := strings.ReplaceAll(key, "_", "-")
		if !slices.Contains(known, name) {
			return nil, domain.Errorf(domain.CodeInvalid, "%s: there is no setting %q%s", file, key, Suggest(name, known))
		}
		settings[name] = render(value)
	}
	return settings, nil
}

func render(value any) string {
	list, ok := value.([]any)
	if !ok {
		return fmt.Sprint(value)
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
	best, distance := "", len(typed)/2+2
	for _, name := range names {
		if d := levenshtein.ComputeDistance(typed, name); d < distance || (d == distance && name < best) {
			best, distance = name, d
		}
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + best + "?"
}
