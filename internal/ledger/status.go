package ledger

import (
	"context"

	"godwit/internal/task"
)

// Status tells how the migration stands by the ledger alone: for when no
// worker or no Temporal is there to ask.
func (l *Ledger) Status(ctx context.Context) (*task.Status, error) {
	m, err := l.Load(ctx)
	if err != nil {
		return nil, err
	}
	if m == nil {
		return nil, unknown(l.ID)
	}
	s := &task.Status{ID: m.ID, Kind: m.Kind, Name: m.Name, State: m.State, Phase: m.Phase, Error: m.Error,
		StartedAt: &m.StartedAt, EndedAt: m.EndedAt, Source: "ledger",
		Attention: m.State == task.Failed || m.State == task.TimedOut, Progress: task.Progress{ETASeconds: -1}}
	if m.Throttle != nil && m.Throttle.RowsPerSecond != nil {
		s.Throttle.RowsPerSecond = *m.Throttle.RowsPerSecond
	}
	if s.Throttle.Held, err = l.Holds(ctx); err != nil {
		return nil, err
	}
	phase := task.Transform
	if m.Phase == task.Verify {
		phase = task.Verify
	}
	shards, err := l.Shards(ctx, phase)
	if err != nil {
		return nil, err
	}
	for i := range shards {
		count(s, &shards[i])
	}
	if s.Progress.RowsTotal > 0 {
		s.Progress.Percent = min(100, 100*float64(s.Progress.RowsDone)/float64(s.Progress.RowsTotal))
	}
	if m.Kind == task.Pipeline {
		if err := l.addSteps(ctx, s); err != nil {
			return nil, err
		}
	}
	backups, err := l.Backups(ctx)
	for _, b := range backups {
		if b.State == BackupKept {
			s.Kept = append(s.Kept, b.BackupItem)
		}
	}
	return s, err
}

// addSteps adds the steps of a pipeline, which are its items.
func (l *Ledger) addSteps(ctx context.Context, s *task.Status) error {
	items, err := l.Items(ctx)
	over := 0
	for _, item := range items {
		step := task.PhaseStatus{Name: item.Name, State: task.State(item.State), Kind: "step"}
		if step.State == task.Success || step.State == task.Skipped {
			over++
		}
		s.Steps = append(s.Steps, step)
	}
	if len(items) > 0 {
		s.Progress.Percent = 100 * float64(over) / float64(len(items))
	}
	return err
}

// count adds a shard to the sums of a status.
func count(s *task.Status, shard *Shard) {
	s.Shards.Total++
	s.Progress.RowsDone += shard.Rows
	s.Progress.BytesDone += shard.Bytes
	switch shard.State {
	case ShardDone:
		s.Shards.Done++
		s.Progress.RowsTotal += shard.Rows
		return
	case ShardRunning:
		s.Shards.Running++
	case ShardFailed:
		s.Shards.Failed++
	case ShardPending:
		if shard.Error != nil {
			s.Shards.Retrying++
		}
	}
	s.Progress.RowsTotal += max(shard.RowsEstimate, shard.Rows)
	if shard.Error != nil {
		s.Failures = append(s.Failures, *shard.Error)
	}
}

// Latest finds the migration of an id, or else the one of a name that was begun last;
// its id is empty when there is none.
func (s *Store) Latest(ctx context.Context, name string) (id string, state task.State, err error) {
	err = s.row(ctx, s.db, "select id, state from {migration} where id = ? or name = ? order by case when id = ? then 0 else 1 end, started_at desc limit 1",
		[]any{name, name, name}, &id, &state)
	if isNoRows(err) {
		return "", "", nil
	}
	return id, state, err
}
