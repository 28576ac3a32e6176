package mysql

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/task"
)

// LookIndex finds out by the catalog how far a work has come. An index that a
// statement builds is there as a whole or not at all.
func (s *Server) LookIndex(ctx context.Context, w *engine.IndexWork, begun int, mark string) (engine.IndexStand, error) {
	var stand engine.IndexStand
	names, err := s.indexNames(ctx, w.Table)
	if err != nil {
		return stand, err
	}
	there, beside, former := slices.Contains(names, w.Index), slices.Contains(names, besideIndex(w.Index)), slices.Contains(names, formerIndex(w.Index))
	switch {
	case w.Action == engine.DropIndex && !there:
		stand.Done = 1
	case w.Action == engine.CreateIndex && there && begun == 0:
		return stand, fault.About(w.Table.String(), task.Config, "somebody has made an index %s of %s meanwhile", w.Index, w.Table)
	case w.Action == engine.CreateIndex && there:
		stand.Done = 1
	case w.Action == engine.RebuildIndex && begun > 0 && beside:
		stand.Done = 1
	case w.Action == engine.RebuildIndex && !there:
		return stand, fault.About(w.Table.String(), task.Config, "index %s of %s is no longer there: somebody has dropped it", w.Index, w.Table)
	case w.Action == engine.RebuildIndex && w.Index == primaryName:
		err := s.db.QueryRowContext(ctx, "SELECT COALESCE(CREATE_TIME, '') FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?", w.Table.Schema, w.Table.Table).Scan(&stand.Mark)
		if err == nil && begun > 0 && stand.Mark != mark {
			stand.Done = 1
		}
		return stand, err
	case w.Action == engine.RebuildIndex && begun > 0 && former:
		stand.Done = 2
	case w.Action == engine.RebuildIndex && begun == len(w.Steps):
		stand.Done = len(w.Steps)
	}
	return stand, nil
}

// indexNames are the names of a table's indexes.
func (s *Server) indexNames(ctx context.Context, table engine.Name) (names []string, err error) {
	err = collect(ctx, s.db, func(rows *sql.Rows) error {
		names = append(names, "")
		return rows.Scan(&names[len(names)-1])
	}, "SELECT DISTINCT INDEX_NAME FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?", table.Schema, table.Table)
	return names, err
}

// TryIndexLock takes the lock by which one index of a table is built at a time.
func (s *Server) TryIndexLock(ctx context.Context, session engine.Querier, table engine.Name) (bool, error) {
	key, err := s.lockKey(ctx, "index of "+table.String())
	if err != nil {
		return false, err
	}
	rows, err := session.Query(ctx, "SELECT GET_LOCK(?, 0)", key)
	if err != nil {
		return false, err
	}
	defer rows.Close() //nolint:errcheck // Err tells
	var taken sql.NullInt64
	if rows.Next() {
		err = rows.Scan(&taken)
	}
	return taken.Int64 == 1, errors.Join(err, rows.Close())
}

// Builders are none that have to be looked for: the server lets one statement
// build at a time, and shows nothing of an index that is not complete.
func (s *Server) Builders(context.Context, string, engine.Name) ([]engine.Blocker, error) {
	return nil, nil
}

// SweepIndex removes the index that a rebuild has left beside the one of its
// name, unless it is a step of the work that is under way.
func (s *Server) SweepIndex(ctx context.Context, session engine.Querier, w *engine.IndexWork, begun int) (removed []string, err error) {
	if w.Action != engine.RebuildIndex || begun > 0 {
		return nil, nil
	}
	names, err := s.indexNames(ctx, w.Table)
	if err != nil {
		return nil, err
	}
	alter, statements := "ALTER TABLE "+QuoteName(w.Table)+" ", s.Impatient(shortLock, shortLock)
	if former := formerIndex(w.Index); !slices.Contains(names, w.Index) && slices.Contains(names, former) {
		statements = append(statements, alter+"RENAME INDEX "+Quote(former)+" TO "+Quote(w.Index)+besideWriters)
		names = slices.DeleteFunc(names, func(n string) bool { return n == former })
	}
	for _, name := range []string{besideIndex(w.Index), formerIndex(w.Index)} {
		if slices.Contains(names, name) {
			statements, removed = append(statements, alter+"DROP INDEX "+Quote(name)+besideWriters), append(removed, name)
		}
	}
	for _, statement := range statements {
		if _, err := session.Exec(ctx, statement); err != nil {
			return nil, err
		}
	}
	return removed, nil
}

// shortLock is how many seconds a short statement waits for the table's lock.
const shortLock = 3

// UndoIndex writes the statement that takes a work back.
func (s *Server) UndoIndex(ctx context.Context, w *engine.IndexWork) (string, error) {
	names, err := s.indexNames(ctx, w.Table)
	if err != nil {
		return "", err
	}
	switch there := slices.Contains(names, w.Index); {
	case w.Action == engine.CreateIndex && there:
		return "ALTER TABLE " + QuoteName(w.Table) + " DROP INDEX " + Quote(w.Index) + besideWriters, nil
	case w.Action == engine.DropIndex && !there:
		return w.Definition, nil
	case w.Action == engine.CreateIndex:
		return "", s.tableStays(ctx, w.Table)
	}
	return "", nil
}

// tableStays refuses to call an index taken back that has gone with its table.
func (s *Server) tableStays(ctx context.Context, table engine.Name) error {
	there := false
	err := collect(ctx, s.db, func(*sql.Rows) error {
		there = true
		return nil
	}, "SELECT 1 FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?", table.Schema, table.Table)
	if err != nil || there {
		return err
	}
	return fault.About(table.String(), task.Human, "table %s is not there: somebody has dropped or renamed it; bring it back, then roll back again", table)
}

// CheckIndex makes sure that an index is there and as it has to be; deep lets the
// server check its table, with all indexes.
func (s *Server) CheckIndex(ctx context.Context, w *engine.IndexWork, deep bool) (checked string, err error) {
	t, err := s.Table(ctx, w.Table)
	if err != nil {
		return "", err
	}
	at := slices.IndexFunc(t.Indexes, func(i engine.Index) bool { return i.Name == w.Index })
	if at < 0 {
		return "", fault.About(w.Table.String(), task.Mismatch, "index %s of %s is not there", w.Index, w.Table)
	}
	if shape := indexShape(t.Indexes[at]); shape != w.Shape {
		return "", fault.About(w.Table.String(), task.Mismatch, "index %s of %s is %s, and should be %s", w.Index, w.Table, shape, w.Shape)
	}
	for _, name := range []string{besideIndex(w.Index), formerIndex(w.Index)} {
		if slices.ContainsFunc(t.Indexes, func(i engine.Index) bool { return i.Name == name }) {
			return "", fault.About(w.Table.String(), task.Mismatch, "index %s of %s has been built, but %s is left", w.Index, w.Table, name)
		}
	}
	if !deep {
		return "valid", nil
	}
	rows, err := s.records(ctx, "CHECK TABLE "+QuoteName(w.Table))
	if err != nil {
		return "", err
	}
	for _, row := range rows {
		if kind := strings.ToLower(row["Msg_type"]); kind == "error" || kind == "warning" || kind == "status" && row["Msg_text"] != "OK" {
			return "", fault.About(w.Table.String(), task.Mismatch, "CHECK TABLE %s: %s", w.Table, row["Msg_text"])
		}
	}
	return "valid", nil
}
