package backfill

import (
	"context"
	"fmt"
	"strings"
	"time"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/hook"
	"godwit/internal/kind"
	"godwit/internal/ledger"
	"godwit/internal/shard"
	"godwit/internal/task"
)

// Rollback gives every row that the backfill has changed its old values back,
// unless somebody else has changed it since: such rows are named and left as
// they are. It goes on where an interrupted one has stopped.
func (b *Backfill) Rollback(ctx context.Context, run *kind.Run) error {
	if _, err := run.Ledger.Take(ctx, task.Backfill); err != nil {
		return err
	}
	db, err := open(ctx, run)
	if err != nil {
		return err
	}
	it, err := load(ctx, run)
	if err != nil {
		return err
	}
	if it.state == itemUndone {
		return b.finishUndo(ctx, run, db, it, 0)
	}
	if err := b.refuse(ctx, run, db, it); err != nil {
		return err
	}
	if err := run.Ledger.KillSessions(ctx); err != nil {
		return err
	}
	if err := run.Ledger.Fence(ctx); err != nil {
		return err
	}
	hook.At("fenced")
	if err := reopen(ctx, run, db, it); err != nil {
		return err
	}
	var left int64
	if it.kept() && it.state != itemPlanned {
		if it.state != itemUndoing {
			if err := it.setState(ctx, run, db, itemUndoing); err != nil {
				return err
			}
		}
		if left, err = restore(ctx, run, db, it); err != nil {
			return err
		}
	}
	return b.finishUndo(ctx, run, db, it, left)
}

// refuse says that there is no way back where there is none. A cancelled
// backfill that has no old values ends where it is, and says so.
func (b *Backfill) refuse(ctx context.Context, run *kind.Run, db *site, it *item) error {
	closed, _, err := isClosed(ctx, run, db, it)
	if err != nil {
		return err
	}
	switch {
	case it.state == itemFinal:
		return fault.About(it.name(), task.Human, "the backfill can no longer be rolled back: its cleanup has removed the old values")
	case closed && run.Spec.Backfill.Cutover.Undo == "":
		return fault.About(it.name(), task.Human, "the backfill cannot be rolled back: its closing statement has been run, and the spec has no cutover.undo that takes it back")
	case it.kept():
		return nil
	}
	shards, err := run.Ledger.Shards(ctx, task.Transform)
	if err != nil {
		return err
	}
	var rows int64
	for i := range shards {
		done, err := changedBy(&shards[i])
		if err != nil {
			return err
		}
		rows += done.Rows
	}
	if rows == 0 {
		return nil
	}
	if !run.Cancel {
		return fault.About(it.name(), task.Human, "the backfill cannot be rolled back: no old values were kept of the %d rows that it has changed; "+
			"`godwit retry %s` finishes it", rows, run.Ref.ID)
	}
	return run.Leave(ctx, it.name(), fmt.Sprintf("%d rows had been changed and stay so: no old values were kept", rows))
}

// isClosed reports whether the closing statement has been run and not been
// taken back, and whether the table shows it by its definition. Where a change
// of the table is part of its transaction it never does, and the state is what counts.
func isClosed(ctx context.Context, run *kind.Run, db *site, it *item) (closed, shows bool, err error) {
	if it.state != itemClosed && it.state != itemClosing && it.state != itemReopening {
		return false, false, nil
	}
	now, err := db.Definition(ctx, it.Table.Name)
	if err != nil {
		return false, false, err
	}
	before, err := definitionBefore(ctx, run)
	return it.state == itemClosed || now != before, now != before, err
}

// reopen takes the closing statement back.
func reopen(ctx context.Context, run *kind.Run, db *site, it *item) error {
	closed, shows, err := isClosed(ctx, run, db, it)
	switch {
	case err != nil:
		return err
	case !closed && (it.state == itemClosing || it.state == itemReopening):
		return it.setState(ctx, run, db, itemReady)
	case !closed:
		return nil
	case shows && it.state == itemClosed: // then it will show as well that it was taken back
		if err := it.setState(ctx, run, db, itemReopening); err != nil {
			return err
		}
	}
	sql := run.Spec.Backfill.Cutover.Undo
	return patiently(ctx, run, db, it, func(tx engine.Tx) error {
		if _, err := tx.Exec(ctx, sql); err != nil {
			return closingError(it, sql, err)
		}
		return it.setState(ctx, run, tx, itemReady)
	})
}

