package config

import (
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"time"

	"sluice/internal/domain"
)

// Problem is one setting that is wrong. Its text names the setting, its value,
// unless that is secret, and what it must be.
type Problem struct{ Setting, Text string }

// Problems is everything that is wrong with a Config.
type Problems []Problem

func (p *Problems) add(setting, format string, args ...any) {
	*p = append(*p, Problem{setting, fmt.Sprintf(format, args...)})
}

// Error implements error: one problem is told as it is, several in a line each.
func (p Problems) Error() string {
	if len(p) == 1 {
		return p[0].Text
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%d settings are wrong:", len(p))
	for _, one := range p {
		text.WriteString("\n  " + one.Text)
	}
	return text.String()
}

// err is nil if there is nothing wrong.
func (p Problems) err() error {
	if len(p) == 0 {
		return nil
	}
	return domain.Errorf(domain.CodeInvalid, "%w", p)
}

// Validate reports everything that is wrong with the settings, all at once.
func (c *Config) Validate() error { return append(c.wrong(), c.Servers.wrong()...).err() }

// Validate reports servers that do not go together.
func (s Servers) Validate() error { return s.wrong().err() }

// minToken is how long the API's token must be.
const minToken = 16

// wrong checks every setting, and what must go together within a process.
func (c *Config) wrong() (found Problems) {
	if c.Output != "text" && c.Output != "json" {
		found.add("output", "--output is text or json, not %q", c.Output)
	}
	if new(slog.Level).UnmarshalText([]byte(c.Log.Level)) != nil {
		found.add("log-level", "--log-level is debug, info, warn or error, not %q", c.Log.Level)
	}
	if c.Log.Format != "text" && c.Log.Format != "json" {
		found.add("log-format", "--log-format is text or json, not %q", c.Log.Format)
	}
	c.Notify.Check(func(format string, args ...any) { found.add("notify", format, args...) })
	c.Sinks.check(&found)
	c.Traces.check(&found)
	c.Collect.check(&found)
	c.Quota.check(&found)
	c.HTTP.check(&found)
	c.HTTP.checkAccess(&found)
	c.checkKafka(&found)
	c.checkTimers(&found)
	c.checkSources(&found)
	if c.Refresh.FreshFor < time.Second {
		found.add("fresh-for", "--fresh-for is %s; it must be at least 1s", c.Refresh.FreshFor)
	}
	if u, err := url.Parse(c.Refresh.Archive); err == nil && u.User != nil {
		found.add("archive", "--archive has a user, a key or a password in it; take it out, and give keys by the environment (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY)")
	}
	c.checkRoles(&found)
	if c.Harvest.On {
		if _, err := c.Harvest.Schedule(); err != nil {
			found.add("every", "%v", err)
		}
	}
	return found
}

func (c Collect) check(found *Problems) {
	if c.Workers < 1 || c.Workers > 10_000 {
		found.add("workers", "--workers is %d; it must be between 1 and 10,000", c.Workers)
	}
	if c.Lease < time.Second {
		found.add("lease", "--lease is %v; it must be at least 1s", c.Lease)
	}
	if c.KeepJobs == 0 {
		found.add("keep-jobs", "--keep-jobs is 0; it must be a duration such as 720h, or negative to keep them for ever")
	}
	if c.KeepChanges < 0 {
		found.add("changes-keep", "--changes-keep is %v; it must be a duration such as 720h, or 0 to keep changes for ever", c.KeepChanges)
	}
}

func (q Quota) check(found *Problems) {
	if q.Limit < 1 {
		found.add("assume-limit", "--assume-limit is %d; it must be at least 1", q.Limit)
	}
	if q.Window <= 0 {
		found.add("assume-window", "--assume-window is %v; it must be positive", q.Window)
	}
	switch {
	case q.Floor < 0:
		found.add("floor", "--floor is %d; it cannot be negative", q.Floor)
	case q.Floor >= q.Limit && q.Limit > 0:
		found.add("floor", "--floor is %d, which keeps the whole limit of %d for its owner; it must be lower (--assume-limit says how much a window allows)", q.Floor, q.Limit)
	}
}

// mostMetricsOwners bounds what one scrape can add to a Prometheus.
const mostMetricsOwners = 1000

func (h HTTP) check(found *Problems) {
	if n := len(h.Token); n > 0 && n < minToken {
		found.add("api-token", "--api-token has %d characters; it needs at least %d, or it can be guessed: make one with `openssl rand -hex 32`", n, minToken)
	}
	if h.Connections < 1 {
		found.add("max-connections", "--max-connections is %d; it must be at least 1", h.Connections)
	}
	if h.MetricsOwners < 0 || h.MetricsOwners > mostMetricsOwners {
		found.add("metrics-owners", "--metrics-owners is %d; it must be 0 to %d: each is several series of Prometheus", h.MetricsOwners, mostMetricsOwners)
	}
}

func (c *Config) checkTimers(found *Problems) {
	switch c.Timers.Trigger {
	case TriggerDueSet:
	case TriggerKeyspace:
		if !c.Servers.Shared() {
			found.add("timer-trigger", "--timer-trigger %s needs --redis: it is Redis whose keys expire", TriggerKeyspace)
		}
	default:
		found.add("timer-trigger", "--timer-trigger is %s or %s, not %q", TriggerDueSet, TriggerKeyspace, c.Timers.Trigger)
	}
}

func (c *Config) checkRoles(found *Problems) {
	roles, all := c.Service.Roles, AllRoles()
	if len(roles) == 0 {
		found.add("roles", "--roles: name at least one of %s", strings.Join(all, ", "))
		return
	}
	for _, role := range roles {
		if !slices.Contains(all, role) {
			found.add("roles", "--roles: there is no role %q; choose from %s", role, strings.Join(all, ", "))
			return
		}
	}
	lacks := func(role string) bool { return !roles.Has(role) }
	keyed, needs := c.keyed()
	switch {
	case slices.ContainsFunc(all, lacks) && !c.Servers.Shared():
		found.add("roles", "--roles: without --state and --redis one process does everything; leave --roles out")
	case !roles.Has(RoleAPI) && !roles.Has(RoleWorker) && !roles.Has(RoleScheduler) && !keyed:
		found.add("roles", "--roles refresh: nothing can be refreshed without an API key; set %s", needs)
	}
}

// wrong checks which servers go together.
func (s Servers) wrong() (found Problems) {
	if s.Redis != "" && s.State == "" {
		found.add("state", "--redis needs --state postgres://… or mysql://…: processes on several machines cannot share the embedded database")
	}
	if s.State != "" && s.Redis == "" {
		found.add("redis", "--state needs --redis redis://…: processes that share a database hand each other work and count calls through Redis")
	}
	if s.Shared() && s.KeyFile == "" {
		found.add("key-file", "several machines need one key for the credentials they store: make one with `openssl rand -hex 32 > sluice.key` and give it to each with --key-file")
	}
	return found
}
