package cli

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"

	"github.com/spf13/cobra"

	"sluice/internal/config"
	"sluice/internal/document"
	"sluice/internal/engine"
	simulated "sluice/internal/simulator/declared"
	"sluice/internal/verify"
)

// fileWorld is an upstream that is simulated by the file which describes it.
type fileWorld struct {
	// name is the file's, or that of a source that comes with the program.
	name string
	opt  simulated.Options
	n    int

	of     *collected
	server *simulated.Server
}

func (w *fileWorld) register(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&w.name, "source", "", "`FILE` that describes an upstream, or the name of one that comes with the program: simulate and collect that instead")
	f.IntVar(&w.opt.Records, "records", 120, "with --source: how many records each stream has")
	f.IntVar(&w.opt.Children, "children", 2, "with --source: about how many records each of them has of its own")
	f.Float64Var(&w.opt.Faults, "faults", 0, "with --source: share of calls that something happens to, from 0 to 1")
}

// demoFile is the demo with an upstream that a file describes.
func (a demoCommand) demoFile(c *cobra.Command, o *options, w *fileWorld, flags simFlags, exit bool) error {
	var err error
	if w.of, err = openSource(w.name, nil); err != nil {
		return err
	}
	if w.of.file.Keyed() {
		return usage("%s has records by key: try it with `sluice source sim %s`, and a service beside it", w.of.file.Name, w.name)
	}
	if w.opt.Faults < 0 || w.opt.Faults >= 1 || w.opt.Records < 1 || w.opt.Children < 1 {
		return usage("--records and --children are at least 1, and --faults is from 0 up to 1")
	}
	if w.opt.Seed, w.n = flags.seed, 1; c.Flags().Changed("accounts") {
		w.n = flags.accounts
	}
	if !c.Flags().Changed("data-dir") {
		o.Service.DataDir = filepath.Join(o.Service.DataDir, demoFolder(flags.seed)+"-"+w.of.file.Name)
	}
	o.Servers, o.uncounted = config.Servers{}, true
	o.quietly(c)
	d := &demonstration{App: a.App, options: o, world: w, seed: flags.seed, exit: exit}
	return d.run(c.Context())
}

func (w *fileWorld) begin(url string, o *options) (http.Handler, error) {
	text, err := w.of.file.Simulated()
	if err != nil {
		return nil, err
	}
	spec, err := simulated.ParseSpec(text)
	if err != nil {
		return nil, err
	}
	w.opt.URL = url
	if w.server, err = simulated.New(spec, w.opt); err != nil {
		return nil, err
	}
	if w.of, err = openText(w.name, []byte(w.of.text), map[string]string{"base": url}); err != nil {
		return nil, err
	}
	o.use(w.of)
	return w.server, nil
}

func (w *fileWorld) about(url string) string {
	return fmt.Sprintf("simulated %s at %s: %d records of each stream, for %s", w.of.file.Title, url, w.opt.Records, plural(w.n, w.of.file.Target))
}

func (w *fileWorld) accounts() (all []engine.Signup) {
	for i := range w.n {
		login := "acme"
		if i > 0 {
			login = fmt.Sprintf("acme-%d", i+1)
		}
		signup := engine.Signup{Source: w.of.file.Name, Login: login}
		if w.of.file.NeedsCredential() {
			// The parts that some ways to sign in want.
			signup.Token = login + ":of-the-demo:x"
		}
		all = append(all, signup)
	}
	return all
}

func (w *fileWorld) differences(ctx context.Context, documents document.Reader, account int64, _ string) ([]string, error) {
	return verify.Declared(ctx, documents, account, w.of.file, w.server.Truth())
}

func (w *fileWorld) violations() int {
	audit := w.server.Audit()
	n := len(audit.Unknown)
	if w.of.file.NeedsCredential() {
		n += audit.Anonymous
	}
	for _, beyond := range audit.Beyond {
		n += beyond
	}
	return n
}

func (*fileWorld) changing() bool { return false }
