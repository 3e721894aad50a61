package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
)

// interrupted is what a command says that somebody stopped: whatever it failed at
// followed from that, and would read like a fault. A service that was told to stop
// and could not is one; and a command may have words of its own for it.
func interrupted(ctx context.Context, c *cobra.Command, err error) error {
	var exit *exitError
	if ctx.Err() == nil || c.Name() == "up" || errors.As(err, &exit) && exit.code == exitInterrupted {
		return err
	}
	return &exitError{exitInterrupted, errors.New("interrupted before it was done")}
}
