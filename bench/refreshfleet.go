package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"

	"golang.org/x/sync/errgroup"

	"sluice/bench/servers"
	"sluice/internal/client"
	sim "sluice/internal/simulator/maplestory"
)

// refreshServers are what processes share that keep snapshots fresh.
var refreshServers = []servers.Kind{servers.Redis, servers.MariaDB, servers.Kafka}

const gameSource = "maplestory"

// game is a running `sluice sim maplestory` and the same world in this process,
// which knows whom there is to ask for.
type game struct {
	*service
	world *sim.Server
}

var gameServed = regexp.MustCompile(`simulated MapleStory API at (http://[^\s/]+)`)

// startGame starts the simulator with its real limits, or what the flags say.
func (l *lab) startGame(ctx context.Context, characters int, flags ...string) (*game, error) {
	const seed = 1
	s, err := l.program(ctx, nil, gameServed, append([]string{
		"sim", "maplestory", "--addr", "127.0.0.1:0", "--change-every", "0",
		"--seed", strconv.Itoa(seed), "--characters", strconv.Itoa(characters),
	}, flags...)...)
	if err != nil {
		return nil, err
	}
	return &game{s, sim.New(sim.Options{Seed: seed, Characters: characters})}, nil
}

// keys are those of characters.
func (g *game) keys(from, n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = g.world.Ocid(from + i)
	}
	return keys
}

// audit is how the game's callers behaved, as it saw it.
func (g *game) audit(ctx context.Context) (a sim.Audit, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, g.url+"/_sim/audit", http.NoBody)
	if err != nil {
		return a, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return a, err
	}
	defer func() { err = errors.Join(err, answer.Body.Close()) }()
	return a, json.NewDecoder(answer.Body).Decode(&a)
}

// program starts the real program and waits until it says where it is.
func (l *lab) program(ctx context.Context, env []string, says *regexp.Regexp, arguments ...string) (*service, error) {
	binary, err := filepath.Abs(l.binary)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, binary, arguments...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.Env = append(os.Environ(), env...)
	output, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = write, write
	err = cmd.Start()
	if err = errors.Join(err, write.Close()); err != nil {
		return nil, fmt.Errorf("start %s (make build makes it): %w", binary, errors.Join(err, output.Close()))
	}
	lines, said := bufio.NewReader(output), ""
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return nil, fmt.Errorf("sluice %s did not start: %w\n%s", arguments[0], errors.Join(err, cmd.Wait(), output.Close()), said)
		}
		said += line
		if m := says.FindStringSubmatch(line); m != nil {
			go func() {
				_, _ = io.Copy(io.Discard, lines) // lets it write on
				_ = output.Close()
			}()
			return &service{cmd, m[1]}, nil
		}
	}
}

// refreshFleet is a game and processes that keep its snapshots fresh together.
type refreshFleet struct {
	*fleet
	lab     *lab
	game    *game
	env     []string
	members map[string][]*service
}

// refreshFleet starts the game and the servers; requests go through Redis, or
// through Kafka.
func (l *lab) refreshFleet(ctx context.Context, kafka bool, characters int, flags ...string) (f *refreshFleet, err error) {
	if _, err := l.emptyRedis(ctx); err != nil {
		return nil, err
	}
	f = &refreshFleet{lab: l, members: map[string][]*service{}}
	if f.fleet, err = l.fleet(ctx); err != nil {
		return nil, err
	}
	if f.game, err = l.startGame(ctx, characters, flags...); err != nil {
		f.drop()
		return nil, err
	}
	f.env = []string{
		"SLUICE_STATE=" + f.State, "SLUICE_REDIS=" + f.Redis, "SLUICE_REDIS_PREFIX=" + f.RedisPrefix, "SLUICE_KEY_FILE=" + f.KeyFile,
		"SLUICE_MAPLESTORY_URL=" + f.game.url, "SLUICE_MAPLESTORY_KEY=" + sim.DefaultKey,
	}
	if kafka {
		brokers, err := l.servers.Kafka(ctx)
		if err != nil {
			return nil, errors.Join(err, f.close())
		}
		f.env = append(f.env, "SLUICE_KAFKA="+brokers)
	}
	return f, nil
}

var upServed = regexp.MustCompile(`sluice (?:serves|works;) (http://[^\s/]+)`)

// enlist starts processes of a role.
func (f *refreshFleet) enlist(ctx context.Context, role string, n int) error {
	started := make([]*service, n)
	var group errgroup.Group
	for i := range started {
		group.Go(func() (err error) {
			dir, _, err := f.lab.folder("up")
			if err != nil {
				return err
			}
			started[i], err = f.lab.program(ctx, f.env, upServed, "up", "--addr", "127.0.0.1:0", "--data-dir", dir, "--roles", role)
			return err
		})
	}
	err := group.Wait()
	for _, s := range started {
		if s != nil {
			f.members[role] = append(f.members[role], s)
		}
	}
	return err
}

// client speaks to one of the processes that answer requests.
func (f *refreshFleet) client(number int) (*client.Client, error) {
	return client.New(f.members["api"][number].url, "", &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: herdSize}})
}

// close ends the processes, those that call before the one that is called.
func (f *refreshFleet) close() (err error) {
	for _, role := range []string{"api", "refresh"} {
		for _, s := range f.members[role] {
			err = errors.Join(err, s.stop())
		}
	}
	err = errors.Join(err, f.game.stop())
	f.drop()
	return err
}
