package copydb

import (
	"context"
	"fmt"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"godwit/internal/engine"
	"godwit/internal/engine/postgres"
	"godwit/internal/fault"
	"godwit/internal/hook"
	"godwit/internal/kind"
	"godwit/internal/task"
)

// indexBuilders is how many indexes are built at once.
const indexBuilders = 2

// makeTable makes the target's table, without keys and indexes: those are
// quicker made from all rows at once. The ledger notes it in the same
// transaction.
func makeTable(ctx context.Context, run *kind.Run, dbs *databases, it *item) error {
	if it.state == itemReady {
		return nil
	}
	if it.Create && it.MakeSchema {
		if err := dbs.to.EnsureSchema(ctx, it.Target.Name.Schema); err != nil {
			return err
		}
	}
	tx, err := dbs.to.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(context.WithoutCancel(ctx)) //nolint:errcheck // after Commit it does nothing
	for _, statement := range it.readying() {
		if _, err := tx.Exec(ctx, statement); err != nil {
			return fmt.Errorf("cannot make %s ready: %w", it.target(), err)
		}
	}
	if err := run.Ledger.SetItemState(ctx, tx, it.No, string(it.state), string(itemReady)); err != nil {
		return err
	}
	hook.At("table created")
	if err := tx.Commit(ctx); err != nil {
		return err
	}
	hook.At("table committed")
	it.state = itemReady
	return nil
}

// readying is the SQL that makes a table ready to be loaded.
func (it *item) readying() []string {
	if it.Create {
		return postgres.CreateStatements(it.Target)
	}
	var statements []string
	for _, key := range it.ForeignKeys {
		statements = append(statements, postgres.DropConstraint(it.Target.Name, key.Name))
	}
	return statements
}

// FinishTransform makes keys and indexes, then the foreign keys, and refreshes
// the planner's statistics. Everything is looked for in the catalog first.
func (c *Copy) FinishTransform(ctx context.Context, run *kind.Run) (task.Work, error) {
	dbs, err := open(ctx, run)
	if err != nil {
		return task.Work{}, err
	}
	items, err := load(ctx, run)
	if err != nil {
		return task.Work{}, err
	}
	indexes, keys := finishing(dbs.to, items)
	p := &progress{run: run, total: int64(len(indexes) + len(keys) + len(items))}
	group, building := errgroup.WithContext(ctx)
	group.SetLimit(indexBuilders)
	for _, s := range indexes {
		group.Go(func() error { return p.do(building, s) })
	}
	if err := group.Wait(); err != nil {
		return task.Work{}, err
	}
	// A foreign key may refer to any table, and needs that one's key.
	for _, s := range keys {
		if err := p.do(ctx, s); err != nil {
			return task.Work{}, err
		}
	}
	for _, it := range items {
		if err := p.do(ctx, finishStep{"analyze " + it.target(), func(ctx context.Context) error { return dbs.to.Analyze(ctx, it.Target.Name) }}); err != nil {
			return task.Work{}, err
		}
	}
	return task.Work{}, nil
}

// finishStep is one thing to be made after the load.
type finishStep struct {
	what string
	do   func(ctx context.Context) error
}

// finishing lists what is to be made: indexes in any order, foreign keys after
// them. Existing tables have their indexes.
func finishing(to *postgres.Server, items []*item) (indexes, keys []finishStep) {
	for _, it := range bySize(items) {
		name := it.Target.Name
		for _, key := range it.ForeignKeys {
			keys = append(keys, finishStep{"foreign key " + key.Name + " of " + it.target(), func(ctx context.Context) error { return to.EnsureConstraint(ctx, name, key) }})
		}
		if !it.Create {
			continue
		}
		for _, index := range it.Target.Indexes {
			step := finishStep{"index " + index.Name + " on " + it.target(), func(ctx context.Context) error { return to.EnsureIndex(ctx, name, index) }}
			if index.Primary {
				step = finishStep{"primary key of " + it.target(), func(ctx context.Context) error { return to.EnsurePrimaryKey(ctx, name, index) }}
			}
			indexes = append(indexes, step)
		}
		for _, key := range it.Target.ForeignKeys {
			keys = append(keys, finishStep{"foreign key " + key.Name + " of " + it.target(), func(ctx context.Context) error { return to.EnsureForeignKey(ctx, name, key) }})
		}
	}
	return indexes, keys
}

// progress counts the steps for the heartbeat.
type progress struct {
	run   *kind.Run
	total int64
	done  atomic.Int64
}

func (p *progress) do(ctx context.Context, s finishStep) error {
	if p.run.Stopped() {
		return fault.New(task.Stopping, "stopped before %s", s.what)
	}
	p.run.Beat(task.Heartbeat{Phase: task.Transform, Table: s.what, Rows: p.done.Load(), RowsTotal: p.total, Percent: 100 * float64(p.done.Load()) / float64(p.total)})
	if err := s.do(ctx); err != nil {
		return fmt.Errorf("%s: %w", s.what, err)
	}
	hook.At("finishing step done")
	p.done.Add(1)
	return nil
}

// statements is the SQL of a plan, in the order in which it will be run.
func statements(items []*item) []string {
	var list []string
	seen := map[string]bool{}
	for _, it := range items {
		if it.MakeSchema && !seen[it.Target.Name.Schema] {
			seen[it.Target.Name.Schema] = true
			list = append(list, postgres.CreateSchema(it.Target.Name.Schema))
		}
		list = append(list, it.readying()...)
	}
	for _, it := range items {
		if !it.Create {
			continue
		}
		for _, index := range it.Target.Indexes {
			list = append(list, indexSQL(it.Target.Name, index))
		}
	}
	for _, it := range items {
		for _, key := range it.ForeignKeys {
			list = append(list, postgres.AddConstraint(it.Target.Name, key, true), postgres.ValidateConstraint(it.Target.Name, key.Name))
		}
		if !it.Create {
			continue
		}
		for _, key := range it.Target.ForeignKeys {
			list = append(list, postgres.AddForeignKey(it.Target.Name, key, true), postgres.ValidateConstraint(it.Target.Name, key.Name))
		}
	}
	return list
}

func indexSQL(table engine.Name, index engine.Index) string {
	if index.Primary {
		return postgres.AddPrimaryKey(table, index)
	}
	return postgres.CreateIndex(table, index)
}