// restore gives the old values back, the last pass first, and returns how many
// rows are left that somebody else has changed.
func restore(ctx context.Context, run *kind.Run, db *site, it *item) (left int64, err error) {
	var last int
	if err := number(ctx, db, "SELECT coalesce(max("+engine.PassColumn+"), 0) FROM "+db.QuoteName(it.Rewrite.Saved), &last); err != nil {
		return 0, err
	}
	var total, restored int64
	if err := number(ctx, db, "SELECT count(*) FROM "+db.QuoteName(it.Rewrite.Saved), &total); err != nil {
		return 0, err
	}
	session, err := db.patientSession(ctx)
	if err != nil {
		return 0, err
	}
	defer session.Destroy()
	limits := shard.Limits{Target: run.Spec.Backfill.Chunks.Time.Std(), MaxBytes: chunkBytes, Start: firstRows, Min: 1, Max: run.Spec.Backfill.Chunks.Rows}
	for pass := last; pass > 0; pass-- {
		r := &restoring{run: run, db: db, it: it, session: session, pass: pass, sizer: shard.NewSizer(limits), total: total, restored: &restored}
		if err := r.do(ctx); err != nil {
			return 0, err
		}
	}
	if err := number(ctx, db, "SELECT count(*) FROM "+db.QuoteName(it.Rewrite.Saved), &left); err != nil {
		return 0, err
	}
	if left > 0 {
		if err := listLeft(ctx, run, db, it); err != nil {
			return 0, err
		}
	}
	return left, run.Ledger.Note(ctx, task.Event{What: "rows restored", Phase: task.Cleanup, Table: it.name(),
		Detail: fmt.Sprintf("%d rows have their old values again; %d were changed by others since and are left as they are", total-left, left)})
}

// restoring goes through the saved rows of a pass.
type restoring struct {
	run      *kind.Run
	db       *site
	it       *item
	session  engine.Session
	pass     int
	sizer    *shard.Sizer
	total    int64
	restored *int64
	busy     int
}

func (r *restoring) do(ctx context.Context) error {
	var after engine.Key
	saved := r.it.Rewrite.SavedTable()
	for {
		if r.run.Stopped() {
			return fault.New(task.Stopping, "stopped after %d rows had been restored", *r.restored)
		}
		rows := r.run.Throttle.Chunk(r.sizer.Rows())
		// A guard that would end the work with FAILED does not end its undoing.
		if err := r.run.Throttle.Wait(ctx, rows, rows*r.it.width()); err != nil && kind.Classify(err).Class != task.Human {
			return err
		}
		until, more, err := r.db.Bound(ctx, engine.Select{Table: saved, Exprs: []string{"1"}, Range: engine.Range{After: after}}, rows)
		if err != nil {
			return err
		}
		within := engine.Range{After: after, Until: until}
		switch err := r.chunk(ctx, within); {
		case err != nil && kind.Classify(err).Class == task.Busy && r.busy < mostBusy:
			r.busy++
			r.sizer.Halve()
			if err := r.run.Pause(ctx, r.busy); err != nil {
				return err
			}
			continue
		case err != nil:
			return err
		}
		r.busy = 0
		if !more {
			return nil
		}
		after = until
	}
}

// chunk restores a range and forgets what it has restored, in one transaction
// that only the attempt that steers the migration can commit.
func (r *restoring) chunk(ctx context.Context, within engine.Range) error {
	began := time.Now()
	back, err := r.db.Restore(r.it.Rewrite, r.pass, within)
	if err != nil {
		return err
	}
	forget, err := r.db.Forget(r.it.Rewrite, r.pass, within)
	if err != nil {
		return err
	}
	tx, err := r.session.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(context.WithoutCancel(ctx)) //nolint:errcheck // after Commit it does nothing
	if err := r.run.Ledger.Steers(ctx, tx); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, back); err != nil {
		return err
	}
	n, err := tx.Exec(ctx, forget)
	if err != nil {
		return err
	}
	hook.At("before restored")
	if err := tx.Commit(ctx); err != nil {
		return err
	}
	hook.At("after restored")
	*r.restored += n
	r.sizer.Done(max(n, 1), max(n, 1)*r.it.width(), time.Since(began))
	r.run.Beat(task.Heartbeat{Phase: task.Cleanup, Table: "restore " + r.it.name(), Rows: *r.restored, RowsTotal: r.total})
	return nil
}

