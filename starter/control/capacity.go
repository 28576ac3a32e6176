package control

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"

	"go.temporal.io/api/serviceerror"

	"godwit/internal/task"
)

// Capacity tells how the connections of the desk's task queue are used, and
// which migrations wait for them.
func (d *Desk) Capacity(ctx context.Context) (task.CapacityStatus, error) {
	none := task.CapacityStatus{Connections: []task.ConnectionUse{}, Running: []task.PlaceStatus{}, Waiting: []task.PlaceStatus{}}
	if err := d.RequireWorker(ctx, d.queue); err != nil {
		return none, err
	}
	status, err := d.capacity(ctx, d.queue)
	var missing *serviceerror.NotFound
	switch {
	case errors.As(err, &missing): // no migration has ever asked for a place
		return none, nil
	case err != nil:
		return none, d.cluster.Explain(err)
	}
	return status, nil
}

func (d *Desk) capacity(ctx context.Context, queue string) (status task.CapacityStatus, err error) {
	ctx, cancel := context.WithTimeout(ctx, queryLimit)
	defer cancel()
	value, err := d.cluster.QueryWorkflow(ctx, task.CapacityID(queue), "", task.CapacityQuery)
	if err != nil {
		return status, err
	}
	return status, value.Get(&status)
}

// places are the places of those that wait on a task queue, by id; nil when
// nobody can tell.
func (d *Desk) places(ctx context.Context, queue string) map[string]*task.QueuePlace {
	workers, err := d.Workers(ctx, queue)
	if err != nil || len(workers) == 0 {
		return nil
	}
	status, err := d.capacity(ctx, queue)
	if err != nil {
		return nil
	}
	places := map[string]*task.QueuePlace{}
	for _, w := range status.Waiting {
		places[w.ID] = w.Queue
	}
	return places
}

// addPlaces completes what is PENDING with its place in the queue.
func (d *Desk) addPlaces(ctx context.Context, migrations []task.Status, queues map[string]string) {
	known := map[string]map[string]*task.QueuePlace{}
	for i := range migrations {
		m := &migrations[i]
		if m.State != task.Pending || m.EndedAt != nil {
			continue
		}
		queue := queues[m.ID]
		if _, asked := known[queue]; !asked {
			known[queue] = d.places(ctx, queue)
		}
		placed(m, known[queue])
	}
}

// placed says in a status which place the migration has.
func placed(m *task.Status, places map[string]*task.QueuePlace) {
	if m.Queue = places[m.ID]; m.Queue != nil {
		m.WaitingFor = m.Queue.String()
	}
}

// byPlace sorts those that wait by who comes next.
func byPlace(migrations []task.Status) {
	place := func(m task.Status) int {
		if m.Queue == nil {
			return math.MaxInt
		}
		return m.Queue.Place
	}
	slices.SortStableFunc(migrations, func(x, y task.Status) int { return cmp.Compare(place(x), place(y)) })
}
