package cli

import (
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Servers names what several machines share; none of them means that
// everything is embedded.
type Servers struct {
	State, Redis, RedisPrefix, Mongo, KeyFile string
}

// Shared says whether several processes work together.
func (s Servers) Shared() bool { return s.State != "" || s.Redis != "" }

func (s *Servers) register(f *pflag.FlagSet) {
	f.StringVar(&s.State, "state", "", "mysql://USER@HOST/DATABASE: keep the state in MySQL or MariaDB, for several machines; also @FILE")
	f.StringVar(&s.Redis, "redis", "", "redis://HOST: dispatch and quota through Redis, for several machines; also @FILE")
	f.StringVar(&s.RedisPrefix, "redis-prefix", "sluice", "how all keys in Redis begin")
	f.StringVar(&s.Mongo, "mongo", "", "mongodb://HOST/DATABASE: keep documents in MongoDB; also @FILE")
	f.StringVar(&s.KeyFile, "key-file", "", "key that seals stored credentials, the same on every machine; by default one in the data folder")
}

// secretURLs are the flags whose values may hold a password.
var secretURLs = []string{"state", "redis", "mongo"}

// typed returns which of them stand on the command line itself.
func typed(c *cobra.Command) []string {
	return slices.DeleteFunc(slices.Clone(secretURLs), func(name string) bool { return !c.Flags().Changed(name) })
}

// settle reads values that are files, and refuses passwords on the command
// line, where everybody on the machine sees them.
func (s *Servers) settle(onCommandLine []string) error {
	for name, value := range map[string]*string{"state": &s.State, "redis": &s.Redis, "mongo": &s.Mongo} {
		if strings.HasPrefix(*value, "@") {
			if err := readIfFile(name, value); err != nil {
				return err
			}
			continue
		}
		if *value == "" || !slices.Contains(onCommandLine, name) {
			continue
		}
		if u, err := url.Parse(*value); err == nil && u.User != nil {
			if _, has := u.User.Password(); has {
				return usage("--%s: a password on the command line is seen by everybody on the machine; give the URL as @FILE or in SLUICE_%s", name, strings.ToUpper(name))
			}
		}
	}
	return nil
}

// readIfFile replaces @FILE by what the file holds.
func readIfFile(flag string, value *string) error {
	path, ok := strings.CutPrefix(*value, "@")
	if !ok {
		return nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return usage("--%s: %v", flag, err)
	}
	*value = strings.TrimSpace(string(text))
	return nil
}

// The roles of a process.
const (
	roleAPI       = "api"
	roleWorker    = "worker"
	roleScheduler = "scheduler"
	roleRefresh   = "refresh"
)

var allRoles = []string{roleAPI, roleWorker, roleScheduler, roleRefresh}

// Roles is what a process does.
type Roles struct {
	API, Worker, Scheduler, Refresh bool
}

// everything is what a process does that is alone, or was not told.
var everything = Roles{API: true, Worker: true, Scheduler: true, Refresh: true}

func parseRoles(names []string, s Servers) (Roles, error) {
	var r Roles
	for _, name := range names {
		switch name {
		case roleAPI:
			r.API = true
		case roleWorker:
			r.Worker = true
		case roleScheduler:
			r.Scheduler = true
		case roleRefresh:
			r.Refresh = true
		default:
			return r, usage("--roles: there is no role %q; choose from %s", name, strings.Join(allRoles, ", "))
		}
	}
	if r == (Roles{}) {
		return r, usage("--roles: name at least one of %s", strings.Join(allRoles, ", "))
	}
	if r != everything && !s.Shared() {
		return r, usage("--roles: without --state and --redis one process does everything; leave --roles out")
	}
	return r, nil
}
