package control

import (
	"context"
	"slices"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
)

// Workers lists who asks for work on a task queue. A worker that was killed
// is still listed for a minute; one that was stopped is not.
func (d *Desk) Workers(ctx context.Context, queue string) ([]string, error) {
	found, err := d.cluster.DescribeTaskQueue(ctx, queue, enumspb.TASK_QUEUE_TYPE_WORKFLOW)
	if err != nil {
		return nil, d.cluster.Explain(err)
	}
	var workers []string
	for _, poller := range found.GetPollers() {
		if time.Since(poller.GetLastAccessTime().AsTime()) < pollerAge {
			workers = append(workers, poller.GetIdentity())
		}
	}
	slices.Sort(workers)
	return slices.Compact(workers), nil
}

// workerPatience is how long a worker that has just been started may take to
// ask for work.
const workerPatience = 2 * time.Second

// RequireWorker is a *NoWorkerError when nobody listens on the task queue.
func (d *Desk) RequireWorker(ctx context.Context, queue string) error {
	deadline := time.Now().Add(workerPatience)
	for {
		workers, err := d.Workers(ctx, queue)
		if err != nil || len(workers) > 0 {
			return err
		}
		if time.Now().After(deadline) {
			return &NoWorkerError{Queue: queue}
		}
		if err := Rest(ctx, firstInterval); err != nil {
			return err
		}
	}
}
