package cli

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// healthTimeout is how long a service may take to say that it is ready.
const healthTimeout = 3 * time.Second

// healthCommand asks a running service whether it is ready.
type healthCommand struct{ *App }

// health asks a running service, for supervisors that can only run a program.
func (a healthCommand) health(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "health", Short: "Check whether a running service is ready; for container health checks",
		Long: "Check, from this machine, whether the service that listens on --addr is ready, or the one at --server.",
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			base := o.Server
			if base == "" {
				host, err := localHost(o.HTTP.Addr)
				if err != nil {
					return err
				}
				base = scheme(o.HTTP) + host
			}
			return a.askReady(c.Context(), o, strings.TrimSuffix(base, "/"))
		},
	}
}

// localHost is where a service that listens on addr can be reached from here.
func localHost(addr string) (string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", usage("--addr: %v", err)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port), nil
}

func (a healthCommand) askReady(ctx context.Context, o *options, base string) error {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/readyz", http.NoBody)
	if err != nil {
		return usage("%v", err)
	}
	hc, err := trusting(o)
	if err != nil {
		return err
	}
	answer, err := hc.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 4096))
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s is not ready: %s", base, strings.TrimSpace(string(text)))
	}
	if o.json() {
		return printJSON(a.Out, map[string]any{"ready": true, "url": base})
	}
	say(a.Out, "%s is ready\n", base)
	return nil
}
