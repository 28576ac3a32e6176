package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"godwit/internal/engine"
)

// tableMark stands for the table's name in the statements of attachments.
const tableMark = "\x01"

// attachments are what hangs on a table besides its columns, and is not copied
// with them.
type attachments struct {
	// table is the definition of the table itself.
	table engine.Shape
	// refusals are what would be lost, and how it is kept from that.
	refusals []string
	// unlike makes of a clone what LIKE does not, and shadowed of the shadow.
	unlike, shadowed []string
	// once are statements about the new table that the old one needs no more of.
	once               []hanging
	unlogged, method   string
	tablespace         *string
	indexes            []oldIndex
	indexSpaces        map[string]string
	sequences          []oldSequence
	notValid           []string // checks
	outgoing, incoming []foreignKey
	triggers, views    []hanging
	publications       []hanging
	statistics         []oldStatistics
	acl                bool // somebody has been granted or revoked something
	owner              string
	tableGrants        []string
	columnGrants       []columnGrant
	constraintComments map[string]string
	taken              map[string]bool // names in the table's schema
	notes              []string
	defaultPrivileges  bool
}

// hanging is something that is made anew on the table that has the name. Tried
// is a form of it for the clone.
type hanging struct {
	name  string
	make  []string
	drop  string // on the other table; empty where it may stay there
	tried string
}

// oldIndex is an index of the table.
type oldIndex struct {
	name                string
	clustered, identity bool
	comment             *string
	tablespace          string
}

// oldSequence is a sequence that the table owns.
type oldSequence struct {
	name, column string
	identity     bool
	max          int64
	grants       []string
	comment      *string
	options      string
}

// oldStatistics are extended statistics.
type oldStatistics struct {
	name, kinds, columns string
	target               int
	comment              *string
}

// columnGrant is a privilege of one column.
type columnGrant struct{ column, privilege, grantee string }

// sequence is the sequence of a column; nil where there is none.
func (a *attachments) sequence(column string) *oldSequence {
	for i := range a.sequences {
		if a.sequences[i].column == column {
			return &a.sequences[i]
		}
	}
	return nil
}

// attached reads what hangs on a table.
func (s *Server) attached(ctx context.Context, name engine.Name) (*attachments, error) {
	oid, err := tableOID(ctx, s.on, name)
	if err != nil {
		return nil, err
	}
	a := &attachments{indexSpaces: map[string]string{}, constraintComments: map[string]string{}, taken: map[string]bool{}}
	err = pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		r := &attachReader{tx: tx, oid: oid, name: name, into: a}
		if _, err := tx.Exec(ctx, "SET LOCAL search_path = "+Quote(name.Schema)); err != nil {
			return err
		}
		if err := r.tried(ctx); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, deparsed); err != nil {
			return err
		}
		t, err := describeTable(ctx, tx, name)
		if err != nil {
			return err
		}
		a.table = engine.ShapeOf(t, true)
		for _, read := range []func(context.Context) error{r.refusals, r.table, r.columns, r.indexes, r.sequences, r.foreignKeys, r.triggers, r.views, r.policies, r.publications, r.statistics, r.grants, r.names} {
			if err := read(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look what hangs on %s: %w", name, err)
	}
	return a, nil
}

// attachReader reads the catalog under a search_path that makes the server
// write all names with their schemas.
type attachReader struct {
	tx    pgx.Tx
	oid   uint32
	name  engine.Name
	into  *attachments
	short map[string]string // views and triggers, with the table's name alone
}

// each reads the rows of a query whose $1 is the table.
func (r *attachReader) each(ctx context.Context, query string, into []any, f func() error) error {
	rows, err := r.tx.Query(ctx, query, r.oid)
	if err != nil {
		return err
	}
	_, err = pgx.ForEachRow(rows, into, f)
	return err
}

// tried reads what can be tried on a temporary table of the same name: the
// server writes it without the schema while that is in the search_path.
func (r *attachReader) tried(ctx context.Context) error {
	r.short = map[string]string{}
	var key, text string
	return r.each(ctx, `SELECT 'trigger ' || tgname, pg_get_triggerdef(oid, true) FROM pg_trigger WHERE tgrelid = $1 AND NOT tgisinternal
		UNION ALL SELECT DISTINCT 'view ' || r.ev_class, pg_get_viewdef(r.ev_class) FROM pg_depend d JOIN pg_rewrite r ON d.classid = 'pg_rewrite'::regclass AND r.oid = d.objid
			JOIN pg_class v ON v.oid = r.ev_class AND v.relkind = 'v' WHERE d.refclassid = 'pg_class'::regclass AND d.refobjid = $1`, []any{&key, &text}, func() error {
		r.short[key] = text
		return nil
	})
}

