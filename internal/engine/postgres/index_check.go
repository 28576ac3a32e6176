package postgres

import (
	"context"
	"fmt"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/task"
)

// The errors of amcheck for an index that is not sound in itself, and for one that
// is not what its table has.
const indexCorrupted, dataCorrupted = "XX002", "XX001"

// CheckIndex makes sure that an index is there, valid and as it has to be. Where
// amcheck is installed, deep also asks whether every row has its entry.
func (s *Server) CheckIndex(ctx context.Context, w *engine.IndexWork, deep bool) (checked string, err error) {
	wrong := func(format string, args ...any) error {
		return fault.About(w.Table.String(), task.Mismatch, "index %s %s", w.Name(), fmt.Sprintf(format, args...))
	}
	var valid bool
	err = s.on.QueryRow(ctx, `SELECT x.indisvalid AND x.indisready AND x.indislive FROM pg_index x WHERE x.indexrelid = to_regclass($1) AND x.indrelid = to_regclass($2)`,
		QuoteName(w.Name()), QuoteName(w.Table)).Scan(&valid)
	switch {
	case noRows(err):
		return "", wrong("is not there")
	case err != nil:
		return "", err
	case !valid:
		return "", wrong("is not valid")
	}
	shape, err := s.indexShape(ctx, w.Name())
	if err != nil {
		return "", err
	}
	if shape != w.Shape {
		return "", wrong("is %s, and should be %s", shape, w.Shape)
	}
	left, err := s.leftovers(ctx, w)
	if err != nil {
		return "", err
	}
	if len(left) > 0 {
		return "", wrong("has been built, but %s is left", left[0])
	}
	if !deep || w.Method != "btree" {
		return "valid", nil
	}
	schema, err := s.extension(ctx, "amcheck", "bt_index_check(regclass,boolean)")
	if err != nil || schema == "" {
		return "valid", err
	}
	_, err = s.on.Exec(ctx, "SELECT "+Quote(schema)+".bt_index_check($1::text::regclass, true)", QuoteName(w.Name()))
	if state := sqlState(err); state == indexCorrupted || state == dataCorrupted {
		return "", wrong("is not sound: %v", err)
	}
	return "valid, and sound by amcheck", err
}
