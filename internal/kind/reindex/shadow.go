package reindex

import (
	"context"
	"strings"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/kind"
	"godwit/internal/spec"
	"godwit/internal/task"
)

// A shadow rebuild writes a table anew beside the one in use, with all its
// indexes: it is an online copy, and kind ddl does it. The ledger has it as such,
// so that whatever follows the preflight finds that kind's spec.

// copies reports whether the plan in the ledger is an online copy.
func copies(run *kind.Run) bool { return run.Spec.DDL != nil }

// asCopy is the call with the spec of an online copy; nil where the indexes are
// built in place.
func asCopy(ctx context.Context, run *kind.Run) (*kind.Run, error) {
	r, limits := run.Spec.Reindex, run.Spec.Throttle
	limited := limits.RowsPerSecond > 0 || limits.BytesPerSecond > 0
	if r.Strategy == spec.InPlace || r.Strategy == spec.AutoBuild && !limited {
		return nil, nil
	}
	db, err := open(ctx, run)
	if err != nil {
		return nil, err
	}
	if db.Dialect() == engine.PostgresDialect {
		if r.Strategy == spec.ShadowBuild {
			return nil, fault.New(task.Config, "strategy: shadow is for MySQL and MariaDB; PostgreSQL builds each index beside the one in use: leave it out")
		}
		return nil, nil // what cannot be kept is refused with the plan
	}
	if r.Table == "" || len(r.Index) > 0 {
		return nil, fault.New(task.Config, "strategy: shadow (which rows_per_second and bytes_per_second ask for) writes one table anew with all its indexes: give table, and no index")
	}
	alter, err := alterOf(r, db)
	if err != nil {
		return nil, err
	}
	s, err := spec.New(task.DDL)
	if err != nil {
		return nil, err
	}
	s.Common = run.Spec.Common
	s.Kind = task.DDL
	d := s.DDL
	d.Database, d.Table, d.Alter, d.Strategy = r.Database, r.Table, alter, spec.ShadowStrategy
	d.Cutover.Mode, d.Shards.Parallel, d.KeepOld = r.Cutover.Mode, r.Shards.Parallel, new(spec.Duration)
	if len(r.Drop) > 0 {
		d.KeepOld = r.KeepOld
	}
	derived := *run
	derived.Spec = s
	return &derived, nil
}

// alterOf is what the copy is made by: the same table, or other indexes.
func alterOf(r *spec.ReindexSpec, db *site) (string, error) {
	var actions []string
	for _, statement := range r.Create {
		read, err := engine.ReadIndexStatement(statement, engine.MySQLDialect)
		if err != nil {
			return "", fault.New(task.Config, "create: %q: %w", statement, err)
		}
		if table := db.Qualify(read.Table.String()); table != db.Qualify(r.Table) {
			return "", fault.New(task.Config, "create: %q is about %s, and strategy: shadow is about %s alone", statement, table, r.Table)
		}
		actions = append(actions, "ADD "+strings.TrimSpace(read.Kind+" INDEX")+" "+quoted(read.Name)+" "+strings.TrimSpace(read.Using+" "+read.Rest))
	}
	for _, name := range r.Drop {
		actions = append(actions, "DROP INDEX "+quoted(name))
	}
	if len(actions) == 0 {
		return "FORCE", nil
	}
	return strings.Join(actions, ", "), nil
}

// quoted quotes a name as MySQL and MariaDB do.
func quoted(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

// Sweep drops the clones that a preflight that was cut short may have left.
func (r *Reindex) Sweep(ctx context.Context, run *kind.Run) error {
	db, err := kind.OpenSite(ctx, run, run.Ref.Ledger)
	if err != nil {
		return err
	}
	return db.SweepClones(ctx)
}
