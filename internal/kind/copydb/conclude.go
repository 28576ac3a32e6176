package copydb

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"

	"godwit/internal/digest"
	"godwit/internal/engine"
	"godwit/internal/kind"
	"godwit/internal/ledger"
	"godwit/internal/spec"
	"godwit/internal/task"
)

const (
	rechecks     = 3               // how often a differing row is read again
	recheckDelay = 2 * time.Second // before it is
)

// FinishVerify concludes from what the shards have found.
func (c *Copy) FinishVerify(ctx context.Context, run *kind.Run) (task.VerifySummary, error) {
	summary := task.VerifySummary{Mode: string(run.Spec.Verify.Mode)}
	if run.Spec.Verify.Mode == spec.NoVerify {
		return summary, nil
	}
	dbs, err := open(ctx, run)
	if err != nil {
		return summary, err
	}
	items, err := load(ctx, run)
	if err != nil {
		return summary, err
	}
	shards, err := run.Ledger.Shards(ctx, task.Verify)
	if err != nil {
		return summary, err
	}
	for _, it := range items {
		different, rows, err := conclude(ctx, run, dbs, it, shardsOf(shards, it.target()))
		if err != nil {
			return summary, err
		}
		summary.Tables++
		summary.Rows += rows
		summary.Different += different
	}
	if summary.Different == 0 {
		return summary, nil
	}
	return summary, run.Mismatch(ctx, &summary)
}

// conclude compares one table's sums. A table of which nothing was compared
// does not count as equal.
func conclude(ctx context.Context, run *kind.Run, dbs *databases, it *item, shards []ledger.Shard) (different, rows int64, err error) {
	if len(shards) == 0 {
		return 0, 0, fmt.Errorf("nothing of %s was compared", it.target())
	}
	var all compared
	for i := range shards {
		s := &shards[i]
		if s.State != ledger.ShardDone || s.Digest == nil {
			return 0, 0, fmt.Errorf("shard %d (%s) was not compared", s.No, s.Label())
		}
		var part compared
		if err := json.Unmarshal(s.Digest, &part); err != nil {
			return 0, 0, err
		}
		if !part.Source.Read() {
			return 0, 0, fmt.Errorf("nothing of shard %d (%s) was read", s.No, s.Label())
		}
		all.Source.Merge(part.Source)
		all.Target.Merge(part.Target)
		different += part.Different
	}
	if all.Source.Equal(all.Target) || different > 0 {
		return different, all.Source.Rows, nil
	}
	different, err = listDifferences(ctx, run, dbs, it, engine.Range{})
	return different, all.Source.Rows, err
}

// listDifferences finds the rows that are not the same on both sides and
// notes each of them as an event, up to verify.report.
func listDifferences(ctx context.Context, run *kind.Run, dbs *databases, it *item, bounds engine.Range) (int64, error) {
	if run.Spec.Verify.Mode == spec.Count {
		return 1, run.NoteDifference(ctx, task.Difference{Table: it.target(), What: "count", Key: bounds.String()})
	}
	from, to := it.sourceSelect(bounds), it.targetSelect(bounds)
	from.Ordered = false
	read := func(side streamer, sel engine.Select) func(context.Context) (engine.Stream, error) {
		return func(ctx context.Context) (engine.Stream, error) { return side.Stream(ctx, sel) }
	}
	rows, total, err := digest.Diff(ctx, read(dbs.from, from), read(dbs.to, to), it.Row, it.keyColumns(),
		digest.Options{Table: it.target(), Report: run.Spec.Verify.Report, Rechecks: rechecks, Delay: recheckDelay,
			Progress: func(int64, int64) { run.Touch() }})
	if err != nil {
		return 0, err
	}
	for _, d := range rows {
		if err := run.NoteDifference(ctx, d); err != nil {
			return 0, err
		}
	}
	return total, nil
}

// keyColumns are the positions of the key's columns among the copied ones.
func (it *item) keyColumns() []int {
	var columns []int
	for _, name := range it.Source.Key {
		for i, c := range it.Row.Columns {
			if c.Source == name {
				columns = append(columns, i)
			}
		}
	}
	return columns
}

// countRows counts on the server, which says nothing until it is through.
func countRows(ctx context.Context, side streamer, sel engine.Select, touch func()) (digest.Sum, error) {
	counted := make(chan struct{})
	defer close(counted)
	go func() {
		for {
			select {
			case <-counted:
				return
			case <-time.After(time.Minute):
				touch()
			}
		}
	}()
	sel.Exprs = []string{"count(*)"}
	stream, err := side.Stream(ctx, sel)
	if err != nil {
		return digest.Sum{}, err
	}
	defer stream.Close() //nolint:errcheck // Next tells
	raw, err := stream.Next()
	if err != nil {
		return digest.Sum{}, err
	}
	rows, err := strconv.ParseInt(string(raw[0]), 10, 64)
	if err != nil {
		return digest.Sum{}, err
	}
	if _, err := stream.Next(); err != io.EOF {
		return digest.Sum{}, fmt.Errorf("a count came with a second row: %v", err)
	}
	return digest.Counted(rows), nil
}
