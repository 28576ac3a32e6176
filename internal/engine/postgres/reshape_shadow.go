package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/task"
)

// cloneShape is what the shadow is made of, as the clone is after the ALTER and
// as the server itself writes it.
type cloneShape struct {
	columns   []shapeColumn
	checks    []shapeCheck
	indexes   []shapeIndex
	sequences []shapeSequence
	options   string // the table's, as WITH has them
}

// shapeColumn is a column. Settings are actions of an ALTER TABLE.
type shapeColumn struct {
	name, definition string
	identity         string // ALWAYS or BY DEFAULT; empty for none
	settings         []string
	comment          *string
}

type shapeCheck struct {
	name, definition string
	valid            bool
}

// shapeIndex is an index, or the constraint that it is of.
type shapeIndex struct {
	name             string
	unique           bool
	body             string  // what follows the table's name
	kind             *string // of its constraint: p, u or x
	constraint       *string
	deferred         string // DEFERRABLE …, of a constraint
	comment, keyText *string
}

// shapeSequence feeds a column of the clone, and is its own.
type shapeSequence struct{ name, column, options string }

// shape reads the clone in all detail.
func (c *clone) shape(ctx context.Context) (*cloneShape, error) {
	sh := &cloneShape{}
	path, err := ask[string](ctx, c.tx, "SELECT current_setting('search_path')")
	if err != nil {
		return nil, err
	}
	if _, err := c.tx.Exec(ctx, deparsed); err != nil {
		return nil, err
	}
	for _, read := range []func(context.Context, *cloneShape) error{c.readColumns, c.readChecks, c.readIndexes, c.readSequences} {
		if err := read(ctx, sh); err != nil {
			return nil, fmt.Errorf("read what the ALTER makes of %s: %w", c.of, err)
		}
	}
	_, err = c.tx.Exec(ctx, "SELECT set_config('search_path', $1, true)", path)
	return sh, err
}

func (c *clone) readColumns(ctx context.Context, sh *cloneShape) error {
	rows, err := c.tx.Query(ctx, `SELECT a.attname, format_type(a.atttypid, a.atttypmod)
			|| CASE WHEN a.attcollation <> t.typcollation THEN ' COLLATE ' || (SELECT quote_ident(n.nspname) || '.' || quote_ident(o.collname) FROM pg_collation o JOIN pg_namespace n ON n.oid = o.collnamespace WHERE o.oid = a.attcollation) ELSE '' END
			|| CASE WHEN a.attgenerated = 's' THEN ' GENERATED ALWAYS AS (' || pg_get_expr(d.adbin, d.adrelid) || ') STORED'
				WHEN d.oid IS NOT NULL AND NOT EXISTS (SELECT FROM pg_depend u JOIN pg_class q ON u.refclassid = 'pg_class'::regclass AND u.refobjid = q.oid AND q.relkind = 'S'
					WHERE u.classid = 'pg_attrdef'::regclass AND u.objid = d.oid AND q.relnamespace = pg_my_temp_schema()) THEN ' DEFAULT ' || pg_get_expr(d.adbin, d.adrelid) ELSE '' END
			|| CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END,
			CASE a.attidentity WHEN 'a' THEN 'ALWAYS' WHEN 'd' THEN 'BY DEFAULT' ELSE '' END,
			array_remove(ARRAY[
				CASE WHEN a.attstorage <> t.typstorage THEN 'SET STORAGE ' || CASE a.attstorage WHEN 'p' THEN 'PLAIN' WHEN 'e' THEN 'EXTERNAL' WHEN 'm' THEN 'MAIN' ELSE 'EXTENDED' END END,
				CASE a.attcompression WHEN 'p' THEN 'SET COMPRESSION pglz' WHEN 'l' THEN 'SET COMPRESSION lz4' END,
				CASE WHEN a.attstattarget >= 0 THEN 'SET STATISTICS ' || a.attstattarget END,
				(SELECT 'SET (' || string_agg(option, ', ') || ')' FROM unnest(a.attoptions) option WHERE option LIKE 'n\_distinct%')], NULL), -- others are the server's own
			col_description(a.attrelid, a.attnum)
		FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
		WHERE a.attrelid = $1 AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`, c.oid)
	if err != nil {
		return err
	}
	sh.columns, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (col shapeColumn, err error) {
		err = row.Scan(&col.name, &col.definition, &col.identity, &col.settings, &col.comment)
		return col, err
	})
	if err != nil {
		return err
	}
	options, err := ask[*string](ctx, c.tx, `SELECT array_to_string(c.reloptions || ARRAY(SELECT 'toast.' || o FROM pg_class t, unnest(t.reloptions) o WHERE t.oid = c.reltoastrelid), ', ') FROM pg_class c WHERE c.oid = $1`, c.oid)
	if options != nil {
		sh.options = *options
	}
	return err
}

