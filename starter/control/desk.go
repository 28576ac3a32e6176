// Package control is what an operator can do with migrations from outside:
// start them, look at them, steer them, and ask a worker about them. It talks
// to Temporal alone and touches no database.
//
// It promises sentences for errors: what is wrong, and what to do next. A
// migration is known by its id; of several runs under one id the latest one
// counts. Nothing here ends a migration by being interrupted.
package control

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"godwit/internal/cluster"
	"godwit/internal/task"
)

// Desk is where an operator sits: one cluster, one task queue for what is started.
type Desk struct {
	cluster *cluster.Client
	queue   string
}

// New makes a desk. The queue is where migrations are started and inquiries
// are made; migrations that exist are steered wherever they are.
func New(c *cluster.Client, queue string) *Desk { return &Desk{cluster: c, queue: queue} }

// Cluster is the cluster that the desk is at.
func (d *Desk) Cluster() *cluster.Client { return d.cluster }

// Operator is who asks, for the audit trail: user@host.
func Operator() string {
	name := "unknown"
	if who, err := user.Current(); err == nil {
		name = who.Username
	}
	host, err := os.Hostname()
	if err != nil {
		return name
	}
	return name + "@" + host
}

// describe finds the latest run of a migration.
func (d *Desk) describe(ctx context.Context, id string) (*client.WorkflowExecutionDescription, error) {
	if err := task.CheckID(id); err != nil {
		return nil, fmt.Errorf("%w; `godwit list` shows the ids", err)
	}
	found, err := d.cluster.DescribeWorkflow(ctx, id, "")
	var missing *serviceerror.NotFound
	if errors.As(err, &missing) {
		return nil, &NotFoundError{ID: id, Namespace: d.cluster.Namespace}
	}
	if err != nil {
		return nil, d.cluster.Explain(err)
	}
	if name := found.WorkflowType.Name; name != task.MigrationWorkflow && name != task.PipelineWorkflow {
		return nil, &NotFoundError{ID: id, Namespace: d.cluster.Namespace}
	}
	return found, nil
}

// pollerAge is how long ago a worker that lives asked for work at the most: an
// idle worker's question stays open at the server for a minute.
const pollerAge = 70 * time.Second
