package postgres

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/zeebo/xxh3"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/task"
)

// LookIndex finds out by the catalog how far a work has come. A rebuilt index
// has another number than before; one that is made, and valid, is taken for
// this migration's own only when it has begun to make it.
func (s *Server) LookIndex(ctx context.Context, w *engine.IndexWork, begun int, mark string) (engine.IndexStand, error) {
	var oid string
	var valid, ours bool
	err := s.on.QueryRow(ctx, `SELECT c.oid::text, coalesce(x.indisvalid AND x.indisready AND x.indislive, false), coalesce(x.indrelid = to_regclass($3), false)
		FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace LEFT JOIN pg_index x ON x.indexrelid = c.oid WHERE n.nspname = $1 AND c.relname = $2`,
		w.Table.Schema, w.Index, QuoteName(w.Table)).Scan(&oid, &valid, &ours)
	if err != nil && !noRows(err) {
		return engine.IndexStand{}, err
	}
	there := err == nil
	stand := engine.IndexStand{Mark: oid}
	switch {
	case there && !ours:
		return stand, fault.About(w.Table.String(), task.Config, "the name %s belongs to something else than an index of %s by now", w.Name(), w.Table)
	case w.Action == engine.DropIndex && !there:
		stand.Done = 1
	case w.Action == engine.RebuildIndex && !there:
		return stand, fault.About(w.Table.String(), task.Config, "index %s is no longer there: somebody has dropped it", w.Name())
	case w.Action == engine.RebuildIndex && valid && begun > 0 && oid != mark:
		stand.Done = 1
	case w.Action == engine.CreateIndex && valid && begun == 0:
		return stand, fault.About(w.Table.String(), task.Config, "somebody has made an index %s meanwhile", w.Name())
	case w.Action == engine.CreateIndex && valid:
		stand.Done = 1
	}
	return stand, nil
}

// TryIndexLock takes the lock by which one index of a table is built at a time.
func (s *Server) TryIndexLock(ctx context.Context, session engine.Querier, table engine.Name) (bool, error) {
	rows, err := session.Query(ctx, "SELECT pg_try_advisory_lock($1)", int64(xxh3.HashString("godwit index of "+table.String())))
	if err != nil {
		return false, err
	}
	defer rows.Close() //nolint:errcheck // Err tells
	var taken bool
	if rows.Next() {
		err = rows.Scan(&taken)
	}
	return taken, errors.Join(err, rows.Close())
}

// Builders are sessions that build an index of a table just now. Everybody may
// see that a session builds one, and which tables it has locked.
func (s *Server) Builders(ctx context.Context, session string, table engine.Name) ([]engine.Blocker, error) {
	own, _, _ := strings.Cut(session, "@")
	rows, err := s.on.Query(ctx, `SELECT coalesce(`+sessionID+`, b.pid::text), coalesce(a.usename, ''), coalesce(extract(epoch FROM clock_timestamp() - a.query_start), -1)::float8,
			false, coalesce(a.query, ''), '', 'client backend', NULL::text
		FROM (SELECT DISTINCT l.pid FROM pg_locks l JOIN pg_stat_progress_create_index p ON p.pid = l.pid
			WHERE l.locktype = 'relation' AND l.granted AND l.database = p.datid AND l.relation = to_regclass($1)
				AND l.mode IN ('ShareUpdateExclusiveLock', 'ShareLock') AND l.pid::text <> $2) b
		LEFT JOIN pg_stat_activity a ON a.pid = b.pid`, QuoteName(table), own)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, scanBlocker)
}

// leftover is the end of a name that the server itself gives to an index while
// it rebuilds it.
var leftover = regexp.MustCompile(`_cc(new|old)[0-9]*$`)

// leftovers are what builds have left: invalid indexes of the table by the
// server's own names, and, of an index that is made, one by its name.
func (s *Server) leftovers(ctx context.Context, w *engine.IndexWork) ([]string, error) {
	rows, err := s.on.Query(ctx, `SELECT c.relname FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid
		WHERE x.indrelid = to_regclass($1) AND NOT (x.indisvalid AND x.indisready AND x.indislive) AND c.relkind = 'i' ORDER BY c.relname`, QuoteName(w.Table))
	if err != nil {
		return nil, err
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return slices.DeleteFunc(names, func(name string) bool {
		return !leftover.MatchString(name) && (w.Action == engine.RebuildIndex || name != w.Index)
	}), err
}

// SweepIndex removes what builds have left. A drop that was broken off leaves
// its index invalid as well.
func (s *Server) SweepIndex(ctx context.Context, session engine.Querier, w *engine.IndexWork, _ int) (removed []string, err error) {
	names, err := s.leftovers(ctx, w)
	if err != nil || len(names) == 0 {
		return nil, err
	}
	for _, setting := range patientSettings {
		if _, err := session.Exec(ctx, setting); err != nil {
			return nil, err
		}
	}
	for _, name := range names {
		if _, err := session.Exec(ctx, "DROP INDEX CONCURRENTLY IF EXISTS "+indexName(w.Table, name)); err != nil {
			return removed, err
		}
		removed = append(removed, name)
	}
	return removed, nil
}

// UndoIndex writes the statement that takes a work back.
func (s *Server) UndoIndex(ctx context.Context, w *engine.IndexWork) (string, error) {
	if w.Action == engine.RebuildIndex {
		return "", nil
	}
	found, err := findIndex(ctx, s.on, w.Table.Schema, w.Index)
	switch there := found != nil; {
	case err != nil:
		return "", err
	case there && found.table != w.Table.Table:
		return "", fault.About(w.Table.String(), task.Human, "the name %s belongs to something else by now", w.Name())
	case w.Action == engine.CreateIndex && there:
		return "DROP INDEX CONCURRENTLY " + QuoteName(w.Name()), nil
	case w.Action == engine.DropIndex && !there:
		return w.Definition, nil
	case !there:
		return "", s.tableStays(ctx, w.Table)
	}
	return "", nil
}

// tableStays refuses to call an index taken back that has gone with its table.
func (s *Server) tableStays(ctx context.Context, table engine.Name) error {
	var gone bool
	if err := s.on.QueryRow(ctx, "SELECT to_regclass($1) IS NULL", QuoteName(table)).Scan(&gone); err != nil || !gone {
		return err
	}
	return fault.About(table.String(), task.Human, "table %s is not there: somebody has dropped or renamed it; bring it back, then roll back again", table)
}
