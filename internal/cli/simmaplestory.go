package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"sluice/internal/config"
	maplesim "sluice/internal/simulator/maplestory"
)

// mapleFlags shape a simulated game API; demo and sim share them.
type mapleFlags struct {
	characters, perSecond, perDay, bodySize int
	seed                                    uint64
	changeEvery, latency, jitter            time.Duration
}

func (m *mapleFlags) register(c *cobra.Command) {
	f, allowed := c.Flags(), config.Default().Sources
	f.IntVar(&m.characters, "characters", 2000, "characters in the simulated world")
	f.IntVar(&m.perSecond, "per-second", allowed.Int("maplestory-per-second"), "calls that a key may make in any second")
	f.IntVar(&m.perDay, "per-day", int(allowed.Int64("maplestory-per-day")), "calls that a key may make in a day")
	f.IntVar(&m.bodySize, "body-size", 300_000, "about how many bytes a character's equipment has")
	f.DurationVar(&m.changeEvery, "change-every", time.Minute, "how often a character changes; 0 is never")
	f.DurationVar(&m.jitter, "jitter", 50*time.Millisecond, "variation of the delay of answers")
}

func (m *mapleFlags) check() error {
	switch {
	case m.characters < 1 || m.characters > 5_000_000:
		return usage("--characters is %d; it must be between 1 and 5,000,000", m.characters)
	case m.perSecond < 1 || m.perDay < 1:
		return usage("--per-second and --per-day must be at least 1")
	case m.bodySize < 1000 || m.bodySize > 5_000_000:
		return usage("--body-size is %d; it must be between 1,000 and 5,000,000", m.bodySize)
	}
	return nil
}

func (m *mapleFlags) options() maplesim.Options {
	return maplesim.Options{
		Seed: m.seed, Characters: m.characters, ChangeEvery: m.changeEvery, BodySize: m.bodySize,
		Latency: maplesim.Latency{Fixed: m.latency, Jitter: m.jitter},
		Limits:  maplesim.Limits{PerSecond: m.perSecond, PerDay: m.perDay},
	}
}

func (a simCommands) simMapleStory() *cobra.Command {
	var flags mapleFlags
	var addr string
	c := &cobra.Command{
		Use: "maplestory", Short: "Run a simulated MapleStory API: characters, limits, faults, truth and audit",
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := flags.check(); err != nil {
				return err
			}
			return a.serveSim(c.Context(), addr, maplesim.New(flags.options()), func(url string) {
				say(a.Out, "simulated MapleStory API at %s with %s characters; its key is %s\n", url, count(int64(flags.characters)), maplesim.DefaultKey)
				fmt.Fprintln(a.Out, "characters at /_sim/characters, truth at /_sim/truth/PART/OCID, audit at /_sim/audit")
			})
		},
	}
	flags.register(c)
	c.Flags().Uint64Var(&flags.seed, "seed", 1, "seed of the world: the same seed makes the same world")
	c.Flags().DurationVar(&flags.latency, "latency", 100*time.Millisecond, "delay of every answer")
	c.Flags().StringVar(&addr, "addr", "127.0.0.1:8092", "address to listen on")
	return c
}
