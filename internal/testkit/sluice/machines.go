package sluice

import (
	"context"
	"strings"
	"testing"

	"sluice/internal/client"
	"sluice/internal/config"
	"sluice/internal/testkit"
	"sluice/internal/wiring"
)

// Machines are processes that share their work, and the servers they share it
// through.
type Machines struct {
	T                 *testing.T
	Redis, SQL, Mongo *testkit.Server
	Key               string
	Env               []string
	API               *client.Client
	Members           []*Member
}

// Start starts a process with a role.
func (m *Machines) Start(role string) *Member {
	one := &Member{Role: role}
	m.Revive(one)
	return one
}

// Revive begins another life of a process.
func (m *Machines) Revive(one *Member) {
	one.Lives = append(one.Lives, Start(m.T, m.Env, "up", "--roles", one.Role))
}

// Look opens the shared stores from the test itself, to see what is in them.
func (m *Machines) Look() *wiring.Service {
	m.T.Helper()
	servers := config.Servers{State: m.SQL.URL(), Redis: m.Redis.URL(), KeyFile: m.Key}
	if m.Mongo != nil {
		servers.Mongo = m.Mongo.URL()
	}
	svc, err := wiring.Open(m.T.Context(), wiring.Options{
		Config:  config.Config{Service: config.Service{Roles: config.Roles{config.RoleAPI}}, Servers: servers},
		Sources: NoSources(m.T), Quota: wiring.NoQuota(),
	})
	if err != nil {
		m.T.Fatal(err)
	}
	m.T.Cleanup(func() { _ = svc.Close(context.WithoutCancel(m.T.Context())) })
	if err := svc.Start(m.T.Context()); err != nil {
		m.T.Fatal(err)
	}
	return svc
}

// LastWords is the end of what each process said.
func (m *Machines) LastWords() string {
	var all strings.Builder
	for _, one := range m.Members {
		text := one.Now().Stderr.Text()
		all.WriteString("--- " + one.Role + "\n" + text[max(0, len(text)-1500):] + "\n")
	}
	return all.String()
}
