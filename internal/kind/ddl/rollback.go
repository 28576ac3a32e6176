package ddl

import (
	"context"
	"strings"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/hook"
	"godwit/internal/kind"
	"godwit/internal/ledger"
	"godwit/internal/task"
)

// Rollback takes back what was prepared; and, where the spec says how, the
// change itself.
func (d *DDL) Rollback(ctx context.Context, run *kind.Run) error {
	if _, err := run.Ledger.Take(ctx, task.DDL); err != nil {
		return err
	}
	db, it, err := both(ctx, run)
	if err != nil {
		return err
	}
	if it.state == itemUndone {
		return run.Ledger.Undone(ctx)
	}
	if it.state == itemFinal {
		return fault.About(it.name(), task.Human, "the change can no longer be rolled back: its cleanup has given up the way back")
	}
	if err := run.Ledger.KillSessions(ctx); err != nil {
		return err
	}
	if err := run.Ledger.Fence(ctx); err != nil {
		return err
	}
	hook.At("fenced")
	if err := d.takeBack(ctx, run, db, it); err != nil {
		return err
	}
	if err := db.SweepClones(ctx); err != nil {
		return err
	}
	hook.At("taken back")
	return db.Transaction(ctx, func(tx engine.Tx) error {
		if err := run.Ledger.SetBackupState(ctx, tx, definitionBackup, ledger.BackupRestored); err != nil {
			return err
		}
		if err := it.setState(ctx, run, tx, itemUndone); err != nil {
			return err
		}
		return run.Ledger.Undo(ctx, tx)
	})
}

// takeBack takes back whatever has been done to the table.
func (d *DDL) takeBack(ctx context.Context, run *kind.Run, db *site, it *item) error {
	if s := d.shadowOf(run, db, it); s != nil {
		return s.undo(ctx)
	}
	session, err := db.Session(ctx)
	if err != nil {
		return err
	}
	defer session.Destroy()
	u := &undoing{run: run, db: db, it: it, session: session}
	return u.do(ctx)
}

// undoing is one attempt at a rollback.
type undoing struct {
	run     *kind.Run
	db      *site
	it      *item
	session engine.Session
}

func (u *undoing) do(ctx context.Context) error {
	altered, err := u.altered(ctx)
	if err != nil {
		return err
	}
	if altered {
		if err := u.back(ctx); err != nil {
			return err
		}
	}
	prepared, err := progressOf(ctx, u.run, task.Transform)
	if err != nil {
		return err
	}
	steps := u.it.steps(false)
	for i := min(len(steps), max(prepared.Done, prepared.Began)) - 1; i >= 0; i-- {
		// An index that the change has made a constraint of is its undo's business.
		if steps[i].Undo == "" || altered && steps[i].Alone {
			continue
		}
		if err := u.statement(ctx, &steps[i], steps[i].Undo); err != nil {
			return err
		}
	}
	return nil
}

// altered reports whether the last step has been done, and not been taken back.
func (u *undoing) altered(ctx context.Context) (bool, error) {
	last, err := progressOf(ctx, u.run, task.Cutover)
	if err != nil || len(u.it.steps(true)) == 0 {
		return false, err
	}
	if last.Done > 0 {
		return true, nil
	}
	if last.Began == 0 {
		return false, nil
	}
	now, err := u.db.Definition(ctx, u.it.Table.Name)
	return now != last.Before, err
}

// back takes the change itself back.
func (u *undoing) back(ctx context.Context) error {
	undo := u.run.Spec.DDL.Undo
	if undo == "" {
		return fault.About(u.it.name(), task.Human, "%s has been altered, and the spec has no undo that takes it back: `godwit retry %s` finishes it", u.it.name(), u.run.Ref.ID)
	}
	now, err := u.db.shape(ctx, u.it.Table.Name)
	if err != nil {
		return err
	}
	added, removed := engine.Changes(u.it.Before, u.it.After)
	if len(added)+len(removed) > 0 && len(engine.Differs(now, u.it.After, u.it.Before)) == 0 {
		return nil // an attempt before this one has taken it back
	}
	step := u.it.steps(true)[0]
	if err := u.statement(ctx, &step, undo); err != nil {
		return err
	}
	if now, err = u.db.shape(ctx, u.it.Table.Name); err != nil {
		return err
	}
	detail := "the table's definition is what it was"
	if wrong := engine.Differs(now, u.it.After, u.it.Before); len(wrong) > 0 {
		detail = "but the table's definition is not what it was: " + strings.Join(wrong, "; ")
	}
	return u.run.Ledger.Note(ctx, task.Event{What: "change taken back", Phase: task.Cleanup, Table: u.it.name(), Detail: detail})
}

// statement runs a statement under the lock that a step takes.
func (u *undoing) statement(ctx context.Context, step *engine.Step, text string) error {
	brief := *step
	brief.Brief = step.Brief || !step.Alone
	tell := func(waiting string) {
		u.run.Beat(task.Heartbeat{Phase: task.Cleanup, Table: u.it.name(), Checkpoint: engine.ShortStatement(text), WaitingFor: waiting})
	}
	l := &lock{run: u.run, db: u.db, it: u.it, phase: task.Cleanup, tables: stepTables(u.it, step), brief: brief.Brief, session: u.session.ID(), tell: tell}
	settings := impatient(u.run, u.db, u.it, &brief)
	if !brief.Brief {
		settings = []string{forever}
	}
	err := l.patiently(ctx, func(ctx context.Context) error {
		for _, setting := range settings {
			if _, err := u.session.Exec(ctx, setting); err != nil {
				return err
			}
		}
		return u.steered(ctx, &brief, text)
	})
	if err != nil {
		if class := kind.Classify(err).Class; class == task.Config || class == task.Data {
			return fault.About(u.it.name(), task.Human, "%s: %w; see to that, then roll back again", text, err)
		}
		return err
	}
	return u.run.Ledger.Note(ctx, task.Event{What: "taken back", Phase: task.Cleanup, Table: u.it.name(), Detail: text + l.story()})
}

// steered runs a statement, unless another attempt steers the migration by now:
// in one transaction with that, where it can be part of one.
func (u *undoing) steered(ctx context.Context, step *engine.Step, text string) error {
	tx, err := u.session.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(context.WithoutCancel(ctx)) //nolint:errcheck // after Commit it does nothing
	if step.Alone {
		if err := u.run.Ledger.Steers(ctx, tx); err != nil {
			return err
		}
		if err := tx.Commit(ctx); err != nil {
			return err
		}
		hook.At("before taking back")
		_, err := u.session.Exec(ctx, text)
		return err
	}
	hook.At("before taking back")
	if _, err := tx.Exec(ctx, text); err != nil {
		return err
	}
	if err := u.run.Ledger.Steers(ctx, tx); err != nil {
		return err
	}
	return tx.Commit(ctx)
}