// mostListed is how many rows that could not be restored are listed.
const mostListed = 1000

// listLeft names the rows that somebody else has changed.
func listLeft(ctx context.Context, run *kind.Run, db *site, it *item) error {
	rows, err := db.Query(ctx, db.Left(it.Rewrite, mostListed))
	if err != nil {
		return err
	}
	defer rows.Close() //nolint:errcheck // Err tells
	var lines []string
	for rows.Next() {
		values := make([]*string, 1+len(it.Table.Key)+3*len(it.Rewrite.Set))
		into := make([]any, len(values))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			return err
		}
		lines = append(lines, it.leftLine(values))
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for _, line := range lines {
		if err := run.Ledger.Note(ctx, task.Event{What: "row not restored", Phase: task.Cleanup, Table: it.name(), Detail: line}); err != nil {
			return err
		}
	}
	return nil
}

// leftLine says about a row why it was not restored.
func (it *item) leftLine(values []*string) string {
	var b strings.Builder
	for i, name := range it.Table.Key {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(name + "=" + show(values[1+i]))
	}
	if there := values[0]; there == nil || *there != "true" {
		return b.String() + ": the row is gone"
	}
	rest := values[1+len(it.Table.Key):]
	for i, a := range it.Rewrite.Set {
		fmt.Fprintf(&b, "; %s was %s, the backfill made it %s, now it is %s", a.Column, show(rest[3*i]), show(rest[3*i+1]), show(rest[3*i+2]))
	}
	return b.String()
}

// show shortens a value.
func show(value *string) string {
	const most = 100
	if value == nil {
		return "NULL"
	}
	if len(*value) > most {
		return strings.ToValidUTF8((*value)[:most], "") + "…"
	}
	return *value
}

// finishUndo tells the ledger that nothing of the backfill is left, and
// removes the table of old values, unless it still has some.
func (b *Backfill) finishUndo(ctx context.Context, run *kind.Run, db *site, it *item, left int64) error {
	if it.state != itemUndone {
		if err := db.Transaction(ctx, func(tx engine.Tx) error {
			if err := it.setState(ctx, run, tx, itemUndone); err != nil {
				return err
			}
			state := ledger.BackupRestored
			if left > 0 {
				state = ledger.BackupKept
			}
			if err := run.Ledger.SetBackupState(ctx, tx, savedBackup, state); err != nil {
				return err
			}
			if err := run.Ledger.SetBackupState(ctx, tx, definitionBackup, ledger.BackupRemoved); err != nil {
				return err
			}
			return run.Ledger.Undo(ctx, tx)
		}); err != nil {
			return err
		}
		hook.At("undo committed")
	}
	return b.dropEmpty(ctx, run, db, it)
}

// dropEmpty removes the table of old values when all of them are back; the
// others are kept for whoever has to decide about them.
func (b *Backfill) dropEmpty(ctx context.Context, run *kind.Run, db *site, it *item) error {
	if !it.kept() {
		return nil
	}
	if err := run.Ledger.Undone(ctx); err != nil {
		return err
	}
	var left int64
	err := number(ctx, db, "SELECT count(*) FROM "+db.QuoteName(it.Rewrite.Saved), &left)
	if err != nil && kind.Classify(err).Class == task.Config {
		return nil // it is not there: never made, or dropped by an attempt before this one
	}
	if err != nil {
		return err
	}
	if left > 0 {
		return run.Ledger.Note(ctx, task.Event{What: "old values kept", Phase: task.Cleanup, Table: it.name(),
			Detail: fmt.Sprintf("%s has the old values of the %d rows that were not restored; drop it when they are no longer wanted", it.Rewrite.Saved, left)})
	}
	_, err = db.Exec(ctx, db.DropSaved(it.Rewrite))
	return err
}
