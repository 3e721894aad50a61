package config

import (
	"strings"

	"sluice/internal/source"
	"sluice/internal/sources"
)

// ofSources are the settings that sources declare, in a group for each.
func ofSources() (all []Setting) {
	for _, r := range sources.All() {
		for _, s := range r.Settings {
			setting := Setting{Name: s.Name, Group: r.Title, Help: s.Help, field: func(c *Config) any { return c.sourceField(s) }}
			if s.Secret {
				setting.Secrecy = Secret
			}
			switch s.Use {
			case source.UseConnection:
				setting.Commands = []string{"up", "collect", "doctor", "account add", "account set"}
			case source.UseCollection:
				setting.Commands = workers
			case source.UseHooks:
				setting.Commands, setting.Own = []string{"up"}, true
			case source.UseRecords:
				setting.Commands = []string{"up", "doctor"}
			}
			all = append(all, setting)
		}
	}
	return all
}

// TokenSetting names what holds the token of a source; it has a variable and no
// flag.
func TokenSetting(source string) string { return source + "-token" }

// sourceField is where a source's setting is kept.
func (c *Config) sourceField(s source.Setting) any {
	if c.Sources == nil {
		c.Sources = source.Settings{}
	}
	return c.Sources.Field(s)
}

// sourceDefaults is what holds for sources where nothing was set.
func sourceDefaults() source.Settings {
	all := source.Settings{}
	for _, r := range sources.All() {
		for _, s := range r.Settings {
			all.Field(s)
		}
	}
	return all
}

// checkSources lets sources say what is wrong with their settings.
func (c *Config) checkSources(found *Problems) {
	for _, r := range sources.All() {
		if r.Check != nil {
			r.Check(c.Sources, found.add)
		}
	}
}

// keyed says whether any source of keyed records can be opened; if not, needs is
// which variables one needs.
func (c *Config) keyed() (ready bool, needs string) {
	if c.Declared != "" {
		// What a file describes may be such a source; that is known when it is opened.
		return true, ""
	}
	var names []string
	for _, r := range sources.All() {
		if r.Records == nil {
			continue
		}
		if r.Needs == "" || c.Sources.Text(r.Needs) != "" {
			return true, ""
		}
		names = append(names, EnvName(r.Needs))
	}
	return false, strings.Join(names, " or ")
}