// refusals are what would be lost without a word: everything that depends on
// the table, its row type, its keys and its sequences, and is not known here.
func (r *attachReader) refusals(ctx context.Context) error {
	var thing string
	return r.each(ctx, `WITH subject (classid, objid) AS (
			SELECT 'pg_class'::regclass::oid, $1::oid
			UNION ALL SELECT 'pg_type'::regclass, t.oid FROM pg_type t WHERE t.typrelid = $1
			UNION ALL SELECT 'pg_type'::regclass, t.typarray FROM pg_type t WHERE t.typrelid = $1 AND t.typarray <> 0
			UNION ALL SELECT 'pg_class'::regclass, indexrelid FROM pg_index WHERE indrelid = $1
			UNION ALL SELECT 'pg_constraint'::regclass, oid FROM pg_constraint WHERE conrelid = $1
			UNION ALL SELECT d.classid, d.objid FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass AND d.refobjid = $1 AND d.refobjsubid > 0 AND d.deptype = 'i')
		SELECT regexp_replace(pg_describe_object(d.classid, d.objid, d.objsubid), '^rule "?_RETURN"? on ', '') FROM pg_depend d JOIN subject s ON d.refclassid = s.classid AND d.refobjid = s.objid
		WHERE NOT EXISTS (SELECT FROM subject o WHERE o.classid = d.classid AND o.objid = d.objid)
			AND NOT (d.classid = 'pg_class'::regclass AND EXISTS (SELECT FROM pg_class c WHERE c.oid = d.objid AND (c.relkind = 'S' AND d.deptype IN ('a', 'i') AND s.objid = $1 OR c.relkind = 't')))
			AND NOT (d.classid = 'pg_constraint'::regclass AND EXISTS (SELECT FROM pg_constraint k WHERE k.oid = d.objid AND (k.conrelid = $1 OR k.contype = 'f')))
			AND NOT (d.classid = 'pg_attrdef'::regclass AND EXISTS (SELECT FROM pg_attrdef f WHERE f.oid = d.objid AND f.adrelid = $1))
			AND NOT (d.classid = 'pg_trigger'::regclass AND EXISTS (SELECT FROM pg_trigger g WHERE g.oid = d.objid AND (g.tgrelid = $1 OR g.tgisinternal)))
			AND NOT (d.classid = 'pg_policy'::regclass AND EXISTS (SELECT FROM pg_policy p WHERE p.oid = d.objid AND p.polrelid = $1))
			AND NOT (d.classid = 'pg_publication_rel'::regclass AND EXISTS (SELECT FROM pg_publication_rel p WHERE p.oid = d.objid AND p.prrelid = $1))
			AND NOT (d.classid = 'pg_statistic_ext'::regclass AND EXISTS (SELECT FROM pg_statistic_ext x WHERE x.oid = d.objid AND x.stxrelid = $1))
			AND NOT (d.classid = 'pg_rewrite'::regclass AND EXISTS (SELECT FROM pg_rewrite w JOIN pg_class v ON v.oid = w.ev_class WHERE w.oid = d.objid AND v.relkind = 'v' AND w.rulename = '_RETURN'))
		UNION SELECT CASE WHEN c.relispartition THEN 'the partitioned table ' ELSE 'the inherited table ' END || i.inhparent::regclass FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhrelid = $1
		UNION SELECT 'the type ' || format_type(reloftype, NULL) || ' that it is of' FROM pg_class WHERE oid = $1 AND reloftype <> 0
		UNION SELECT 'its membership in the extension ' || e.extname FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid
			WHERE d.refclassid = 'pg_extension'::regclass AND d.classid = 'pg_class'::regclass AND d.objid = $1 AND d.deptype = 'e'
		UNION SELECT 'subscription ' || s.subname || ', which writes to it' FROM pg_subscription_rel x JOIN pg_subscription s ON s.oid = x.srsubid WHERE x.srrelid = $1
		UNION SELECT 'a security label of ' || provider FROM pg_seclabel WHERE classoid = 'pg_class'::regclass AND objoid = $1
		UNION SELECT 'foreign key ' || conname || ' of the partitioned table ' || conrelid::regclass FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid AND c.relkind = 'p'
			WHERE k.confrelid = $1 AND k.contype = 'f' AND k.conparentid = 0
		ORDER BY 1`, []any{&thing}, func() error {
		r.into.refusals = append(r.into.refusals, thing)
		return nil
	})
}

