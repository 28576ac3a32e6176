package postgres

import (
	"context"
	"fmt"
	"strings"

	"godwit/internal/engine"
)

// foreignKey is a foreign key in all its parts.
type foreignKey struct {
	name       string
	table      engine.Name
	columns    []string
	ref        engine.Name
	refColumns []string
	match      string
	actions    string   // ON UPDATE and ON DELETE
	setColumns []string // of ON DELETE SET NULL or SET DEFAULT
	deferred   string
	valid      bool
	comment    *string
	body       string // as the user has written it; instead of all this
	may        bool   // the user may change or lock the other table
}

// definition writes the foreign key, with the names that its columns have.
func (k *foreignKey) definition(columns, refColumns []string, set []string) string {
	if k.body != "" {
		return k.body
	}
	text := "FOREIGN KEY (" + quoteList(columns) + ") REFERENCES " + QuoteName(k.ref) + " (" + quoteList(refColumns) + ")" + k.match + k.actions
	if len(set) > 0 {
		text += " (" + quoteList(set) + ")"
	}
	return text + k.deferred
}

func (r *attachReader) foreignKeys(ctx context.Context) error {
	var k foreignKey
	var out bool
	names := func(numbers, relation string) string {
		return "ARRAY(SELECT a.attname::text FROM unnest(k." + numbers + ") WITH ORDINALITY n (num, pos) JOIN pg_attribute a ON a.attrelid = k." + relation + " AND a.attnum = n.num ORDER BY n.pos)"
	}
	action := func(column string) string {
		return "CASE k." + column + " WHEN 'r' THEN 'RESTRICT' WHEN 'c' THEN 'CASCADE' WHEN 'n' THEN 'SET NULL' WHEN 'd' THEN 'SET DEFAULT' ELSE 'NO ACTION' END"
	}
	return r.each(ctx, `SELECT k.conrelid = $1, k.conname, cn.nspname, c.relname, `+names("conkey", "conrelid")+`, rn.nspname, f.relname, `+names("confkey", "confrelid")+`,
			CASE k.confmatchtype WHEN 'f' THEN ' MATCH FULL' ELSE '' END, ' ON UPDATE ' || `+action("confupdtype")+` || ' ON DELETE ' || `+action("confdeltype")+`, `+names("confdelsetcols", "conrelid")+`,
			CASE WHEN k.condeferrable THEN ' DEFERRABLE' || CASE WHEN k.condeferred THEN ' INITIALLY DEFERRED' ELSE '' END ELSE '' END, k.convalidated, obj_description(k.oid, 'pg_constraint'),
			CASE WHEN k.conrelid = $1 THEN has_table_privilege(k.confrelid, 'UPDATE, DELETE, TRUNCATE') AND has_table_privilege(k.confrelid, 'REFERENCES') ELSE pg_has_role(c.relowner, 'USAGE') END
		FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid JOIN pg_namespace cn ON cn.oid = c.relnamespace JOIN pg_class f ON f.oid = k.confrelid JOIN pg_namespace rn ON rn.oid = f.relnamespace
		WHERE k.contype = 'f' AND (k.conrelid = $1 OR k.confrelid = $1) AND k.conparentid = 0 ORDER BY k.conname COLLATE "C"`,
		[]any{&out, &k.name, &k.table.Schema, &k.table.Table, &k.columns, &k.ref.Schema, &k.ref.Table, &k.refColumns, &k.match, &k.actions, &k.setColumns, &k.deferred, &k.valid, &k.comment, &k.may}, func() error {
			if out {
				r.into.outgoing = append(r.into.outgoing, k)
			} else {
				r.into.incoming = append(r.into.incoming, k)
			}
			k = foreignKey{}
			return nil
		})
}

