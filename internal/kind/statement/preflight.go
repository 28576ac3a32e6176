package statement

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"

	"godwit/internal/engine"
	"godwit/internal/kind"
	"godwit/internal/ledger"
	"godwit/internal/spec"
	"godwit/internal/task"
)

// makePlan finds out what can be known beforehand.
func makePlan(ctx context.Context, run *kind.Run, db kind.Site) (*item, engine.Identity, error) {
	s := run.Spec.SQL
	it := &item{Statements: s.Statement, Query: s.Query, Expect: string(s.Expect), Undo: s.Undo}
	identity, err := db.Identity(ctx)
	if err != nil {
		return nil, identity, err
	}
	if it.Alone, err = commitsAlone(db.Conn, "statement", it.Statements); err != nil {
		return nil, identity, err
	}
	if it.UndoAlone, err = commitsAlone(db.Conn, "undo", it.Undo); err != nil {
		return nil, identity, err
	}
	if len(it.Statements) == 1 && changesRows.MatchString(it.Statements[0]) { // later ones may need what the first has made
		err = explain(ctx, run, db, it.Statements[0])
	}
	return it, identity, err
}

// explain lets the server understand a statement without running it.
func explain(ctx context.Context, run *kind.Run, db kind.Site, text string) error {
	session, err := db.Session(ctx)
	if err != nil {
		return err
	}
	defer session.Destroy()
	if err := ready(ctx, run, db, session); err != nil {
		return err
	}
	rows, err := session.Query(ctx, "EXPLAIN "+text)
	if err != nil {
		return refused(text, err)
	}
	defer rows.Close() //nolint:errcheck // Err tells
	for rows.Next() {
		continue
	}
	if err := rows.Err(); err != nil {
		return refused(text, err)
	}
	return nil
}

// changesRows are statements that a server explains.
var changesRows = regexp.MustCompile(`(?i)^\s*(insert|update|delete)\b`)

// Preflight tries the statement without running it, and writes the plan to the
// ledger. A migration that the ledger knows already keeps its plan.
func (s *Statement) Preflight(ctx context.Context, run *kind.Run) (task.PreflightResult, error) {
	db, err := open(ctx, run)
	if err != nil {
		return task.PreflightResult{}, err
	}
	m, err := run.Ledger.Take(ctx, task.SQL)
	if err != nil {
		return task.PreflightResult{}, err
	}
	if err := run.Alive(ctx); err != nil {
		return task.PreflightResult{}, err
	}
	known, err := load(ctx, run)
	if err != nil {
		return task.PreflightResult{}, err
	}
	text, err := json.Marshal(run.Spec)
	if err != nil {
		return task.PreflightResult{}, err
	}
	if known != nil && !m.Undone() && known.state != itemUndone {
		return resume(ctx, run, db, m, text)
	}
	it, identity, err := makePlan(ctx, run, db)
	if err != nil {
		return task.PreflightResult{}, err
	}
	fingerprint, err := printOf(run.Spec, identity)
	if err != nil {
		return task.PreflightResult{}, err
	}
	definition, err := json.Marshal(it)
	if err != nil {
		return task.PreflightResult{}, err
	}
	return task.PreflightResult{Warnings: it.warnings()}, run.Ledger.Start(ctx,
		ledger.Migration{Kind: task.SQL, Name: run.Spec.Name, Spec: text, Fingerprint: fingerprint, Version: s.version}, nil,
		[]ledger.Item{{No: itemNo, Name: "statement", State: string(itemPlanned), Definition: definition}})
}

func resume(ctx context.Context, run *kind.Run, db kind.Site, m *ledger.Migration, text []byte) (task.PreflightResult, error) {
	identity, err := db.Identity(ctx)
	if err != nil {
		return task.PreflightResult{}, err
	}
	now, err := printOf(run.Spec, identity)
	if err != nil {
		return task.PreflightResult{}, err
	}
	if err := m.Fingerprint.Compare(now); err != nil {
		return task.PreflightResult{}, err
	}
	if err := run.Ledger.Continue(ctx, text, nil); err != nil {
		return task.PreflightResult{}, err
	}
	return task.PreflightResult{}, allowAgain(ctx, run, db, m)
}

// printOf is what the plan is made from.
func printOf(s *spec.Spec, identity engine.Identity) (ledger.Fingerprint, error) {
	text, err := json.Marshal([]any{s.SQL.Database, s.SQL.Statement, s.SQL.Query, s.SQL.Expect, s.SQL.Undo})
	return ledger.Fingerprint{"the server": identity.ID, "the spec": kind.Hash(string(text))}, err
}

func (it *item) warnings() []string {
	var list []string
	if len(it.Statements) > 0 && len(it.Undo) == 0 {
		list = append(list, "there is no undo: the statement cannot be taken back")
	}
	if it.Alone {
		list = append(list, "this server commits the statement by itself: when its outcome is not known, an operator is asked")
	}
	return list
}

// Plan tells what would be run.
func (s *Statement) Plan(ctx context.Context, run *kind.Run) (*task.Plan, error) {
	db, err := open(ctx, run)
	if err != nil {
		return nil, err
	}
	it, identity, err := makePlan(ctx, run, db)
	if err != nil {
		return nil, err
	}
	plan := &task.Plan{Kind: task.SQL, Name: run.Spec.Name, Target: fmt.Sprintf("%s (%s %s)", db.Conn, identity.Flavor, identity.Version),
		Tables: []task.TablePlan{}, Statements: append([]string{}, it.Statements...), Warnings: append([]string{}, it.warnings()...), Shards: 1,
		Advice: "wait for it: run it with --wait"}
	if it.Query != "" {
		plan.Statements = append(plan.Statements, fmt.Sprintf("%s -- has to be %s", it.Query, it.Expect))
	}
	return plan, nil
}

// Backup notes the undo.
func (s *Statement) Backup(ctx context.Context, run *kind.Run) (task.BackupResult, error) {
	db, err := open(ctx, run)
	if err != nil {
		return task.BackupResult{}, err
	}
	it, err := planned(ctx, run)
	if err != nil {
		return task.BackupResult{}, err
	}
	if it.state == itemPlanned {
		if err := db.Transaction(ctx, func(tx engine.Tx) error {
			if len(it.Undo) > 0 {
				if err := run.Ledger.PutBackup(ctx, tx, ledger.Backup{No: undoNo, BackupItem: it.kept(run)}); err != nil {
					return err
				}
			}
			return it.setState(ctx, run, tx, itemReady)
		}); err != nil {
			return task.BackupResult{}, err
		}
	}
	if len(it.Undo) == 0 {
		return task.BackupResult{}, nil
	}
	return task.BackupResult{Items: []task.BackupItem{it.kept(run)}}, nil
}

func (it *item) kept(run *kind.Run) task.BackupItem {
	return task.BackupItem{What: "undo of the statement", Where: "text in the ledger", Restore: fmt.Sprintf("`godwit rollback %s`, or by hand: %s", run.Ref.ID, joined(it.Undo))}
}