func (c *clone) readChecks(ctx context.Context, sh *cloneShape) error {
	rows, err := c.tx.Query(ctx, `SELECT conname, pg_get_constraintdef(oid), convalidated FROM pg_constraint WHERE conrelid = $1 AND contype = 'c' ORDER BY conname COLLATE "C"`, c.oid)
	if err != nil {
		return err
	}
	sh.checks, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (k shapeCheck, err error) {
		err = row.Scan(&k.name, &k.definition, &k.valid)
		return k, err
	})
	return err
}

func (c *clone) readIndexes(ctx context.Context, sh *cloneShape) error {
	rows, err := c.tx.Query(ctx, `SELECT i.relname, x.indisunique, pg_get_indexdef(i.oid), 'CREATE ' || CASE WHEN x.indisunique THEN 'UNIQUE ' ELSE '' END || 'INDEX ' || quote_ident(i.relname) || ' ON ',
			k.contype::text, pg_get_constraintdef(k.oid), CASE WHEN k.condeferrable THEN ' DEFERRABLE' || CASE WHEN k.condeferred THEN ' INITIALLY DEFERRED' ELSE '' END ELSE '' END,
			obj_description(i.oid, 'pg_class'), obj_description(k.oid, 'pg_constraint')
		FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid LEFT JOIN pg_constraint k ON k.conindid = x.indexrelid AND k.conrelid = x.indrelid AND k.contype IN ('p', 'u', 'x')
		WHERE x.indrelid = $1 AND x.indisvalid ORDER BY x.indisprimary DESC, i.relname COLLATE "C"`, c.oid)
	if err != nil {
		return err
	}
	sh.indexes, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (x shapeIndex, err error) {
		var whole, head string
		if err = row.Scan(&x.name, &x.unique, &whole, &head, &x.kind, &x.constraint, &x.deferred, &x.comment, &x.keyText); err != nil {
			return x, err
		}
		rest, found := strings.CutPrefix(whole, head)
		_, body, cut := strings.Cut(rest, " USING ")
		if !found || !cut {
			return x, fault.About(c.of.String(), task.Internal, "the server writes index %s as %q", x.name, whole)
		}
		x.body = " USING " + body
		return x, nil
	})
	return err
}

func (c *clone) readSequences(ctx context.Context, sh *cloneShape) error {
	rows, err := c.tx.Query(ctx, `SELECT q.relname, a.attname, format('AS %s INCREMENT BY %s MINVALUE %s MAXVALUE %s START WITH %s CACHE %s %s', format_type(s.seqtypid, NULL), s.seqincrement, s.seqmin, s.seqmax, s.seqstart, s.seqcache,
			CASE WHEN s.seqcycle THEN 'CYCLE' ELSE 'NO CYCLE' END)
		FROM pg_depend d JOIN pg_class q ON q.oid = d.objid AND q.relkind = 'S' JOIN pg_sequence s ON s.seqrelid = q.oid JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
		WHERE d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass AND d.refobjid = $1 AND d.deptype IN ('a', 'i') ORDER BY a.attnum`, c.oid)
	if err != nil {
		return err
	}
	sh.sequences, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (q shapeSequence, err error) {
		err = row.Scan(&q.name, &q.column, &q.options)
		return q, err
	})
	return err
}

// sequence is the sequence of a column's own; nil where there is none.
func (sh *cloneShape) sequence(column string) *shapeSequence {
	for i := range sh.sequences {
		if sh.sequences[i].column == column {
			return &sh.sequences[i]
		}
	}
	return nil
}

