package config_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"sluice/internal/config"
	"sluice/internal/domain"
)

func TestDefaultsAreValid(t *testing.T) {
	c := config.Default()
	if err := c.Validate(); err != nil {
		t.Error(err)
	}
}

// shared is a valid Config of several machines.
func shared() config.Config {
	c := config.Default()
	c.Servers.State, c.Servers.Redis, c.Servers.KeyFile = "mysql://x@host/db", "redis://host", "sluice.key"
	return c
}

// TestWrongValues changes one thing each, and expects to be told of that alone:
// the setting, its value and what it must be.
func TestWrongValues(t *testing.T) {
	for name, tc := range map[string]struct {
		change  func(*config.Config)
		setting string
		says    []string
	}{
		"output":             {func(c *config.Config) { c.Output = "xml" }, "output", []string{"--output", "text or json", `"xml"`}},
		"log level":          {func(c *config.Config) { c.Log.Level = "loud" }, "log-level", []string{"--log-level", "debug, info, warn or error", `"loud"`}},
		"no workers":         {func(c *config.Config) { c.Collect.Workers = 0 }, "workers", []string{"--workers is 0", "between 1 and 10,000"}},
		"too many workers":   {func(c *config.Config) { c.Collect.Workers = 10_001 }, "workers", []string{"--workers is 10001"}},
		"short lease":        {func(c *config.Config) { c.Collect.Lease = time.Millisecond }, "lease", []string{"--lease is 1ms", "at least 1s"}},
		"changes never kept": {func(c *config.Config) { c.Collect.KeepChanges = -time.Hour }, "changes-keep", []string{"--changes-keep is -1h", "720h", "for ever"}},
		"jobs not kept":      {func(c *config.Config) { c.Collect.KeepJobs = 0 }, "keep-jobs", []string{"--keep-jobs is 0", "720h", "negative"}},
		"limit":              {func(c *config.Config) { c.Quota.Limit = 0 }, "assume-limit", []string{"--assume-limit is 0", "at least 1"}},
		"window":             {func(c *config.Config) { c.Quota.Window = -time.Hour }, "assume-window", []string{"--assume-window is -1h0m0s", "positive"}},
		"negative floor":     {func(c *config.Config) { c.Quota.Floor = -1 }, "floor", []string{"--floor is -1", "negative"}},
		"whole floor":        {func(c *config.Config) { c.Quota.Floor = 5000 }, "floor", []string{"--floor is 5000", "limit of 5000", "lower"}},
		"guessable token":    {func(c *config.Config) { c.HTTP.Token = "hunter2" }, "api-token", []string{"--api-token has 7 characters", "at least 16", "openssl rand"}},
		"metrics owners":     {func(c *config.Config) { c.HTTP.MetricsOwners = 1001 }, "metrics-owners", []string{"--metrics-owners is 1001", "0 to 1000"}},
		"connections":        {func(c *config.Config) { c.HTTP.Connections = 0 }, "max-connections", []string{"--max-connections is 0", "at least 1"}},
		"half of TLS":        {func(c *config.Config) { c.HTTP.TLSKey = "x.key" }, "tls-cert", []string{"--tls-cert and --tls-key", "both"}},
		"path prefix":        {func(c *config.Config) { c.HTTP.PathPrefix = "sluice/" }, "path-prefix", []string{"--path-prefix", `"sluice/"`, "/sluice"}},
		"proxies":            {func(c *config.Config) { c.HTTP.TrustedProxies = "everybody" }, "trusted-proxies", []string{"--trusted-proxies", `"everybody"`, "10.0.0.0/8"}},
		"no audit":           {func(c *config.Config) { c.HTTP.KeepAudit = 0 }, "keep-audit", []string{"--keep-audit is 0", "2160h"}},
		"half of Kafka":      {func(c *config.Config) { c.Kafka.Cert = "x.pem" }, "kafka-cert", []string{"--kafka-cert and --kafka-key"}},
		"user alone":         {func(c *config.Config) { c.Kafka.User = "x" }, "kafka-sasl", []string{"--kafka-sasl", "scram-sha-512"}},
		"no such login":      {func(c *config.Config) { c.Kafka.SASL = "kerberos" }, "kafka-sasl", []string{`"kerberos"`, "plain"}},
		"no password":        {func(c *config.Config) { c.Kafka.SASL, c.Kafka.User = "plain", "x" }, "kafka-sasl", []string{"SLUICE_KAFKA_PASSWORD"}},
		"open password":      {func(c *config.Config) { c.Kafka.SASL, c.Kafka.User, c.Kafka.Password = "plain", "x", "canary" }, "kafka-sasl", []string{"--kafka-tls"}},
		"trigger":            {func(c *config.Config) { c.Timers.Trigger = "cron" }, "timer-trigger", []string{"--timer-trigger is due-set or keyspace", `"cron"`}},
		"trigger alone":      {func(c *config.Config) { c.Timers.Trigger = config.TriggerKeyspace }, "timer-trigger", []string{"--timer-trigger keyspace needs --redis"}},
		"freshness":          {func(c *config.Config) { c.Refresh.FreshFor = 0 }, "fresh-for", []string{"--fresh-for is 0s", "at least 1s"}},
		"per second":         {func(c *config.Config) { c.Sources = c.Sources.With("maplestory-per-second", 1) }, "maplestory-per-second", []string{"--maplestory-per-second is 1", "at least 2"}},
		"per day":            {func(c *config.Config) { c.Sources = c.Sources.With("maplestory-per-day", int64(0)) }, "maplestory-per-day", []string{"--maplestory-per-day is 0", "at least 1"}},
		"reserve":            {func(c *config.Config) { c.Sources = c.Sources.With("maplestory-reserve", int64(20_000_000)) }, "maplestory-reserve", []string{"--maplestory-reserve is 20000000", "less than --maplestory-per-day"}},
		"no role":            {func(c *config.Config) { c.Service.Roles = nil }, "roles", []string{"--roles", "at least one of api, worker, scheduler, refresh"}},
		"unknown role":       {func(c *config.Config) { c.Service.Roles = config.Roles{"boss"} }, "roles", []string{"--roles", `"boss"`, "choose from api"}},
		"role alone":         {func(c *config.Config) { c.Service.Roles = config.Roles{"api"} }, "roles", []string{"--roles", "without --state and --redis", "leave --roles out"}},
		"nothing to refresh": {func(c *config.Config) { *c = shared(); c.Service.Roles = config.Roles{"refresh"} }, "roles",
			[]string{"--roles refresh", "SLUICE_MAPLESTORY_KEY"}},
		"schedule":      {func(c *config.Config) { c.Harvest.Policy.Every = "often" }, "every", []string{"often"}},
		"redis alone":   {func(c *config.Config) { *c = shared(); c.Servers.State = "" }, "state", []string{"--redis needs --state"}},
		"state alone":   {func(c *config.Config) { *c = shared(); c.Servers.Redis = "" }, "redis", []string{"--state needs --redis"}},
		"no shared key": {func(c *config.Config) { *c = shared(); c.Servers.KeyFile = "" }, "key-file", []string{"openssl rand", "--key-file"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := config.Default()
			tc.change(&c)
			err := c.Validate()
			var found config.Problems
			if !errors.As(err, &found) || len(found) != 1 || found[0].Setting != tc.setting || domain.CodeOf(err) != domain.CodeInvalid {
				t.Fatalf("got %v: %+v", err, found)
			}
			for _, says := range tc.says {
				if !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "\n") {
					t.Errorf("it says %q, not %q", err, says)
				}
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("it tells a secret: %v", err)
			}
		})
	}
}

