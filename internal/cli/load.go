package cli

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"sluice/internal/config"
	"sluice/internal/load"
)

// loadFlags shape a load test.
type loadFlags struct{ seconds, bodySize int }

func (f *loadFlags) check(names []string) error {
	for _, name := range names {
		if known := load.Names(); !slices.Contains(known, name) {
			return usage("there is no scenario %q%s; choose from %s", name, config.Suggest(name, known), strings.Join(known, ", "))
		}
	}
	switch {
	case f.seconds < 0 || f.seconds > 86_400:
		return usage("--seconds is %d; it must be between 1 and 86,400, or 0 for what each scenario needs", f.seconds)
	case f.bodySize < 1000 || f.bodySize > 5_000_000:
		return usage("--body-size is %d; it must be between 1,000 and 5,000,000", f.bodySize)
	}
	return nil
}

// loadCommand proves the refresh pipeline under load.
type loadCommand struct{ *App }

func (a loadCommand) load(o *options) *cobra.Command {
	var flags loadFlags
	var long strings.Builder
	long.WriteString("Run the refresh pipeline under load, races and faults against a simulated upstream\n" +
		"and say for each scenario whether it passed. Everything runs inside this\n" +
		"process; with --state and --redis (and --kafka) several instances share real\n" +
		"servers, which should be used for nothing else.\n\nThe scenarios:\n")
	for _, s := range load.Scenarios() {
		fmt.Fprintf(&long, "\n    %s: %s", s.Name, s.Description)
	}
	c := &cobra.Command{Use: "load [SCENARIO…]", Short: "Prove the refresh pipeline under load, races and faults", Long: long.String(),
		RunE: func(c *cobra.Command, names []string) error {
			if err := flags.check(names); err != nil {
				return err
			}
			o.quietly(c)
			return a.runLoad(c.Context(), o, flags, names)
		}}
	c.Flags().IntVar(&flags.seconds, "seconds", 0, "how long the traffic of each scenario lasts; 0 means 2 to 10, as each scenario needs")
	c.Flags().IntVar(&flags.bodySize, "body-size", 300_000, "about how many bytes an answer of the simulated upstream has")
	return c
}

func (a loadCommand) runLoad(ctx context.Context, o *options, flags loadFlags, names []string) error {
	service, err := a.service(o, "sluice load")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(o.Service.DataDir, 0o700); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(o.Service.DataDir, "load-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if service.Servers.Shared() && service.Servers.KeyFile == "" {
		if service.Servers.KeyFile, err = newKeyFile(dir); err != nil {
			return err
		}
	}
	options := load.Options{
		Open: func(ctx context.Context, i load.Instance) (*load.Backend, error) {
			return a.Load(ctx, instanceOf(service, dir, i))
		},
		Shared: service.Servers.Shared(), Kafka: service.Refresh.Kafka != "", Seconds: flags.seconds, BodySize: flags.bodySize,
	}
	tell := a.tellResult
	if o.json() {
		tell = nil
	}
	results, err := load.Run(ctx, options, names, tell)
	if err != nil {
		return err
	}
	if o.json() {
		if err := printJSON(a.Out, results); err != nil {
			return err
		}
	}
	return loadVerdict(results)
}

// instanceOf gives every scenario a place of its own: nothing of another run is
// found there.
func instanceOf(o ServiceOptions, dir string, i load.Instance) ServiceOptions {
	o.Service.DataDir = filepath.Join(dir, i.Run)
	if o.Servers.Shared() {
		o.Service.DataDir = filepath.Join(o.Service.DataDir, strconv.Itoa(i.Number))
	}
	o.Servers.RedisPrefix += "-load-" + i.Run
	o.Sources = config.Default().Sources.With("maplestory-url", i.URL).With("maplestory-key", i.Key)
	o.Refresh.Prefetch = 0
	return o
}

// newKeyFile makes a key that seals nothing that outlives the run.
func newKeyFile(dir string) (string, error) {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // it never fails
	path := filepath.Join(dir, "key")
	return path, os.WriteFile(path, []byte(hex.EncodeToString(key)+"\n"), 0o600)
}

// tellResult shows a scenario in one line.
func (a loadCommand) tellResult(r load.Result) {
	st := a.style(a.Out)
	verdict := fmt.Sprintf("%-7s", r.Verdict)
	switch r.Verdict {
	case load.Passed:
		verdict = st.green(verdict)
	case load.Missed:
		verdict = st.red(verdict)
	case load.Skipped:
		verdict = st.yellow(verdict)
	}
	say(a.Out, "%s  %-18s  ", painted(verdict), r.Name)
	var words []string
	if r.Why != "" {
		words = append(words, r.Why)
	}
	for _, name := range r.Order() {
		text := fmt.Sprintf("%s %s", strings.ReplaceAll(name, "_", " "), strconv.FormatFloat(r.Figures[name], 'f', -1, 64))
		if slices.Contains(r.Missed, name) {
			text = st.red(text + ", needed " + r.Needed[name])
		}
		words = append(words, text)
	}
	fmt.Fprintln(a.Out, strings.Join(words, "; "))
}

// loadVerdict fails if a scenario missed what it needs.
func loadVerdict(results []load.Result) error {
	var missed []string
	for _, r := range results {
		if r.Verdict == load.Missed {
			missed = append(missed, r.Name)
		}
	}
	if len(missed) == 0 {
		return nil
	}
	return fmt.Errorf("%s missed: %s", plural(len(missed), "scenario"), strings.Join(missed, ", "))
}
