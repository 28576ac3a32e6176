package backfill

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"godwit/internal/fault"
	"godwit/internal/hook"
	"godwit/internal/kind"
	"godwit/internal/ledger"
	"godwit/internal/spec"
	"godwit/internal/task"
)

// found is what a verify shard has found, kept as its digest.
type found struct {
	Matching int64 `json:"matching"` // rows that should have been changed
}

// PrepareVerify cuts the verification as the first pass was cut. Where it is
// known that no row may match any more, that is looked at range by range.
func (b *Backfill) PrepareVerify(ctx context.Context, run *kind.Run) (task.Work, error) {
	if run.Spec.Verify.Mode == spec.NoVerify {
		return task.Work{}, nil
	}
	it, err := load(ctx, run)
	if err != nil || !it.Again {
		return task.Work{}, err
	}
	done, err := run.Ledger.Shards(ctx, task.Transform)
	if err != nil {
		return task.Work{}, err
	}
	if err := run.Ledger.RepeatShards(ctx, task.Verify, again); err != nil {
		return task.Work{}, err
	}
	hook.At("verify begins")
	var shards []ledger.Shard
	for i := range done {
		pass, err := passOf(&done[i])
		if err != nil {
			return task.Work{}, err
		}
		if s := done[i]; pass == 1 {
			shards = append(shards, ledger.Shard{No: len(shards) + 1, Table: s.Table, Part: s.Part, Parts: s.Parts, Range: s.Range, RowsEstimate: max(s.Rows, 1)})
		}
	}
	if err := run.Ledger.PlanShards(ctx, task.Verify, shards); err != nil {
		return task.Work{}, err
	}
	return run.Ledger.Work(ctx, task.Verify)
}

// again picks the shards to be looked at again: all, when a verification was
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

// VerifyShard counts the rows of a shard that should have been changed.
func (b *Backfill) VerifyShard(ctx context.Context, run *kind.Run, in task.ShardInput) (task.ShardResult, error) {
	db, err := open(ctx, run)
	if err != nil {
		return task.ShardResult{}, err
	}
	it, err := load(ctx, run)
	if err != nil {
		return task.ShardResult{}, err
	}
	done, err := run.Ledger.Shards(ctx, task.Transform)
	if err != nil {
		return task.ShardResult{}, err
	}
	pass, err := lastPass(done)
	if err != nil {
		return task.ShardResult{}, err
	}
	return run.Attempt(ctx, in, "", func(lease *ledger.Lease) error {
		if err := run.Throttle.Wait(ctx, 0, 0); err != nil {
			return err
		}
		stop := run.KeepTouching()
		defer stop()
		n, err := matching(ctx, db, it, pass+1, lease.Range, false)
		if err != nil {
			return err
		}
		hook.At("shard compared")
		p := ledger.Progress{Rows: lease.RowsEstimate, Digest: found{Matching: n}, Done: true}
		if err := lease.Advance(ctx, run.Ledger.DB(), p); err != nil {
			return err
		}
		lease.Committed(p)
		return nil
	})
}

// FinishVerify concludes: no row matches, what was saved is what was changed,
// and the check query says what is expected.
func (b *Backfill) FinishVerify(ctx context.Context, run *kind.Run) (task.VerifySummary, error) {
	summary := task.VerifySummary{Mode: string(run.Spec.Verify.Mode), Tables: 1}
	if run.Spec.Verify.Mode == spec.NoVerify {
		return summary, nil
	}
	db, err := open(ctx, run)
	if err != nil {
		return summary, err
	}
	it, err := load(ctx, run)
	if err != nil {
		return summary, err
	}
	shards, err := run.Ledger.Shards(ctx, task.Transform)
	if err != nil {
		return summary, err
	}
	for i := range shards {
		done, err := changedBy(&shards[i])
		if err != nil {
			return summary, err
		}
		summary.Rows += done.Rows
	}
	for _, check := range []func(context.Context, *kind.Run, *site, *item, *task.VerifySummary) error{noneMatches, countsAddUp, asExpected} {
		if err := check(ctx, run, db, it, &summary); err != nil {
			return summary, err
		}
	}
	if len(summary.Checked) == 0 {
		summary.Checked = []string{"nothing could be verified: give check a query"}
		return summary, run.Ledger.Note(ctx, task.Event{What: "nothing verified", Phase: task.Verify, Table: it.name(),
			Detail: "there is no condition that has become false, no backup to count and no check: give check a query"})
	}
	return summary, nil
}

// noneMatches refuses rows that match although they should not.
func noneMatches(ctx context.Context, run *kind.Run, _ *site, it *item, summary *task.VerifySummary) error {
	if !it.Again {
		return nil
	}
	shards, err := run.Ledger.Shards(ctx, task.Verify)
	if err != nil {
		return err
	}
	if len(shards) == 0 {
		return fmt.Errorf("the verification of %s has looked at nothing", it.name())
	}
	for i := range shards {
		var f found
		if err := json.Unmarshal(shards[i].Digest, &f); err != nil {
			return err
		}
		summary.Different += f.Matching
	}
	if summary.Different == 0 {
		summary.Checked = append(summary.Checked, "no row matches where any more")
		return nil
	}
	return fault.About(it.name(), task.Mismatch, "%d rows of %s still match where after %s: somebody goes on writing such rows; see to that, then `godwit retry %s` goes through the table again",
		summary.Different, it.name(), passes(run.Spec.Backfill.Passes), run.Ref.ID)
}

func passes(n int) string {
	if n == 1 {
		return "one pass"
	}
	return fmt.Sprintf("%d passes", n)
}

// countsAddUp compares what is saved with what the shards have changed.
func countsAddUp(ctx context.Context, _ *kind.Run, db *site, it *item, summary *task.VerifySummary) error {
	if !it.kept() {
		return nil
	}
	var saved int64
	if err := number(ctx, db, "SELECT count(*) FROM "+db.QuoteName(it.Rewrite.Saved), &saved); err != nil {
		return err
	}
	if saved != summary.Rows {
		return fault.About(it.name(), task.Mismatch, "%d rows of %s were changed, but %s has the old values of %d: somebody else has written to it", summary.Rows, it.name(), it.Rewrite.Saved, saved)
	}
	summary.Checked = append(summary.Checked, fmt.Sprintf("the old values of all %d changed rows are saved", saved))
	return nil
}

// asExpected runs the check query.
func asExpected(ctx context.Context, run *kind.Run, db *site, it *item, summary *task.VerifySummary) error {
	check := run.Spec.Backfill.Check
	if check == nil {
		return nil
	}
	stop := run.KeepTouching()
	defer stop()
	got, err := kind.Answer(ctx, db, check.Query)
	if err != nil {
		return err
	}
	if got == string(check.Expect) {
		summary.Checked = append(summary.Checked, "check says "+got+", as expected")
		return nil
	}
	summary.Different++
	return fault.About(it.name(), task.Mismatch, "check: %q says %s instead of %s", check.Query, got, check.Expect)
}
