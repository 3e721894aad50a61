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

// health asks a running service, for supervisors that can only run a program.
func (a *App) health(o *options) *cobra.Command {
	var addr string
	c := &cobra.Command{
		Use: "health", Short: "Ask a running service whether it is ready; for container health checks", Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			base := o.server
			if base == "" {
				var err error
				if base, err = localURL(addr); err != nil {
					return err
				}
			}
			return a.askReady(c.Context(), o, strings.TrimSuffix(base, "/"))
		},
	}
	c.Flags().StringVar(&addr, "addr", "127.0.0.1:8090", "address that the service was given; it is asked on this machine")
	return c
}

// localURL is where a service that listens on addr can be reached from here.
func localURL(addr string) (string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", usage("--addr: %v", err)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port), nil
}

func (a *App) askReady(ctx context.Context, o *options, base string) error {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/readyz", http.NoBody)
	if err != nil {
		return usage("%v", err)
	}
	answer, err := http.DefaultClient.Do(request)
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
	fmt.Fprintln(a.Out, base+" is ready")
	return nil
}
