package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	sdkworker "go.temporal.io/sdk/worker"

	"godwit/activities"
	"godwit/internal/cluster"
	"godwit/internal/connection"
	"godwit/internal/hook"
	"godwit/internal/kind"
	"godwit/internal/kind/backfill"
	"godwit/internal/kind/copydb"
	"godwit/internal/kind/ddl"
	"godwit/internal/kind/reindex"
	"godwit/internal/kind/statement"
	"godwit/internal/task"
	"godwit/internal/version"
	"godwit/workflows"
)

const (
	// stopTimeout is how long a stopping worker waits for its shards to end
	// their current chunk.
	stopTimeout = 30 * time.Second
	// heartbeatThrottle is the longest time between two heartbeats that reach
	// the server. An activity learns of a pause by the answer, so it is what a
	// pause waits for, next to the current chunk: a second, so that both
	// together stay under two.
	heartbeatThrottle = time.Second
	// patience is how long a starting worker waits for Temporal.
	patience = time.Minute
)

type options struct {
	connections, address, namespace, queue, metrics, logFormat, logLevel string
	activities                                                           int
}

// garbagePercent makes the collector run earlier than Go's default. Rows are
// carried in buffers that are used again, so there is little garbage, and the
// worker keeps to a few tens of MiB whatever the table.
const garbagePercent = 50

// serve runs the worker until the context ends.
func serve(ctx context.Context, o options) error {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbagePercent)
	}
	logger, err := newLogger(o)
	if err != nil {
		return err
	}
	if err := arm(logger); err != nil {
		return err
	}
	connections, err := connection.Load(o.connections, os.Environ())
	if err != nil {
		return err
	}
	defer connections.Close()
	if len(connections.Names()) == 0 {
		logger.Warn("no connections are known: every migration will be refused; see godwit-worker --help")
	}
	meters, err := newMeters()
	if err != nil {
		return err
	}
	temporal, err := cluster.Dial(ctx, cluster.Options{Address: o.address, Namespace: o.namespace, Logger: log.NewStructuredLogger(logger), Patience: patience,
		Adjust: func(c *client.Options) {
			c.MetricsHandler = meters.handler
			c.WorkerHeartbeatInterval = 10 * time.Second
		}})
	if err != nil {
		return err
	}
	defer temporal.Close()
	report, err := cluster.Setup(ctx, temporal.Client, temporal.Namespace, cluster.DefaultRetention)
	if err != nil {
		return err
	}
	for _, warning := range report.Warnings {
		logger.Warn(warning)
	}
	slots, err := activitySlots(connections, o.activities)
	if err != nil {
		return err
	}
	w := newWorker(temporal.Client, o.queue, slots, connections)
	if err := w.Start(); err != nil {
		return fmt.Errorf("cannot start: %w", err)
	}
	defer w.Stop()
	logger.Info("godwit-worker is ready", "version", version.Get().Version, "temporal", temporal.Address, "namespace", temporal.Namespace,
		"queue", o.queue, "connections", connections.Names(), "activities", slots)
	return meters.serve(ctx, o.metrics, temporal.Client, logger)
}

// arm sets the hooks that a test wants, and says so.
func arm(logger *slog.Logger) error {
	triggers := os.Getenv(hook.Variable)
	if triggers != "" {
		logger.Warn("this worker is armed for a test", "hooks", triggers)
	}
	return hook.Arm(triggers)
}

func newWorker(c client.Client, queue string, slots int, connections *connection.Registry) sdkworker.Worker {
	w := sdkworker.New(c, queue, sdkworker.Options{
		MaxConcurrentActivityExecutionSize: slots,
		WorkerStopTimeout:                  stopTimeout,
		MaxHeartbeatThrottleInterval:       heartbeatThrottle,
		DefaultHeartbeatThrottleInterval:   heartbeatThrottle,
	})
	workflows.Register(w)
	v := version.Get().Version
	kinds := map[task.Kind]kind.Kind{task.Copy: copydb.New(v), task.DDL: ddl.New(v), task.Backfill: backfill.New(v), task.Reindex: reindex.New(v), task.SQL: statement.New(v)}
	w.RegisterActivity(activities.New(connections, kinds, owner()))
	return w
}

// mostSlots is how many activities run at once in a worker with large pools.
const mostSlots = 32

// activitySlots bounds the activities by the pools: one uses at most two
// connections of a database at a time, its own and one for the ledger. With
// more of them, all could have one and wait for the other.
func activitySlots(connections *connection.Registry, wanted int) (int, error) {
	slots, smallest := mostSlots, ""
	for _, name := range connections.Names() {
		if c, err := connections.Get(name); err == nil && c.Pool/2 < slots {
			slots, smallest = c.Pool/2, name
		}
	}
	switch {
	case slots < 1:
		return 0, fmt.Errorf("connection %s has a pool of 1, but an activity needs two connections: set pool to 2 or more", smallest)
	case wanted > slots && smallest != "":
		return 0, fmt.Errorf("--activities %d: the pool of connection %s is enough for %d at once; enlarge it (pool) or choose fewer", wanted, smallest, slots)
	case wanted > 0:
		return wanted, nil
	}
	return slots, nil
}

// owner names this worker in the audit trail.
func owner() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%d@%s", os.Getpid(), host)
}

func newLogger(o options) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(o.logLevel)); err != nil {
		return nil, fmt.Errorf("--log-level %q: choose debug, info, warn or error", o.logLevel)
	}
	settings := &slog.HandlerOptions{Level: level}
	switch o.logFormat {
	case "text":
		return slog.New(slog.NewTextHandler(os.Stderr, settings)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(os.Stderr, settings)), nil
	}
	return nil, fmt.Errorf("--log-format %q: choose text or json", o.logFormat)
}
