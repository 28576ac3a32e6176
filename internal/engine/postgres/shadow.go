package postgres

import (
	"context"
	"fmt"
	"strings"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/task"
)

// The suffixes of the tables beside the one that is written anew, and of what
// belongs to them.
const (
	shadowSuffix = "__gw_new"
	oldSuffix    = "__gw_old"
)

// deparsed is the search_path under which the server writes definitions, and
// so reads them again: everything else is named with its schema.
const deparsed = "SET LOCAL search_path = pg_catalog"

// besideName names a thing of the shadow, or of the old table, as long as the
// one in use has the name itself.
func besideName(name, suffix string) string {
	return Beside(engine.Name{Table: name}, suffix).Table
}

// Stand looks which of the tables there are.
func (s *Server) Stand(ctx context.Context, r *engine.Reshaping) (engine.Stand, error) {
	return stand(ctx, s.on, r)
}

func stand(ctx context.Context, on executor, r *engine.Reshaping) (engine.Stand, error) {
	var table, shadow, old bool
	err := on.QueryRow(ctx, `SELECT coalesce(bool_or(relname = $2), false), coalesce(bool_or(relname = $3), false), coalesce(bool_or(relname = $4), false)
		FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND relkind IN ('r', 'p')`,
		r.Table.Name.Schema, r.Table.Name.Table, r.Shadow.Table, r.Old.Table).Scan(&table, &shadow, &old)
	if err != nil {
		return "", fmt.Errorf("look which tables there are beside %s: %w", r.Table.Name, err)
	}
	switch {
	case !table:
		return "", fault.About(r.Table.Name.String(), task.Human, "there is no table %s any more", r.Table.Name)
	case shadow && old:
		return "", fault.About(r.Table.Name.String(), task.Human, "both %s and %s are there: one of them was made, or renamed, by somebody else; look which is which, and drop it", r.Shadow, r.Old)
	case shadow:
		return engine.StandBeside, nil
	case old:
		return engine.StandSwapped, nil
	}
	return engine.StandAlone, nil
}

// patient is the server with the waits for locks of what others wait behind.
func (s *Server) patient() *Server {
	return &Server{statements: s.statements, pool: s.pool, lockWaits: captureWaits}
}

// CreateShadow makes the shadow, empty, in one transaction.
func (s *Server) CreateShadow(ctx context.Context, r *engine.Reshaping) error {
	return s.patient().ensure(ctx, change{what: "the new table " + r.Shadow.String(), table: r.Table.Name, missing: func(ctx context.Context) ([]string, error) {
		exists, err := s.TableExists(ctx, r.Shadow)
		if err != nil || exists {
			return nil, err
		}
		return append([]string{deparsed}, r.Create...), nil
	}})
}

// DropBeside drops one of the tables beside the one in use. What was half made
// of it is gone with the transaction that made it.
func (s *Server) DropBeside(ctx context.Context, r *engine.Reshaping, name engine.Name) error {
	if name != r.Shadow && name != r.Old {
		return fault.About(name.String(), task.Internal, "%s is not beside %s", name, r.Table.Name)
	}
	return s.patient().EnsureDropped(ctx, name)
}

// CopyTerms are none: commits wait for nothing that others write.
func (s *Server) CopyTerms(context.Context, *engine.Table) (engine.CopyTerms, error) {
	return engine.CopyTerms{}, nil
}

// FreshenShadow makes the server look at the shadow's rows, and note which pages
// all can see, so that indexes alone answer from the first moment on.
func (s *Server) FreshenShadow(ctx context.Context, r *engine.Reshaping) error {
	if _, err := s.on.Exec(ctx, "VACUUM (ANALYZE, SKIP_LOCKED) "+QuoteName(r.Shadow)); err != nil {
		return fmt.Errorf("vacuum and analyze %s: %w", r.Shadow, err)
	}
	return nil
}

// Settle checks the foreign keys that the swap has added for the rows that were
// there, and may be done again.
func (s *Server) Settle(ctx context.Context, r *engine.Reshaping, back bool) error {
	statements := r.Settle
	if back {
		statements = r.SettleBack
	}
	for _, statement := range statements {
		c := change{what: strings.TrimSpace(engine.ShortStatement(statement)), table: r.Table.Name}
		if err := s.patient().once(ctx, c, []string{statement}); err != nil {
			return err
		}
	}
	return nil
}
