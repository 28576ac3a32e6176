package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"godwit/internal/engine"
)

// constraints reads the foreign keys and checks of a table.
func constraints(ctx context.Context, on executor, oid uint32, t *engine.Table) error {
	rows, err := on.Query(ctx, foreignKeyColumns+` FROM pg_constraint k JOIN pg_class r ON r.oid = k.confrelid JOIN pg_namespace rn ON rn.oid = r.relnamespace
		WHERE k.conrelid = $1 AND k.contype = 'f' AND k.conparentid = 0 ORDER BY k.conname COLLATE "C"`, oid)
	if err != nil {
		return err
	}
	t.ForeignKeys, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (engine.ForeignKey, error) {
		fk, _, err := scanForeignKey(row)
		return fk, err
	})
	if err != nil {
		return err
	}
	rows, err = on.Query(ctx, `SELECT k.conname, pg_get_expr(k.conbin, k.conrelid) FROM pg_constraint k
		WHERE k.conrelid = $1 AND k.contype = 'c' ORDER BY k.conname COLLATE "C"`, oid)
	if err != nil {
		return err
	}
	t.Checks, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (engine.Check, error) {
		var c engine.Check
		err := row.Scan(&c.Name, &c.Expression)
		return c, err
	})
	return err
}

// foreignKeyColumns selects what scanForeignKey reads, of pg_constraint k and
// the referenced table's pg_class r and pg_namespace rn.
const foreignKeyColumns = `SELECT k.conname, rn.nspname, r.relname,
	ARRAY(SELECT a.attname::text FROM unnest(k.conkey) WITH ORDINALITY n (num, pos)
		JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = n.num ORDER BY n.pos),
	ARRAY(SELECT a.attname::text FROM unnest(k.confkey) WITH ORDINALITY n (num, pos)
		JOIN pg_attribute a ON a.attrelid = k.confrelid AND a.attnum = n.num ORDER BY n.pos),
	k.confdeltype::text, k.confupdtype::text, k.convalidated`

func scanForeignKey(row pgx.CollectableRow) (fk engine.ForeignKey, valid bool, err error) {
	var onDelete, onUpdate string
	err = row.Scan(&fk.Name, &fk.Ref.Schema, &fk.Ref.Table, &fk.Columns, &fk.RefColumns, &onDelete, &onUpdate, &valid)
	fk.OnDelete, fk.OnUpdate = actions[onDelete], actions[onUpdate]
	return fk, valid, err
}

// actions are the catalog's letters for what a foreign key does.
var actions = map[string]string{"a": "NO ACTION", "r": "RESTRICT", "c": "CASCADE", "n": "SET NULL", "d": "SET DEFAULT"}