// table reads how the table is stored, and what is said of it.
func (r *attachReader) table(ctx context.Context) error {
	a := r.into
	var persistence, method, identity string
	var options, comment *string
	var secured, forced bool
	if err := r.tx.QueryRow(ctx, `SELECT c.relpersistence::text, am.amname, s.spcname, c.relreplident::text, c.relrowsecurity, c.relforcerowsecurity, obj_description(c.oid, 'pg_class'), pg_get_userbyid(c.relowner), c.relacl IS NOT NULL,
			array_to_string(c.reloptions || ARRAY(SELECT 'toast.' || o FROM pg_class t, unnest(t.reloptions) o WHERE t.oid = c.reltoastrelid), ', '), EXISTS (SELECT FROM pg_default_acl WHERE defaclobjtype = 'r')
		FROM pg_class c JOIN pg_am am ON am.oid = c.relam LEFT JOIN pg_tablespace s ON s.oid = c.reltablespace WHERE c.oid = $1`, r.oid).
		Scan(&persistence, &method, &a.tablespace, &identity, &secured, &forced, &comment, &a.owner, &a.acl, &options, &a.defaultPrivileges); err != nil {
		return err
	}
	if persistence == "u" {
		a.unlogged = "UNLOGGED "
	}
	if method != "heap" {
		a.method = " USING " + Quote(method)
	}
	if options != nil && *options != "" {
		a.unlike = append(a.unlike, "ALTER TABLE "+tableMark+" SET ("+*options+")")
	}
	if comment != nil {
		a.shadowed = append(a.shadowed, "COMMENT ON TABLE "+tableMark+" IS "+QuoteLiteral(*comment))
	}
	switch identity {
	case "f":
		a.shadowed = append(a.shadowed, "ALTER TABLE "+tableMark+" REPLICA IDENTITY FULL")
	case "n":
		a.shadowed = append(a.shadowed, "ALTER TABLE "+tableMark+" REPLICA IDENTITY NOTHING")
	}
	if secured {
		a.once = append(a.once, hanging{name: "row security", make: []string{"ALTER TABLE " + tableMark + " ENABLE ROW LEVEL SECURITY"}})
	}
	if forced {
		a.once = append(a.once, hanging{name: "row security", make: []string{"ALTER TABLE " + tableMark + " FORCE ROW LEVEL SECURITY"}})
	}
	return nil
}

// columns reads what LIKE does not copy, and which checks are not valid.
func (r *attachReader) columns(ctx context.Context) error {
	var column, setting string
	if err := r.each(ctx, `SELECT attname, 'SET STATISTICS ' || attstattarget FROM pg_attribute WHERE attrelid = $1 AND attnum > 0 AND NOT attisdropped AND attstattarget >= 0
		UNION ALL SELECT attname, 'SET (' || option || ')' FROM pg_attribute, unnest(attoptions) option WHERE attrelid = $1 AND attnum > 0 AND NOT attisdropped AND option LIKE 'n\_distinct%'`,
		[]any{&column, &setting}, func() error {
			r.into.unlike = append(r.into.unlike, "ALTER TABLE "+tableMark+" ALTER COLUMN "+Quote(column)+" "+setting)
			return nil
		}); err != nil {
		return err
	}
	var name string
	var valid bool
	var comment *string
	return r.each(ctx, `SELECT conname, convalidated OR contype <> 'c', obj_description(oid, 'pg_constraint') FROM pg_constraint WHERE conrelid = $1`, []any{&name, &valid, &comment}, func() error {
		if !valid {
			r.into.notValid = append(r.into.notValid, name)
		}
		if comment != nil {
			r.into.constraintComments[name] = *comment
		}
		return nil
	})
}

func (r *attachReader) indexes(ctx context.Context) error {
	var x oldIndex
	return r.each(ctx, `SELECT i.relname, x.indisclustered, x.indisreplident, obj_description(i.oid, 'pg_class'), coalesce(s.spcname, '') FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid
		LEFT JOIN pg_tablespace s ON s.oid = i.reltablespace WHERE x.indrelid = $1 ORDER BY i.relname COLLATE "C"`, []any{&x.name, &x.clustered, &x.identity, &x.comment, &x.tablespace}, func() error {
		r.into.indexes = append(r.into.indexes, x)
		r.into.indexSpaces[x.name] = x.tablespace
		if x.identity { // so that the server refuses what such an index cannot be
			r.into.unlike = append(r.into.unlike, "ALTER TABLE "+tableMark+" REPLICA IDENTITY USING INDEX "+Quote(x.name))
		}
		return nil
	})
}

func (r *attachReader) sequences(ctx context.Context) error {
	var q oldSequence
	return r.each(ctx, `SELECT q.relname, a.attname, d.deptype = 'i', s.seqmax, ARRAY(SELECT format('GRANT %s ON SEQUENCE '||E'\x01'||' TO %s', x.privilege_type, CASE WHEN x.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(x.grantee)) END
				|| CASE WHEN x.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END) FROM aclexplode(q.relacl) x WHERE x.grantee <> q.relowner), obj_description(q.oid, 'pg_class'),
			format('by %s from %s to %s, start %s, cache %s, cycle %s', s.seqincrement, s.seqmin, s.seqmax, s.seqstart, s.seqcache, s.seqcycle)
		FROM pg_depend d JOIN pg_class q ON q.oid = d.objid AND q.relkind = 'S' JOIN pg_sequence s ON s.seqrelid = q.oid JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
		WHERE d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass AND d.refobjid = $1 AND d.deptype IN ('a', 'i') ORDER BY a.attnum, q.relname`,
		[]any{&q.name, &q.column, &q.identity, &q.max, &q.grants, &q.comment, &q.options}, func() error {
			r.into.sequences = append(r.into.sequences, q)
			q.grants = nil
			return nil
		})
}

// names reads which names are taken in the table's schema.
func (r *attachReader) names(ctx context.Context) error {
	var name string
	return r.each(ctx, `SELECT relname FROM pg_class WHERE relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = $1)`, []any{&name}, func() error {
		r.into.taken[name] = true
		return nil
	})
}