// triggers are those of the application.
func (r *attachReader) triggers(ctx context.Context) error {
	var name, definition, enabled string
	var comment *string
	return r.each(ctx, `SELECT tgname, pg_get_triggerdef(oid), CASE tgenabled WHEN 'D' THEN 'DISABLE' WHEN 'R' THEN 'ENABLE REPLICA' WHEN 'A' THEN 'ENABLE ALWAYS' ELSE '' END, obj_description(oid, 'pg_trigger')
		FROM pg_trigger WHERE tgrelid = $1 AND NOT tgisinternal AND tgname NOT IN ('`+rowTrigger+`', '`+movedTrigger+`', '`+emptyTrigger+`') ORDER BY tgname COLLATE "C"`,
		[]any{&name, &definition, &enabled, &comment}, func() error {
			h := hanging{name: "trigger " + name, make: []string{definition}, drop: "DROP TRIGGER " + Quote(name) + " ON " + tableMark, tried: r.short["trigger "+name]}
			table := QuoteName(r.name)
			if enabled != "" {
				h.make = append(h.make, "ALTER TABLE "+table+" "+enabled+" TRIGGER "+Quote(name))
			}
			if comment != nil {
				h.make = append(h.make, "COMMENT ON TRIGGER "+Quote(name)+" ON "+table+" IS "+QuoteLiteral(*comment))
			}
			r.into.triggers = append(r.into.triggers, h)
			return nil
		})
}

// views are those that read the table themselves.
func (r *attachReader) views(ctx context.Context) error {
	var oid uint32
	var name, definition string
	var options *string
	var may, temporary bool
	return r.each(ctx, `SELECT DISTINCT v.oid, quote_ident(n.nspname) || '.' || quote_ident(v.relname), pg_get_viewdef(v.oid), array_to_string(v.reloptions, ', '), pg_has_role(v.relowner, 'USAGE'), v.relpersistence = 't'
		FROM pg_depend d JOIN pg_rewrite r ON d.classid = 'pg_rewrite'::regclass AND r.oid = d.objid JOIN pg_class v ON v.oid = r.ev_class AND v.relkind = 'v' JOIN pg_namespace n ON n.oid = v.relnamespace
		WHERE d.refclassid = 'pg_class'::regclass AND d.refobjid = $1 ORDER BY 2`, []any{&oid, &name, &definition, &options, &may, &temporary}, func() error {
		text := "CREATE OR REPLACE VIEW " + name
		if options != nil {
			text += " WITH (" + *options + ")"
		}
		switch {
		case temporary:
			r.into.refusals = append(r.into.refusals, "the temporary view "+name+", which only its session can have anew")
		case !may:
			r.into.refusals = append(r.into.refusals, "view "+name+", whose owner this user is not")
		}
		key := fmt.Sprintf("view %d", oid)
		r.into.views = append(r.into.views, hanging{name: "view " + name, make: []string{text + " AS " + strings.TrimSuffix(definition, ";")}, tried: strings.TrimSuffix(r.short[key], ";")})
		return nil
	})
}

func (r *attachReader) policies(ctx context.Context) error {
	var name, text string
	var comment *string
	return r.each(ctx, `SELECT polname, format('CREATE POLICY %I ON ', polname) || E'\x01' || format(' AS %s FOR %s TO %s', CASE WHEN polpermissive THEN 'PERMISSIVE' ELSE 'RESTRICTIVE' END,
			CASE polcmd WHEN 'r' THEN 'SELECT' WHEN 'a' THEN 'INSERT' WHEN 'w' THEN 'UPDATE' WHEN 'd' THEN 'DELETE' ELSE 'ALL' END,
			(SELECT string_agg(CASE WHEN role = 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(role)) END, ', ') FROM unnest(polroles) role))
			|| coalesce(' USING (' || pg_get_expr(polqual, polrelid) || ')', '') || coalesce(' WITH CHECK (' || pg_get_expr(polwithcheck, polrelid) || ')', ''), obj_description(oid, 'pg_policy')
		FROM pg_policy WHERE polrelid = $1 ORDER BY polname COLLATE "C"`, []any{&name, &text, &comment}, func() error {
		h := hanging{name: "policy " + name, make: []string{text}, tried: text}
		if comment != nil {
			h.make = append(h.make, "COMMENT ON POLICY "+Quote(name)+" ON "+tableMark+" IS "+QuoteLiteral(*comment))
		}
		r.into.once = append(r.into.once, h)
		return nil
	})
}

