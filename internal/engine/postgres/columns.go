package postgres

import (
	"context"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5"

	"godwit/internal/engine"
)

// columns reads the columns of a table, in order.
func columns(ctx context.Context, on executor, oid uint32) ([]engine.Column, error) {
	rows, err := on.Query(ctx, `SELECT a.attname, format_type(a.atttypid, a.atttypmod), t.typname, a.atttypmod,
			NOT (a.attnotnull OR t.typnotnull), pg_get_expr(d.adbin, d.adrelid), a.attgenerated::text,
			a.attidentity <> '' OR EXISTS (
				SELECT FROM pg_depend o WHERE o.refclassid = 'pg_class'::regclass AND o.refobjid = a.attrelid AND o.refobjsubid = a.attnum AND o.deptype = 'a'
					AND o.classid = 'pg_class'::regclass AND EXISTS (
						SELECT FROM pg_depend u WHERE u.classid = 'pg_attrdef'::regclass AND u.objid = d.oid
							AND u.refclassid = 'pg_class'::regclass AND u.refobjid = o.objid)),
			CASE WHEN a.attcollation <> t.typcollation THEN quote_ident(cn.nspname) || '.' || quote_ident(co.collname) ELSE '' END,
			ARRAY(SELECT e.enumlabel::text FROM pg_enum e WHERE e.enumtypid = a.atttypid ORDER BY e.enumsortorder),
			coalesce(col_description(a.attrelid, a.attnum), '')
		FROM pg_attribute a
		JOIN pg_type t ON t.oid = a.atttypid
		LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
		LEFT JOIN pg_collation co ON co.oid = a.attcollation
		LEFT JOIN pg_namespace cn ON cn.oid = co.collnamespace
		WHERE a.attrelid = $1 AND a.attnum > 0 AND NOT a.attisdropped
		ORDER BY a.attnum`, oid)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (engine.Column, error) {
		var c engine.Column
		var modifier int32
		var expression *string
		var generated string
		err := row.Scan(&c.Name, &c.Type.Full, &c.Type.Base, &modifier, &c.Nullable, &expression, &generated,
			&c.Identity, &c.Type.Collation, &c.Type.Values, &c.Comment)
		if err != nil {
			return c, err
		}
		modify(&c.Type, modifier)
		if len(c.Type.Values) == 0 {
			c.Type.Values = nil
		}
		switch {
		case expression == nil || c.Identity: // a serial's default is its identity
		case generated != "":
			c.Generated, c.Stored = *expression, generated == "s"
		default:
			c.Default = columnDefault(*expression)
		}
		return c, nil
	})
}

// modify reads a type modifier, which is -1 for none. What it means depends on
// the type; that of an array is its elements'.
func modify(t *engine.Type, modifier int32) {
	const header = 4 // what the modifiers of types of variable length are offset by
	t.Fraction = -1
	switch t.Base {
	case "varchar", "bpchar":
		if modifier >= header {
			t.Length = int64(modifier - header)
		}
	case "bit", "varbit":
		if modifier > 0 {
			t.Length = int64(modifier)
		}
	case "numeric":
		if modifier >= header {
			t.Precision = int(modifier-header) >> 16
			t.Scale = int(((modifier-header)&0x7ff)^0x400) - 0x400 // 11 bits with a sign
		}
	case "time", "timetz", "timestamp", "timestamptz":
		t.Fraction = 6
		if modifier >= 0 {
			t.Fraction = int(modifier)
		}
	case "interval":
		t.Fraction = 6
		if fraction := modifier & 0xffff; modifier >= 0 && fraction != 0xffff {
			t.Fraction = int(fraction)
		}
	}
}

// literalDefault matches the defaults that are one literal: the server writes
// 'eu'::character varying, 0, '-1'::integer, true.
var literalDefault = regexp.MustCompile(`^(?:'((?:[^']|'')*)'(?:::[\pL\pN_ ."]+(?:\([0-9,-]+\))?(?:\[\])*)?|(-?[0-9]+(?:\.[0-9]+)?|true|false))$`)

func columnDefault(expression string) *engine.Default {
	m := literalDefault.FindStringSubmatch(expression)
	switch {
	case m == nil:
		return &engine.Default{Text: expression, Expression: true}
	case m[2] != "":
		return &engine.Default{Text: m[2]}
	}
	return &engine.Default{Text: strings.ReplaceAll(m[1], "''", "'")}
}
