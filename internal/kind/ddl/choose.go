package ddl

import (
	"context"
	"errors"
	"strings"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/kind"
	"godwit/internal/spec"
	"godwit/internal/task"
)

// choose finds out how the table is altered: directly where that is possible,
// and otherwise, or where it is asked for, by an online copy.
func choose(ctx context.Context, run *kind.Run, db *site, table *engine.Table) (*item, error) {
	s := run.Spec.DDL
	why := "`strategy: shadow` asks for it"
	switch {
	case s.Strategy == spec.ShadowStrategy:
	case len(s.Columns) > 0 && s.Strategy == spec.DirectStrategy:
		return nil, fault.About(table.Name.String(), task.Config, "columns: values of columns are written by an online copy only: leave out `strategy: direct`")
	case len(s.Columns) > 0:
		why = "columns are given their values"
	default:
		alteration, err := db.Alter(ctx, table, s.Alter, s.Strategy == spec.DirectStrategy)
		var not *engine.NotDirectError
		if err == nil {
			return &item{Table: table, Alteration: *alteration}, nil
		}
		if s.Strategy == spec.DirectStrategy || !errors.As(err, &not) {
			return nil, err
		}
		why = strings.Join(not.Why, "; ")
	}
	it, err := reshape(ctx, run, db, table)
	if err != nil && s.Strategy == spec.AutoStrategy {
		if class := kind.Classify(err).Class; class == task.Config {
			return nil, fault.About(table.Name.String(), task.Config, "%s cannot be altered directly (%s), and not by an online copy: %w", table.Name, why, err)
		}
	}
	if err != nil {
		return nil, err
	}
	it.Way = "an online copy of the table: " + why
	return it, nil
}
