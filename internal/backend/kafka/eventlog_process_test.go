package kafka_test

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/internal/backend/kafka"
	"sluice/internal/refresh"
	"sluice/internal/testkit"
)

// workerVariable makes TestWork do something: the brokers and the prefix.
const workerVariable = "SLUICE_TEST_EVENTLOG_WORKER"

// TestWork is the part of a process that TestProcessesComeAndGo starts and
// kills: a worker that tells what it takes before it says that it is done.
func TestWork(t *testing.T) {
	where, prefix, ok := strings.Cut(os.Getenv(workerVariable), " ")
	if !ok {
		return
	}
	log, err := kafka.NewEventLog(context.Background(), options(strings.Split(where, ","), prefix))
	if err != nil {
		t.Fatal(err)
	}
	c, err := log.Join(context.Background(), refresh.HighWorkers, refresh.TopicHigh)
	if err != nil {
		t.Fatal(err)
	}
	for {
		records, err := c.Take(context.Background(), 10)
		at := time.Now().UnixNano()
		for _, r := range records {
			fmt.Printf("took %d %s %s\n", at, r.Key, r.Value)
		}
		if err == nil {
			err = c.Done(context.Background(), records...)
		}
		if err != nil {
			fmt.Println("trouble", err)
		}
	}
}

// crew is several processes and what they say.
type crew struct {
	*testing.T
	where string

	mu        sync.Mutex
	distinct  map[int]bool
	sightings []timed
	news      chan struct{}
}

// timed is a sighting and when it was; all processes have the same clock.
type timed struct {
	at int64
	sighting
}

// start starts a worker and listens to it.
func (c *crew) start() *exec.Cmd {
	c.Helper()
	binary, err := os.Executable()
	if err != nil {
		c.Fatal(err)
	}
	command := exec.CommandContext(c.Context(), binary, "-test.run=^TestWork$")
	command.Env = append(os.Environ(), workerVariable+"="+c.where)
	out, err := command.StdoutPipe()
	if err != nil {
		c.Fatal(err)
	}
	if err := command.Start(); err != nil {
		c.Fatal(err)
	}
	heard := make(chan struct{})
	go c.listen(out, heard)
	c.Cleanup(func() {
		_ = command.Process.Kill() // it may be dead
		<-heard
		_ = command.Wait() // it was killed, which is what it says
	})
	return command
}

func (c *crew) listen(out io.Reader, heard chan<- struct{}) {
	defer close(heard)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var s timed
		if _, err := fmt.Sscanf(lines.Text(), "took %d %s %d", &s.at, &s.key, &s.number); err != nil {
			c.Logf("a worker says: %s", lines.Text())
			continue
		}
		c.mu.Lock()
		c.sightings = append(c.sightings, s)
		c.distinct[s.number] = true
		c.mu.Unlock()
		select {
		case c.news <- struct{}{}:
		default:
		}
	}
}

// until waits until so many different messages have been taken.
func (c *crew) until(want int) {
	c.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for {
		c.mu.Lock()
		have := len(c.distinct)
		c.mu.Unlock()
		if have >= want {
			return
		}
		select {
		case <-c.news:
		case <-limit.C:
			c.Fatalf("%d messages of %d were taken", have, want)
		}
	}
}

// TestProcessesComeAndGo kills workers, and adds others, while there is work:
// nothing is lost, and the first time a message is taken is after the first
// time of all before it that have its key.
func TestProcessesComeAndGo(t *testing.T) {
	t.Parallel()
	brokers, prefix := testkit.KafkaBrokers(testkit.Kafka(t)), testkit.Prefix(t)
	log := open(t, options(brokers, prefix))
	c := &crew{T: t, where: strings.Join(brokers, ",") + " " + prefix, distinct: map[int]bool{}, news: make(chan struct{}, 1)}
	const total, part, keys = 3000, 500, 60
	published := 0
	publish := func() {
		t.Helper()
		if err := log.Publish(t.Context(), refresh.TopicHigh, messages(published, part, keys)...); err != nil {
			t.Fatal(err)
		}
		published += part
	}
	first, second := c.start(), c.start()
	publish()
	c.until(part / 2)
	kill(t, first)
	publish()
	third := c.start()
	c.until(2 * part)
	publish()
	publish()
	c.start()
	kill(t, second)
	c.until(3 * part)
	kill(t, third)
	publish()
	publish()
	c.until(total)
	caughtUp(t, log)
	c.mu.Lock()
	defer c.mu.Unlock()
	slices.SortStableFunc(c.sightings, func(a, b timed) int { return cmp.Compare(a.at, b.at) })
	j := newJournal()
	for _, s := range c.sightings {
		j.note(t, s.sighting)
	}
	t.Logf("%d messages, %d taken more than once", len(j.seen), j.twice)
}

func kill(t *testing.T, command *exec.Cmd) {
	t.Helper()
	if err := command.Process.Kill(); err != nil {
		t.Fatalf("kill: %v", err)
	}
}
