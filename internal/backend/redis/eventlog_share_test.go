package redis_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"sluice/internal/backend/redis"
	"sluice/internal/refresh"
	"sluice/internal/testkit"
)

// shares drives the script that shares partitions out through random events,
// with members that are only names, and knows who may have what.
type shares struct {
	*testing.T
	dice *rand.Rand
	log  *redis.EventLog
	// members are what each was told when it asked last.
	members map[string]redis.Share
	// owner is whose a partition is by that, latest the largest claim of it.
	owner  map[int32]string
	latest map[int32]int64
	named  int
}

// TestShares: whatever happens, a partition changes hands only when its owner
// gave it up, left or is dead; none is left over; and when everybody has done as
// told, all have about as many.
func TestShares(t *testing.T) {
	t.Parallel()
	s := &shares{
		T: t, dice: rand.New(rand.NewPCG(testkit.Seed(t), 0)), log: openLog(t, testkit.Redis(t), testkit.Prefix(t), redis.EventLogOptions{}),
		members: map[string]redis.Share{}, owner: map[int32]string{}, latest: map[int32]int64{},
	}
	for range 60 {
		for range s.dice.IntN(12) {
			s.step()
		}
		s.settle()
	}
}

func (s *shares) step() {
	s.Helper()
	switch roll := s.dice.IntN(10); {
	case roll < 4 || len(s.members) == 0:
		s.named++
		s.ask(fmt.Sprintf("member-%d", s.named), "join")
	case roll < 6:
		s.goAway(s.any(), "leave", logNever)
	case roll < 7:
		// Its lease ends at once: the next call of anybody drops it.
		s.goAway(s.any(), "stay", 0)
	default:
		s.giveSome(s.any())
	}
}

func (s *shares) any() string {
	names := slices.Sorted(maps.Keys(s.members))
	return names[s.dice.IntN(len(names))]
}

// ask asks for a member and checks the answer.
func (s *shares) ask(name, what string, released ...string) {
	s.Helper()
	share, err := s.log.Ask(s.Context(), name, logNever, what, released...)
	if err != nil {
		s.Fatal(err)
	}
	s.members[name] = share
	for p, claim := range share.Claims {
		if owner := s.owner[p]; owner != "" && owner != name {
			s.Fatalf("partition %d of %s is given to %s as well", p, owner, name)
		}
		if claim < s.latest[p] {
			s.Fatalf("partition %d: claim %d comes after %d", p, claim, s.latest[p])
		}
		s.owner[p], s.latest[p] = name, claim
	}
	for p, owner := range s.owner {
		if _, has := share.Claims[p]; owner == name && !has {
			s.Fatalf("%s was robbed of partition %d", name, p)
		}
	}
}

// goAway ends a member: what it had is free for others.
func (s *shares) goAway(name, what string, life time.Duration) {
	s.Helper()
	if _, err := s.log.Ask(s.Context(), name, life, what); err != nil {
		s.Fatal(err)
	}
	delete(s.members, name)
	maps.DeleteFunc(s.owner, func(_ int32, owner string) bool { return owner == name })
}

// giveSome gives up some of what a member was told to.
func (s *shares) giveSome(name string) {
	s.Helper()
	share := s.members[name]
	if share.Surplus == 0 {
		s.ask(name, "stay")
		return
	}
	have := slices.Sorted(maps.Keys(share.Claims))
	s.dice.Shuffle(len(have), func(i, j int) { have[i], have[j] = have[j], have[i] })
	var released []string
	for _, p := range have[:1+s.dice.IntN(share.Surplus)] {
		delete(s.owner, p)
		released = append(released, strconv.Itoa(int(p)))
	}
	s.ask(name, "stay", released...)
}

// settle lets everybody do as told, once around and once more to hear of it.
func (s *shares) settle() {
	s.Helper()
	if len(s.members) == 0 {
		return
	}
	names := slices.Sorted(maps.Keys(s.members))
	for _, name := range names {
		s.ask(name, "stay")
		for s.members[name].Surplus > 0 {
			s.giveSome(name)
		}
	}
	total, least, most := 0, refresh.TopicHigh.Partitions(), 0
	for _, name := range names {
		s.ask(name, "stay")
		n := len(s.members[name].Claims)
		total, least, most = total+n, min(least, n), max(most, n)
		if len(names) > 1 && s.members[name].Dead <= 0 || len(names) == 1 && s.members[name].Dead >= 0 {
			s.Errorf("one of %d is told that another is dead in %v", len(names), s.members[name].Dead)
		}
	}
	if total != refresh.TopicHigh.Partitions() || most-least > 1 {
		s.Fatalf("%d members have %d partitions, from %d to %d each", len(names), total, least, most)
	}
}

// TestPartitionThatThereIsNot: what a version with other partitions has left
// behind is nobody's, and hinders nobody.
func TestPartitionThatThereIsNot(t *testing.T) {
	t.Parallel()
	url, prefix := testkit.Redis(t), testkit.Prefix(t)
	l, db := openLog(t, url, prefix, redis.EventLogOptions{}), connect(t, url, "")
	for _, what := range []string{"join", "stay"} {
		for p := refresh.TopicHigh.Partitions(); p < 100; p++ {
			key := "{" + prefix + ":" + string(refresh.TopicHigh) + "}:owners:" + refresh.HighWorkers
			command := db.Client.B().Hset().Key(key).FieldValue().FieldValue(strconv.Itoa(p), "me 1").Build()
			if err := db.Client.Do(t.Context(), command).Error(); err != nil {
				t.Fatal(err)
			}
		}
		share, err := l.Ask(t.Context(), "me", logNever, what)
		if err != nil || len(share.Claims) != refresh.TopicHigh.Partitions() || share.Surplus > 0 {
			t.Fatalf("one that is alone has %v, %v", share, err)
		}
	}
}