// publications that name the table, and those that have it without naming it.
func (r *attachReader) publications(ctx context.Context) error {
	var name string
	var columns []string
	var condition *string
	var may bool
	if err := r.each(ctx, `SELECT p.pubname, ARRAY(SELECT a.attname::text FROM unnest(x.prattrs::int2[]) WITH ORDINALITY n (num, pos) JOIN pg_attribute a ON a.attrelid = x.prrelid AND a.attnum = n.num ORDER BY n.pos),
			pg_get_expr(x.prqual, x.prrelid), pg_has_role(p.pubowner, 'USAGE') FROM pg_publication_rel x JOIN pg_publication p ON p.oid = x.prpubid WHERE x.prrelid = $1 ORDER BY 1`, []any{&name, &columns, &condition, &may}, func() error {
		text := "ALTER PUBLICATION " + Quote(name) + " ADD TABLE " + tableMark
		tried := "SELECT " + quoteList(columns) + " FROM " + tableMark
		if len(columns) > 0 {
			text += " (" + quoteList(columns) + ")"
		}
		if condition != nil {
			text += " WHERE (" + *condition + ")"
			tried += " WHERE " + *condition
		}
		if !may {
			r.into.refusals = append(r.into.refusals, "publication "+name+", whose owner this user is not")
		}
		columns, condition = nil, nil
		r.into.publications = append(r.into.publications, hanging{name: "publication " + name, make: []string{text}, drop: "ALTER PUBLICATION " + Quote(name) + " DROP TABLE " + tableMark, tried: tried})
		r.into.notes = append(r.into.notes, "subscribers of publication "+name+" have to refresh it after the cut-over: ALTER SUBSCRIPTION … REFRESH PUBLICATION WITH (copy_data = false)")
		return nil
	}); err != nil {
		return err
	}
	return r.each(ctx, `SELECT pubname FROM pg_publication WHERE puballtables UNION SELECT p.pubname FROM pg_publication_namespace x JOIN pg_publication p ON p.oid = x.pnpubid WHERE x.pnnspid = (SELECT relnamespace FROM pg_class WHERE oid = $1)`, []any{&name}, func() error {
		r.into.notes = append(r.into.notes, "publication "+name+" has all tables, and so the new one from its first row on: its subscribers need such a table beforehand, or stop")
		return nil
	})
}

func (r *attachReader) statistics(ctx context.Context) error {
	var x oldStatistics
	var schema string
	return r.each(ctx, `SELECT n.nspname, x.stxname, coalesce((SELECT string_agg(CASE k WHEN 'd' THEN 'ndistinct' WHEN 'f' THEN 'dependencies' ELSE 'mcv' END, ', ') FROM unnest(x.stxkind) k WHERE k <> 'e'), ''),
			pg_get_statisticsobjdef_columns(x.oid), x.stxstattarget, obj_description(x.oid, 'pg_statistic_ext')
		FROM pg_statistic_ext x JOIN pg_namespace n ON n.oid = x.stxnamespace WHERE x.stxrelid = $1 ORDER BY 2`, []any{&schema, &x.name, &x.kinds, &x.columns, &x.target, &x.comment}, func() error {
		if schema != r.name.Schema {
			r.into.refusals = append(r.into.refusals, "statistics "+schema+"."+x.name+", which are in another schema")
			return nil
		}
		r.into.statistics = append(r.into.statistics, x)
		return nil
	})
}

// grants are the privileges of the table and of its columns.
func (r *attachReader) grants(ctx context.Context) error {
	var text string
	if err := r.each(ctx, `SELECT format('GRANT %s ON TABLE '||E'\x01'||' TO %s%s', x.privilege_type, CASE WHEN x.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(x.grantee)) END, CASE WHEN x.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END)
		FROM pg_class c, aclexplode(c.relacl) x WHERE c.oid = $1`, []any{&text}, func() error {
		r.into.tableGrants = append(r.into.tableGrants, text)
		return nil
	}); err != nil {
		return err
	}
	var g columnGrant
	return r.each(ctx, `SELECT a.attname, x.privilege_type, CASE WHEN x.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(x.grantee)) END || CASE WHEN x.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END
		FROM pg_attribute a, aclexplode(a.attacl) x WHERE a.attrelid = $1 AND NOT a.attisdropped`, []any{&g.column, &g.privilege, &g.grantee}, func() error {
		r.into.columnGrants = append(r.into.columnGrants, g)
		return nil
	})
}
