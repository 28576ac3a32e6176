// Command godwit-worker does the work of migrations: it listens to a Temporal
// task queue and holds the connections to the databases. Any number of workers
// may listen to the same queue, and any of them may be killed at any moment.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"godwit/internal/task"
	"godwit/internal/version"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := command().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "godwit-worker:", err)
		os.Exit(1)
	}
}

func command() *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "godwit-worker",
		Short: "Do the work of migrations",
		Long: `The worker listens to a Temporal task queue and does the work of migrations.

Connections to databases belong to it alone. They are named, and specs use the
names. Name them in the environment:

  GODWIT_CONNECTION_LEGACY='mysql://reader:secret@db1:3306/shop'
  GODWIT_CONNECTION_WAREHOUSE='postgres://loader:secret@db2/warehouse'

or in a file (--connections):

  legacy:    {url: "mysql://reader@db1:3306/shop", password_env: LEGACY_PASSWORD}
  warehouse: {url: "postgres://loader@db2/warehouse", password_file: /run/secrets/warehouse, pool: 20,
              limits: {migrations: 4, shards: 8}}

limits are how many migrations, and how many shards of all of them, work on a
connection at once, over all workers; the others wait in a queue (godwit capacity).

Temporal is found by TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE and the other
standard variables, or by temporal.toml.

SIGTERM and Ctrl-C stop it in order: shards at work end after their current
chunk and go on in another worker. Nothing is lost if it is killed instead.`,
		Example: `  godwit-worker --connections connections.yaml
  GODWIT_CONNECTION_SHOP=mysql://… godwit-worker --metrics-addr :9090`,
		Args:          cobra.NoArgs,
		Version:       version.Get().String(),
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          func(c *cobra.Command, _ []string) error { return serve(c.Context(), o) },
	}
	f := c.Flags()
	f.StringVar(&o.connections, "connections", os.Getenv("GODWIT_CONNECTIONS"), "YAML `file` with the named connections (or GODWIT_CONNECTIONS)")
	f.StringVar(&o.address, "address", "", "Temporal's `host:port` (default: TEMPORAL_ADDRESS, then localhost:7233)")
	f.StringVar(&o.namespace, "namespace", "", "Temporal `namespace` (default: TEMPORAL_NAMESPACE, then default)")
	f.StringVar(&o.queue, "task-queue", envOr("GODWIT_TASK_QUEUE", task.DefaultTaskQueue), "task `queue` to listen to (or GODWIT_TASK_QUEUE)")
	f.StringVar(&o.metrics, "metrics-addr", "", "serve /metrics, /healthz and /readyz on this `host:port`")
	f.IntVar(&o.activities, "activities", 0, "how `many` activities run at once (default: half the smallest connection pool)")
	f.StringVar(&o.logFormat, "log-format", "text", "text or json")
	f.StringVar(&o.logLevel, "log-level", "info", "debug, info, warn or error")
	return c
}

func envOr(name, otherwise string) string {
	if v := os.Getenv(name); v != "" {
		return v
	}
	return otherwise
}
