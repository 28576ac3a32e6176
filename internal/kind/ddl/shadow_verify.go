package ddl

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/dustin/go-humanize"

	"godwit/internal/capture"
	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/hook"
	"godwit/internal/ledger"
	"godwit/internal/spec"
	"godwit/internal/task"
)

const (
	// mostLeftOut is how many rows of a shard may be left out of a comparison,
	// because they are noted as changed: more are drained first.
	mostLeftOut = 500
	// busyLeftOut may be left out when it was tried busySweeps times in vain.
	busyLeftOut = 10_000
	// mostDrained is how often.
	mostDrained = 30
	// rereads is how often a part with rows that differ is compared again before
	// they count: on PostgreSQL a table that has just been emptied (TRUNCATE) is
	// empty also to a snapshot from before that.
	rereads = 3
)

// compared is what a verify shard has found, kept as its digest.
type compared struct {
	engine.Compared
	// LeftOut are rows that were just being changed.
	LeftOut int `json:"left_out"`
	// Listed are differing rows that are listed.
	Listed int `json:"listed,omitempty"`
}

// different is how many rows differ, at the least.
func (c compared) different() int64 {
	if c.Same() {
		return 0
	}
	return max(c.Wrong, c.Copies-c.Rows, c.Rows-c.Copies, int64(c.Listed))
}

// emptied leaves out the copies of rows that went when the whole table was
// emptied, which is noted as one change of them all. Every row that is there now
// has come since, and is noted: one that is not is missed by draining, and stays
// a difference. So a table that is emptied again and again, before it could be
// drained, is compared all the same.
func (c *compared) emptied() {
	if c.Rows == 0 {
		c.LeftOut += int(c.Copies)
		c.Compared = engine.Compared{}
	}
}

// prepareVerify cuts the verification as the copy was cut.
func (s *shadow) prepareVerify(ctx context.Context) (task.Work, error) {
	if s.run.Spec.Verify.Mode == spec.NoVerify || s.it.state == itemAltered {
		return task.Work{}, nil
	}
	if err := s.db.VerifyCapture(ctx, s.r.Capture, s.r.Table.Name); err != nil {
		return task.Work{}, err
	}
	copies, _, err := s.shards(ctx)
	if err != nil {
		return task.Work{}, err
	}
	if err := s.run.Ledger.RepeatShards(ctx, task.Verify, again); err != nil {
		return task.Work{}, err
	}
	hook.At("verify begins")
	shards := make([]ledger.Shard, len(copies))
	for i, c := range copies {
		shards[i] = ledger.Shard{No: i + 1, Table: c.Table, Part: i + 1, Parts: len(copies), Range: c.Range, RowsEstimate: max(c.Rows, 1)}
	}
	if err := s.run.Ledger.PlanShards(ctx, task.Verify, shards); err != nil {
		return task.Work{}, err
	}
	return s.run.Ledger.Work(ctx, task.Verify)
}

// again picks the shards to be compared again: all, when a verification was
// carried through and is called for once more.
func again(shards []ledger.Shard) (numbers []int) {
	if slices.ContainsFunc(shards, func(s ledger.Shard) bool { return s.State != ledger.ShardDone }) {
		return nil
	}
	for _, s := range shards {
		numbers = append(numbers, s.No)
	}
	return numbers
}

// verifyShard compares a shard's rows with their copies, as they all are at one
// moment. A row that is not noted as changed at that moment has been drained
// since its last change, and so must be the same.
func (s *shadow) verifyShard(ctx context.Context, in task.ShardInput) (task.ShardResult, error) {
	session, err := s.session(ctx, append(s.db.Impatient(rowLock, tableLock), s.db.Steady()...))
	if err != nil {
		return task.ShardResult{}, err
	}
	defer session.Destroy()
	return s.run.Attempt(ctx, in, session.ID(), func(lease *ledger.Lease) error {
		if err := stands(ctx, s.run); err != nil {
			return err
		}
		stop := s.run.KeepTouching()
		defer stop()
		s.run.Beat(task.Heartbeat{Phase: task.Verify, Table: lease.Label(), Shard: lease.No, RowsTotal: lease.RowsEstimate, Changelog: s.d.pending(s.run.Ref.ID)})
		found, err := s.compareShard(ctx, session, lease.Range)
		if err != nil {
			return err
		}
		hook.At("shard compared")
		p := ledger.Progress{Rows: found.Rows + int64(found.LeftOut), Digest: found, Done: true}
		if err := lease.Advance(ctx, s.run.Ledger.DB(), p); err != nil {
			return err
		}
		lease.Committed(p)
		return nil
	})
}

