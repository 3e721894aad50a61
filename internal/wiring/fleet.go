package wiring

import (
	"context"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"sluice/internal/backend/redis"
	"sluice/internal/fleet"
)

// Fleet is what an installation consists of, as one of its processes sees it.
type Fleet struct {
	fleet.Roll
	self    fleet.Process
	now     func() time.Time
	parts   []fleet.Part
	address atomic.Pointer[string]
	leads   atomic.Bool
}

// newFleet is the fleet of a process that may have others beside it later.
func newFleet(o Options) *Fleet {
	now := o.Engine.Now
	if now == nil {
		now = time.Now
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	f := &Fleet{now: now, self: fleet.Process{Host: host, PID: os.Getpid(), Version: o.Version, Roles: o.Config.Service.Roles, StartedAt: now().UTC()}}
	f.self.ID = host + "-" + strconv.Itoa(f.self.PID) + "-" + strconv.FormatInt(f.self.StartedAt.UnixMicro(), 36)
	if f.self.Roles == nil {
		f.self.Roles = []string{}
	}
	f.Roll = fleet.Alone(f.Self)
	return f
}

// Self is this process.
func (f *Fleet) Self() fleet.Process {
	p := f.self
	p.AnsweredAt, p.Leads = f.now().UTC(), f.leads.Load()
	if address := f.address.Load(); address != nil {
		p.Address = *address
	}
	return p
}

// Serves notes where this process serves.
func (f *Fleet) Serves(url string) { f.address.Store(&url) }

// Backends tells of the databases and servers that the process works with.
func (f *Fleet) Backends(ctx context.Context) []fleet.Backend { return fleet.Backends(ctx, f.parts) }

// works notes a backend. What cannot tell of itself is left out.
func (f *Fleet) works(name string, with any) {
	if d, is := with.(fleet.Teller); is {
		f.parts = append(f.parts, fleet.Part{Name: name, Teller: d})
	}
}

// meets lets the process be one of those that share a Redis.
func (s *Service) meets(db *redis.DB, o Options) {
	roll := redis.NewFleet(db, s.Fleet.Self, o.Engine.Log)
	s.Fleet.Roll = roll
	s.Fleet.works("dispatch", db)
	s.background = append(s.background, roll.Run)
}
