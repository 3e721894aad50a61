package redis_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"sluice/internal/backend/redis"
	"sluice/internal/domain"
	roll "sluice/internal/fleet"
	"sluice/internal/testkit"
)

// member is a process of the tests, with a Redis connection of its own.
type member struct {
	*redis.Fleet
	leave func()
}

// enroll lets a process answer the roll until it leaves.
func enroll(t *testing.T, url, id string) *member {
	t.Helper()
	db := connect(t, url, "fleet")
	f := redis.NewFleet(db, func() roll.Process {
		return roll.Process{ID: id, Host: id, PID: 1, Roles: []string{"worker"}, AnsweredAt: time.Now()}
	}, nil)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		// One that cannot say that it leaves is told of as one that does not answer.
		if err := f.Run(ctx); err != nil && domain.CodeOf(err) != domain.CodeUnavailable {
			t.Errorf("%s leaves: %v", id, err)
		}
	})
	m := &member{f, sync.OnceFunc(func() { cancel(); running.Wait() })}
	t.Cleanup(m.leave)
	return m
}

// answering is who is in the roll, and whether they answer.
func (m *member) answering(t *testing.T) (names []string, answers map[string]bool) {
	t.Helper()
	all, err := m.Processes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	answers = map[string]bool{}
	for _, p := range all {
		names = append(names, p.ID)
		answers[p.ID] = p.Answers
	}
	slices.Sort(names)
	return names, answers
}

// TestFleet: who is there answers, who has left is not told of, and who stands still
// is told of as one that does not answer.
func TestFleet(t *testing.T) {
	server := testkit.StartRedis(t)
	url := server.URL()
	one, two := enroll(t, url, "one"), enroll(t, url, "two")
	frozen := connect(t, url, "fleet")
	// It said once that it is there, and says no more.
	silent := redis.NewFleet(frozen, func() roll.Process { return roll.Process{ID: "frozen", AnsweredAt: time.Now()} }, nil)
	silent.Enter(t.Context())
	old := redis.NewFleet(frozen, func() roll.Process { return roll.Process{ID: "old", AnsweredAt: time.Now().Add(-25 * time.Hour)} }, nil)
	old.Enter(t.Context())

	// Those that have just begun need a moment to hear.
	until(t, "roll of both", func() bool {
		names, answers := one.answering(t)
		if answers["frozen"] {
			t.Fatal("a process that stands still answers")
		}
		return slices.Equal(names, []string{"frozen", "one", "two"}) && answers["one"] && answers["two"]
	})
	two.leave()
	if names, answers := one.answering(t); !slices.Equal(names, []string{"frozen", "one"}) || answers["frozen"] {
		t.Errorf("after one has left: %v, %v", names, answers)
	}
	if names, _ := one.answering(t); slices.Contains(names, "old") {
		t.Errorf("who has not answered for a day is told of: %v", names)
	}
	server.Stop()
	if _, err := one.Processes(t.Context()); err == nil {
		t.Error("the roll of a Redis that is down is told")
	}
}