func (s *shadow) compareShard(ctx context.Context, session engine.Session, within engine.Range) (compared, error) {
	differed := 0
	for try := 0; ; try++ {
		if err := s.run.Throttle.Wait(ctx, 0, 0); err != nil {
			return compared{}, err
		}
		if err := s.drainNow(ctx, s.db, drainEvery); err != nil {
			return compared{}, err
		}
		found, compared, err := s.compareNow(ctx, session, within, try >= busySweeps, differed >= rereads)
		if !found.Same() {
			differed++
		}
		switch {
		case err != nil || compared:
			return found, err
		case s.run.Stopped():
			return found, fault.New(task.Stopping, "stopped while it waited for the changelog to be drained")
		case try == mostDrained:
			return found, fault.About(s.it.name(), task.Busy, "more than %d rows between %s are changed at any moment: too many to compare the others", busyLeftOut, within)
		}
		if err := s.run.Pause(ctx, try); err != nil {
			return found, err
		}
		s.d.turn(s.run.Ref.ID).soon()
	}
}

// soon lets the changelog be drained without waiting for its time.
func (t *turn) soon() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.next = time.Time{}
}

// compareNow compares a range as it is now; not, when too many of its rows are
// just being changed. Of a busy table more may be. Rows that differ are only
// believed, and listed, when it is final.
func (s *shadow) compareNow(ctx context.Context, session engine.Session, within engine.Range, busy, final bool) (found compared, done bool, err error) {
	most := int64(mostLeftOut)
	if busy {
		most = busyLeftOut
	}
	tx, err := session.Begin(ctx)
	if err != nil {
		return found, false, err
	}
	defer tx.Rollback(context.WithoutCancel(ctx)) //nolint:errcheck // nothing is written
	window := engine.Window{Until: math.MaxInt64, Ranges: []engine.Range{within}, Emptied: true}
	entries, err := s.db.Entries(ctx, tx, s.r.Capture, window, most+1)
	if err != nil || int64(len(entries)) > most {
		return found, false, err
	}
	but, emptied := capture.Distinct(entries)
	if emptied && !busy {
		return found, false, nil // what was in the table goes when that is drained
	}
	part := engine.Part{Within: within}
	if found.Compared, err = s.db.Compare(ctx, tx, s.r, part, but); err != nil {
		return found, false, err
	}
	found.LeftOut = len(but)
	if emptied {
		found.emptied()
	}
	if found.Same() || !final {
		return found, found.Same(), nil
	}
	rows, err := s.db.Disagreements(ctx, tx, s.r, part, but, s.run.Spec.Verify.Report)
	if err != nil {
		return found, false, err
	}
	found.Listed = len(rows)
	return found, true, s.list(ctx, rows)
}

// list writes down rows that differ.
func (s *shadow) list(ctx context.Context, rows []engine.Disagreement) error {
	for _, row := range rows {
		d := task.Difference{Table: s.it.name(), Key: s.r.Table.RowName(row.Key), What: row.What}
		for _, c := range row.Columns {
			d.Columns = append(d.Columns, task.ColumnDiff{Column: c.Column, Source: show(c.Want), Target: show(c.Have)})
		}
		if err := s.run.NoteDifference(ctx, d); err != nil {
			return err
		}
	}
	return nil
}

// finishVerify concludes from what the shards have found.
func (s *shadow) finishVerify(ctx context.Context) (task.VerifySummary, error) {
	summary := task.VerifySummary{Mode: string(s.run.Spec.Verify.Mode), Tables: 1}
	if s.run.Spec.Verify.Mode == spec.NoVerify || s.it.state == itemAltered {
		return summary, nil
	}
	shards, err := s.run.Ledger.Shards(ctx, task.Verify)
	if err != nil {
		return summary, err
	}
	if len(shards) == 0 {
		return summary, fmt.Errorf("nothing of %s was compared", s.it.name())
	}
	var leftOut int64
	for i := range shards {
		var c compared
		if shards[i].State != ledger.ShardDone || shards[i].Digest == nil {
			return summary, fmt.Errorf("shard %d (%s) was not compared", shards[i].No, shards[i].Label())
		}
		if err := json.Unmarshal(shards[i].Digest, &c); err != nil {
			return summary, err
		}
		summary.Rows += c.Rows
		summary.Different += c.different()
		leftOut += int64(c.LeftOut)
	}
	if summary.Different > 0 {
		return summary, s.run.Mismatch(ctx, &summary)
	}
	summary.Checked = append(summary.Checked, humanize.Comma(summary.Rows)+" rows are in the new table as they are in the old one, value by value")
	if leftOut > 0 {
		summary.Checked = append(summary.Checked, humanize.Comma(leftOut)+" were just being changed: they are drained, and compared in the cut-over if they are then")
	}
	return summary, nil
}