// loaded loads a Config as a command would that has every flag.
func loaded(t *testing.T, env map[string]string, args ...string) (config.Config, error) {
	t.Helper()
	var c config.Config
	f := pflag.NewFlagSet("test", pflag.ContinueOnError)
	config.RegisterGlobal(f, &c)
	config.Register(f, &c, "up")
	if err := f.Parse(args); err != nil {
		t.Fatal(err)
	}
	var known []string
	f.VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
	return c, c.Load(config.Origin{Flags: f, Command: "up", Known: known, Env: func(name string) (string, bool) { v, ok := env[name]; return v, ok }}, true)
}

// TestAllIsToldAtOnce makes mistakes in every place.
func TestAllIsToldAtOnce(t *testing.T) {
	path := file(t, "lease: 1ms\nwokers: 3\nzone: UTC\nassume_limit: many\n")
	_, err := loaded(t, map[string]string{"SLUICE_CONFIG": path, "SLUICE_FLOOR": "x", "SLUICE_REDIS": "redis://host"},
		"--workers", "0", "--api-token", "on-the-command-line", "--state", "mysql://user:hunter2@host/db")
	if domain.CodeOf(err) != domain.CodeInvalid {
		t.Fatal(err)
	}
	var found config.Problems
	errors.As(err, &found)
	var settings []string
	for _, one := range found {
		settings = append(settings, one.Setting)
	}
	slices.Sort(settings)
	if want := []string{"api-token", "assume-limit", "floor", "key-file", "lease", "state", "wokers", "workers"}; !slices.Equal(settings, want) {
		t.Errorf("it found %v wrong, want %v", settings, want)
	}
	text := err.Error()
	if !strings.HasPrefix(text, "8 settings are wrong:\n") || strings.Count(text, "\n") != 8 {
		t.Errorf("it says %s", text)
	}
	if strings.Contains(text, "hunter2") || strings.Contains(text, "on-the-command-line") {
		t.Errorf("it tells secrets: %s", text)
	}
}

func TestLoad(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte(" 0123456789abcdef\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	path := file(t, "api-token: '@"+secret+"'\nroles: [api, worker]\nassume-limit: 25\nkey_file: k\nevery: 6h\n")
	c, err := loaded(t, map[string]string{"SLUICE_STATE": "mysql://user:hunter2@host/db", "SLUICE_MAPLESTORY_KEY": "key"},
		"--config", path, "--redis", "redis://host", "--lease=2s")
	if err != nil {
		t.Fatal(err)
	}
	want := config.Default()
	want.File = path
	want.HTTP.Token, want.Service.Roles, want.Harvest.Policy.Every = "0123456789abcdef", config.Roles{"api", "worker"}, "6h"
	// The floor follows a small limit unless it was set.
	want.Quota.Limit, want.Quota.Floor = 25, 0
	want.Servers = config.Servers{State: "mysql://user:hunter2@host/db", Redis: "redis://host", RedisPrefix: "sluice", KeyFile: "k"}
	want.Sources, want.Collect.Lease = want.Sources.With("maplestory-key", "key"), 2*time.Second
	if !slices.Equal(c.Service.Roles, want.Service.Roles) {
		t.Errorf("the roles are %v", c.Service.Roles)
	}
	if files := c.SecretFiles(); len(files) != 1 || filepath.Base(files[0]) != "secret" {
		t.Errorf("secrets were read from %v", files)
	}
	c.ForgetSecretFiles()
	c.Service.Roles, want.Service.Roles = nil, nil
	if got, want := show(c), show(want); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func show(c config.Config) string { return fmt.Sprintf("%+v", c) }
