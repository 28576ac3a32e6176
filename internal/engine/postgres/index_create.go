package postgres

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/task"
)

// creates are the indexes that are to be made. Each is made on an empty twin of
// its table first: so what is wrong with it is found, and what it has to be.
func (p *indexPlan) creates(ctx context.Context) error {
	first := len(p.out.Works)
	for _, statement := range p.want.Create {
		w, err := p.server.planCreate(ctx, p.want, statement)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(p.out.Works, func(o engine.IndexWork) bool { return o.Name() == w.Name() }) {
			return fault.About(w.Table.String(), task.Config, "index %s is named twice", w.Name())
		}
		p.out.Works = append(p.out.Works, *w)
	}
	slices.SortStableFunc(p.out.Works[first:], func(a, b engine.IndexWork) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return nil
}

func (s *Server) planCreate(ctx context.Context, want *engine.IndexWish, statement string) (*engine.IndexWork, error) {
	read, err := engine.ReadIndexStatement(statement, engine.PostgresDialect)
	if err != nil {
		return nil, fault.New(task.Config, "create: %q: %w", statement, err)
	}
	if read.Table.Schema == "" {
		read.Table.Schema = cmp.Or(want.Table.Schema, want.Schema, "public")
	}
	w := &engine.IndexWork{Action: engine.CreateIndex, Table: read.Table, Index: read.Name}
	if len(w.Index) > maxNameBytes {
		return nil, fault.About(w.Table.String(), task.Config, "create: the name %s has more than %d bytes, and the server would cut it", w.Index, maxNameBytes)
	}
	oid, err := indexedOID(ctx, s.on, w.Table)
	if err != nil {
		return nil, err
	}
	var kind string
	if err := s.on.QueryRow(ctx, `SELECT relkind::text, greatest(reltuples::bigint, pg_relation_size(oid) / 100, 1), pg_relation_size(oid) FROM pg_class WHERE oid = $1`, oid).
		Scan(&kind, &w.Rows, &w.Bytes); err != nil {
		return nil, err
	}
	if kind == "p" {
		return nil, fault.About(w.Table.String(), task.Config, "create: %s is partitioned, and the server cannot build an index of all its partitions beside the writers: "+
			"CREATE INDEX … ON ONLY %s, build one for each partition by `create`, and attach them", w.Table, QuoteName(w.Table))
	}
	if err := s.nameIsFree(ctx, w); err != nil {
		return nil, err
	}
	write := func(index string, table engine.Name, how string) string {
		kind := ""
		if read.Kind != "" {
			kind = read.Kind + " "
		}
		return "CREATE " + kind + "INDEX " + how + Quote(index) + " ON " + QuoteName(table) + " " + read.Rest
	}
	w.Definition = write(w.Index, w.Table, "CONCURRENTLY ")
	w.Steps = []engine.IndexStep{{SQL: []string{w.Definition}, Builds: true}}
	return w, s.rehearseIndex(ctx, w, func(twin engine.Name) string { return write(twin.Table+"_index", twin, "") })
}

// nameIsFree refuses an index that is there already; what a failed build has
// left is none.
func (s *Server) nameIsFree(ctx context.Context, w *engine.IndexWork) error {
	found, err := findIndex(ctx, s.on, w.Table.Schema, w.Index)
	switch {
	case err != nil || found == nil:
		return err
	case found.table == w.Table.Table && found.valid:
		return fault.About(w.Table.String(), task.Config, "create: there is an index %s already: %s", w.Name(), found.Definition)
	case found.table != w.Table.Table:
		if found.table == "" && found.kind == "" {
			found.kind = "table"
		}
		return fault.About(w.Table.String(), task.Config, "create: the name %s is taken: %s", w.Name(), found.what())
	}
	return nil
}

// rehearseIndex makes the index on an empty twin of its table, and notes what it is.
func (s *Server) rehearseIndex(ctx context.Context, w *engine.IndexWork, write func(twin engine.Name) string) error {
	err := s.withTwin(ctx, w.Table, func(tx pgx.Tx, twin engine.Name) error {
		for _, statement := range []string{"CREATE TABLE " + QuoteName(twin) + " (LIKE " + QuoteName(w.Table) + ")", write(twin)} {
			if _, err := tx.Exec(ctx, statement); err != nil {
				return err
			}
		}
		index := engine.Name{Schema: twin.Schema, Table: twin.Table + "_index"}
		var err error
		if w.Shape, err = indexShape(ctx, tx, index); err != nil {
			return err
		}
		return tx.QueryRow(ctx, `SELECT x.indisunique, am.amname, ARRAY(SELECT pg_get_indexdef(c.oid, i, false) FROM generate_series(1, x.indnkeyatts) i ORDER BY i),
				coalesce(pg_get_expr(x.indpred, x.indrelid), '')
			FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid JOIN pg_am am ON am.oid = c.relam WHERE c.oid = $1::text::regclass`, QuoteName(index)).
			Scan(&w.Unique, &w.Method, &w.Keys, &w.Where)
	})
	if class, known := Classify(err); known && (class == task.Config || class == task.Data) {
		return fault.About(w.Table.String(), task.Config, "create: the server refuses %q: %w", w.Definition, err)
	}
	return err
}

// indexShape is what an index is, in words of the catalog, whatever its name.
func (s *Server) indexShape(ctx context.Context, index engine.Name) (string, error) {
	return indexShape(ctx, s.on, index)
}

func indexShape(ctx context.Context, on executor, index engine.Name) (string, error) {
	f, err := findIndex(ctx, on, index.Schema, index.Table)
	if err != nil || f == nil || f.table == "" {
		return "", err
	}
	return fmt.Sprintf("unique %t, %s %v, where %q, %s", f.Unique, f.Method, f.Parts, f.Predicate, f.traits), nil
}
