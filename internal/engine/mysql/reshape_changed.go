package mysql

import (
	"context"
	"encoding/json"
	"strings"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/task"
)

// asPlanned refuses a change of names when somebody has changed the table since
// the copy was planned, in a way that the copy does not have (an index, a
// default, a trigger, a foreign key, whichever way that points), or the server.
func (s *Server) asPlanned(ctx context.Context, swap *engine.Swap) error {
	now, err := s.Table(ctx, swap.Table.Name)
	if err != nil {
		return err
	}
	was, noted := swap.Table, swap.Capture
	if swap.Back {
		was, noted = swap.Made, swap.Reshaping.Back
	}
	p := &reshapePlan{server: s, table: now, out: &engine.Reshaping{Capture: noted}}
	if err := p.triggered(ctx); err != nil {
		return err
	}
	if err := p.referred(ctx); err != nil {
		return err
	}
	if err := p.foremost(ctx); err != nil {
		return err
	}
	added, gone, err := changesSince(was, now)
	if err != nil || len(added)+len(gone) == 0 {
		return err
	}
	return fault.About(now.Name.String(), task.Config, "the definition of %s has changed, and the table that is to take its place does not have that (%s): put it back and retry, or roll back and start a new migration",
		now.Name, strings.Join(append(added, gone...), "; "))
}

// changesSince are the lines of a table's definition that have come and gone since a
// description of it was written to the ledger, as text.
func changesSince(was, now *engine.Table) (added, gone []string, err error) {
	text, err := json.Marshal(now)
	if err != nil {
		return nil, nil, err
	}
	var read engine.Table // as the other one was read: bytes that are no text are not kept
	if err := json.Unmarshal(text, &read); err != nil {
		return nil, nil, err
	}
	added, gone = engine.Changes(engine.ShapeOf(was, false), engine.ShapeOf(&read, false))
	for i := range added {
		added[i] = "added: " + added[i]
	}
	for i := range gone {
		gone[i] = "gone: " + gone[i]
	}
	return added, gone, nil
}
