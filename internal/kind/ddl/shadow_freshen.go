package ddl

import (
	"context"
	"encoding/json"
	"slices"

	"godwit/internal/engine"
	"godwit/internal/task"
)

// freshen makes the statements of the swap anew when something has come to hang
// on the table, or has gone, since they were planned.
func (s *shadow) freshen(ctx context.Context) error {
	spec := s.run.Spec.DDL
	want := &engine.Reshape{Table: s.r.Table, Alter: spec.Alter, Renames: spec.Renames, Columns: spec.Columns, Inline: s.r.Inline, KeepOld: s.r.Reverse != nil || s.r.OneWay != ""}
	fresh, err := s.db.Freshen(ctx, want, s.r)
	if err != nil || fresh == s.r {
		return err
	}
	if s.r.Reverse == nil {
		fresh.Reverse, fresh.OneWay = nil, s.r.OneWay
	}
	notes := slices.Clone(s.it.Notes)
	for _, note := range fresh.Notes {
		if !slices.Contains(notes, note) {
			notes = append(notes, note)
		}
	}
	s.it.Notes = notes
	if err := s.replan(ctx, fresh); err != nil {
		return err
	}
	return s.run.Ledger.Note(ctx, task.Event{What: "planned anew", Phase: task.Cutover, Table: s.it.name(), Detail: "what hangs on it has changed since the plan was made, and comes along as it is now"})
}

// noteHung notes what hangs on the new table, so that a way back finds out what
// has come to it since.
func (s *shadow) noteHung(ctx context.Context) error {
	if s.r.Reverse == nil || s.r.Hung != nil || !keeps(s.run.Spec) {
		return nil
	}
	hung, err := s.db.Hanging(ctx, s.r.Table.Name)
	if err != nil || hung == nil {
		return err
	}
	noted := *s.r
	noted.Hung = hung
	return s.replan(ctx, &noted)
}

// replan keeps a plan that takes the place of the one before.
func (s *shadow) replan(ctx context.Context, r *engine.Reshaping) error {
	s.it.Reshaping, s.r = r, r
	definition, err := json.Marshal(s.it)
	if err != nil {
		return err
	}
	return s.db.Transaction(ctx, func(tx engine.Tx) error { return s.run.Ledger.Replan(ctx, tx, itemNo, definition) })
}