// create writes the statements that make the shadow, without its indexes.
func (p *reshapePlan) create() []string {
	shadow, h := QuoteName(p.out.Shadow), p.hangs
	var before, lines, after []string
	for _, col := range p.made.columns {
		line := Quote(col.name) + " " + col.definition
		if q := p.made.sequence(col.name); q != nil {
			name := QuoteName(p.sequenceBeside(q))
			if col.identity != "" {
				_, options, _ := strings.Cut(q.options, "INCREMENT") // its type is the column's
				line += " GENERATED " + col.identity + " AS IDENTITY (SEQUENCE NAME " + name + " INCREMENT" + options + ")"
			} else {
				before = append(before, "CREATE SEQUENCE "+name+" "+q.options)
				line += " DEFAULT nextval(" + QuoteLiteral(name) + "::regclass)"
				after = append(after, "ALTER SEQUENCE "+name+" OWNED BY "+shadow+"."+Quote(col.name))
			}
		}
		lines = append(lines, line)
		for _, setting := range col.settings {
			after = append(after, "ALTER TABLE "+shadow+" ALTER COLUMN "+Quote(col.name)+" "+setting)
		}
		if col.comment != nil {
			after = append(after, "COMMENT ON COLUMN "+shadow+"."+Quote(col.name)+" IS "+QuoteLiteral(*col.comment))
		}
	}
	for _, k := range p.made.checks {
		if !p.notValid(k) {
			lines = append(lines, "CONSTRAINT "+Quote(k.name)+" "+k.definition)
		}
	}
	text := "CREATE " + h.unlogged + "TABLE " + shadow + " (" + strings.Join(lines, ", ") + ")" + h.method
	if p.made.options != "" {
		text += " WITH (" + p.made.options + ")"
	}
	if h.tablespace != nil {
		text += " TABLESPACE " + Quote(*h.tablespace)
	}
	list := slices.Concat(before, []string{text}, after)
	for _, statement := range h.shadowed {
		list = append(list, strings.ReplaceAll(statement, tableMark, shadow))
	}
	return append(list, p.grants()...)
}

// notValid reports whether a check is not valid for all rows: then it would be
// in the way of copying them.
func (p *reshapePlan) notValid(k shapeCheck) bool {
	return !k.valid || slices.Contains(p.hangs.notValid, k.name) && !slices.Contains(p.valid, k.name)
}

// sequenceBeside names the shadow's sequence as long as the old one has its name.
func (p *reshapePlan) sequenceBeside(q *shapeSequence) engine.Name {
	return engine.Name{Schema: p.table.Name.Schema, Table: besideName(p.sequenceName(q), shadowSuffix)}
}

// sequenceName is what the shadow's sequence will be called: as the one that
// feeds the column now, or as the server would call it.
func (p *reshapePlan) sequenceName(q *shapeSequence) string {
	if old := p.hangs.sequence(p.from[q.column]); old != nil {
		return old.name
	}
	return UniqueName(q.name, func(name string) bool { return p.hangs.taken[name] })
}

// build writes the statements that build an index or key of the shadow.
func (p *reshapePlan) build(x shapeIndex) engine.Build {
	name, shadow := Quote(besideName(x.name, shadowSuffix)), QuoteName(p.out.Shadow)
	text := ""
	if space := p.hangs.indexSpaces[x.name]; space != "" {
		text = "SET LOCAL default_tablespace = " + QuoteLiteral(space) + "; "
	}
	if x.kind != nil && *x.kind == "x" {
		return engine.Build{Name: x.name, SQL: text + "ALTER TABLE " + shadow + " ADD CONSTRAINT " + name + " " + *x.constraint}
	}
	text += "CREATE "
	if x.unique {
		text += "UNIQUE "
	}
	text += "INDEX " + name + " ON " + shadow + x.body
	if x.kind != nil && x.deferred == "" {
		text += "; ALTER TABLE " + shadow + " ADD CONSTRAINT " + name + " " + constraintWords[*x.kind] + " USING INDEX " + name
	}
	if slices.ContainsFunc(p.hangs.indexes, func(old oldIndex) bool { return old.name == x.name && old.identity }) {
		text += "; ALTER TABLE " + shadow + " REPLICA IDENTITY USING INDEX " + name // where all tables are published, rows could not be removed without it
	}
	return engine.Build{Name: x.name, SQL: text}
}

var constraintWords = map[string]string{"p": "PRIMARY KEY", "u": "UNIQUE"}

// indexes divides the indexes into those that are there from the beginning and
// those that are built when the rows are there.
func (p *reshapePlan) indexes() (first []string) {
	key := p.out.Forward.KeyTable().KeyName
	keys := func(x shapeIndex) bool { return x.unique || x.name == key || x.kind != nil }
	unique := 0
	for _, x := range p.made.indexes {
		if keys(x) && x.name != key {
			unique++
		}
	}
	p.out.Keyless = !p.want.Inline && unique == 0 && p.table.Bytes < keylessBytes
	for _, x := range p.made.indexes {
		b := p.build(x)
		switch excludes := x.kind != nil && *x.kind == "x"; {
		case p.want.Inline, keys(x) && !excludes && !p.out.Keyless:
			first = append(first, b.SQL)
		default:
			b.Key = x.name == key
			p.out.Builds = append(p.out.Builds, b)
		}
	}
	slices.SortStableFunc(p.out.Builds, func(a, b engine.Build) int {
		switch {
		case a.Key == b.Key:
			return 0
		case a.Key:
			return -1
		}
		return 1
	})
	return first
}
