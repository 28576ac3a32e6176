package control

import (
	"context"
	"errors"
	"time"

	"godwit/internal/cluster"
	"godwit/internal/task"
)

// Intervals of asking Temporal how a migration stands: often at first, since
// short migrations are waited for most.
const (
	firstInterval   = 200 * time.Millisecond
	longestInterval = 2 * time.Second
)

// Outage is told about a cluster that does not answer, and again, with nil,
// when it does.
type Outage func(err error)

// AwaitState waits until a migration is in a final state and returns it. It
// asks Temporal alone, needs no worker to answer, and outlasts a restart of
// the cluster.
func (d *Desk) AwaitState(ctx context.Context, id string, outage Outage) (task.State, error) {
	return d.await(ctx, id, outage, func(a Answer) bool { return a.Status.State.Final() })
}

// AwaitEnd waits until a migration's workflow has ended: after SUCCESS that is
// when nothing is kept any more, or when it has been rolled back.
func (d *Desk) AwaitEnd(ctx context.Context, id string, outage Outage) (task.State, error) {
	return d.await(ctx, id, outage, func(a Answer) bool { return !a.Open })
}

// AwaitUndone waits until a migration's workflow has ended, or, of a pipeline, until the
// undoing of a step has failed: then it waits for an operator.
func (d *Desk) AwaitUndone(ctx context.Context, id string, outage Outage) (task.State, error) {
	return d.await(ctx, id, outage, func(a Answer) bool {
		return !a.Open || a.Status.Kind == task.Pipeline && a.Status.State.Resumable()
	})
}

func (d *Desk) await(ctx context.Context, id string, outage Outage, reached func(Answer) bool) (task.State, error) {
	interval, away := firstInterval, false
	for {
		answer, err := d.glance(ctx, id)
		var unreachable *cluster.UnreachableError
		switch {
		case ctx.Err() != nil:
			return "", ctx.Err()
		case errors.As(err, &unreachable):
			if !away {
				outage(err)
			}
			away = true
		case err != nil:
			return "", err
		case reached(answer):
			return answer.Status.State, nil
		case away:
			outage(nil)
			away = false
		}
		if err := Rest(ctx, interval); err != nil {
			return "", err
		}
		interval = min(longestInterval, interval*5/4)
	}
}

// glance is a status from Temporal alone.
func (d *Desk) glance(ctx context.Context, id string) (Answer, error) {
	described, err := d.describe(ctx, id)
	if err != nil {
		return Answer{}, err
	}
	return d.answerOf(described), nil
}

// AwaitEffect waits until a migration stands as somebody asked for, at most
// until the limit. It returns the last answer, and whether it came about.
func (d *Desk) AwaitEffect(ctx context.Context, id string, limit time.Duration, came func(Answer) bool) (Answer, bool, error) {
	deadline := time.Now().Add(limit)
	for {
		answer, err := d.Status(ctx, id)
		switch {
		case err != nil:
			return answer, false, err
		case came(answer):
			return answer, true, nil
		case answer.Remark != "" || time.Now().After(deadline):
			return answer, false, nil
		}
		if err := Rest(ctx, firstInterval); err != nil {
			return answer, false, err
		}
	}
}

// Rest waits for a while, or until the context ends: then it returns its error.
func Rest(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
