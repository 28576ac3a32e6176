package postgres

import (
	"fmt"
	"slices"
	"strings"

	"godwit/internal/engine"
)

// refuseAttached refuses what hangs on the table and would be lost.
func (p *reshapePlan) refuseAttached() error {
	h := p.hangs
	for _, name := range []engine.Name{p.out.Shadow, p.out.Old} {
		if h.taken[name.Table] && !p.again {
			return p.fault("there is a %s already: drop it, or let its migration be rolled back", name)
		}
	}
	for _, k := range slices.Concat(h.outgoing, h.incoming) {
		if !k.may {
			h.refusals = append(h.refusals, fmt.Sprintf("foreign key %s between %s and %s, of which this user may not lock or alter the other table", k.name, k.table, k.ref))
		}
	}
	if len(h.refusals) > 0 {
		return p.fault("an online copy of %s cannot take over %s: drop that, or alter the table directly", p.table.Name, strings.Join(h.refusals, "; "))
	}
	p.out.Notes = append(p.out.Notes, h.notes...)
	return nil
}

// create writes the statement that makes the statistics, by another name.
func (x *oldStatistics) create(name, table string) string {
	kinds := ""
	if x.kinds != "" {
		kinds = "(" + x.kinds + ") "
	}
	return "CREATE STATISTICS " + name + " " + kinds + "ON " + x.columns + " FROM " + table
}

// grants writes who may do what with the shadow: as with the table, and nothing
// that default privileges have given.
func (p *reshapePlan) grants() []string {
	h, shadow := p.hangs, QuoteName(p.out.Shadow)
	list := []string{"ALTER TABLE " + shadow + " OWNER TO " + Quote(h.owner)}
	if h.acl || h.defaultPrivileges {
		list = append(list, "DO $godwit$ BEGIN EXECUTE coalesce((SELECT string_agg(format('REVOKE ALL ON TABLE %s FROM %s', c.oid::regclass, CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END), '; ')"+
			" FROM pg_class c, aclexplode(coalesce(c.relacl, acldefault('r', c.relowner))) a WHERE c.oid = "+QuoteLiteral(shadow)+"::regclass), 'SELECT 1'); END $godwit$")
		if !h.acl {
			list = append(list, "GRANT ALL ON TABLE "+shadow+" TO "+Quote(h.owner))
		}
	}
	for _, grant := range h.tableGrants {
		list = append(list, strings.ReplaceAll(grant, tableMark, shadow))
	}
	for _, g := range h.columnGrants {
		if name := p.to(g.column); name != "" {
			list = append(list, "GRANT "+g.privilege+" ("+Quote(name)+") ON TABLE "+shadow+" TO "+g.grantee)
		}
	}
	return list
}

// statements writes how the shadow is made and built, and how everything that
// hangs on the table is hung on it.
func (p *reshapePlan) statements() error {
	for _, x := range p.made.indexes {
		if p.hangs.taken[x.name] && !slices.ContainsFunc(p.hangs.indexes, func(old oldIndex) bool { return old.name == x.name }) {
			return p.fault("alter: the name %q of an index is taken: give the constraint another name", x.name)
		}
	}
	p.out.Create = append(p.create(), p.indexes()...)
	shadow := QuoteName(p.out.Shadow)
	for _, x := range p.hangs.statistics {
		name := QuoteName(engine.Name{Schema: p.table.Name.Schema, Table: besideName(x.name, shadowSuffix)})
		p.out.Create = append(p.out.Create, x.create(name, shadow))
		if x.target >= 0 {
			p.out.Create = append(p.out.Create, fmt.Sprintf("ALTER STATISTICS %s SET STATISTICS %d", name, x.target))
		}
	}
	p.away()
	p.exchange()
	p.swapSequences()
	p.swapKeys()
	p.hang()
	if n := len(p.out.Settle); n > 0 {
		p.out.Notes = append(p.out.Notes, fmt.Sprintf("foreign keys (%d) are validated when the names have changed: their tables are read, with nobody locked out, within timeouts.cutover", n))
	}
	return nil
}

// both adds statements to the swap and to the way back.
func (p *reshapePlan) both(forward, back string) {
	p.out.Swap, p.out.SwapBack = append(p.out.Swap, forward), append(p.out.SwapBack, back)
}

// away takes off what must not act on the table that is brought up to date.
func (p *reshapePlan) away() {
	p.both("SET CONSTRAINTS ALL IMMEDIATE", "SET CONSTRAINTS ALL IMMEDIATE")
	for _, x := range slices.Concat(p.hangs.triggers, p.hangs.publications) {
		p.both(strings.ReplaceAll(x.drop, tableMark, QuoteName(p.out.Old)), strings.ReplaceAll(x.drop, tableMark, QuoteName(p.out.Shadow)))
	}
}

// exchange gives the new indexes and statistics the names of the old ones.
func (p *reshapePlan) exchange() {
	schema := p.table.Name.Schema
	rename := func(kind, from, to string) string {
		return "ALTER " + kind + " " + QuoteName(engine.Name{Schema: schema, Table: from}) + " RENAME TO " + Quote(to)
	}
	var aside, back []string
	one := func(kind, name string, old, made bool) {
		if old {
			p.out.Swap = append(p.out.Swap, rename(kind, name, besideName(name, oldSuffix)))
			back = append(back, rename(kind, besideName(name, oldSuffix), name))
		}
		if made {
			aside = append(aside, rename(kind, besideName(name, shadowSuffix), name))
			p.out.SwapBack = append(p.out.SwapBack, rename(kind, name, besideName(name, shadowSuffix)))
		}
	}
	for _, x := range p.hangs.indexes {
		one("INDEX", x.name, true, false)
	}
	for _, x := range p.made.indexes {
		one("INDEX", x.name, false, true)
	}
	for _, x := range p.hangs.statistics {
		one("STATISTICS", x.name, true, true)
	}
	p.out.Swap, p.out.SwapBack = append(p.out.Swap, aside...), append(p.out.SwapBack, back...)
	table := QuoteName(p.table.Name)
	for _, x := range p.made.indexes {
		if x.kind != nil && *x.kind != "x" && x.deferred != "" {
			p.out.Swap = append(p.out.Swap, "ALTER TABLE "+table+" ADD CONSTRAINT "+Quote(x.name)+" "+constraintWords[*x.kind]+" USING INDEX "+Quote(x.name)+x.deferred)
		}
	}
	for _, k := range p.made.checks {
		if p.notValid(k) {
			p.out.Swap = append(p.out.Swap, "ALTER TABLE "+table+" ADD CONSTRAINT "+Quote(k.name)+" "+strings.TrimSuffix(k.definition, notValid)+notValid)
		}
	}
}

// swapSequences hands sequences over. One of an identity cannot change its table:
// the new one gets its value and its name.
func (p *reshapePlan) swapSequences() {
	schema, table := p.table.Name.Schema, QuoteName(p.table.Name)
	full := func(name string) string { return QuoteName(engine.Name{Schema: schema, Table: name}) }
	rename := func(from, to string) string { return "ALTER SEQUENCE " + full(from) + " RENAME TO " + Quote(to) }
	value := func(to, from string) string {
		return "SELECT pg_catalog.setval(" + QuoteLiteral(full(to)) + ", last_value, is_called) FROM " + full(from)
	}
	for _, old := range p.hangs.sequences {
		column := p.to(old.column)
		q := p.made.sequence(column)
		switch {
		case q == nil && !old.identity && column != "":
			owned := func(column string) string {
				return "ALTER SEQUENCE " + full(old.name) + " OWNED BY " + table + "." + Quote(column)
			}
			p.both(owned(column), owned(old.column))
			p.noteEnd(old, column)
		case q != nil:
			name := p.sequenceName(q)
			p.out.Swap = append(p.out.Swap, rename(old.name, besideName(old.name, oldSuffix)), rename(besideName(name, shadowSuffix), name), value(name, besideName(old.name, oldSuffix)))
			p.out.SwapBack = append(p.out.SwapBack, rename(name, besideName(name, shadowSuffix)), rename(besideName(old.name, oldSuffix), old.name), value(old.name, besideName(name, shadowSuffix)))
			for _, grant := range old.grants {
				p.out.Swap = append(p.out.Swap, strings.ReplaceAll(grant, tableMark, full(name)))
			}
			if old.comment != nil {
				p.out.Swap = append(p.out.Swap, "COMMENT ON SEQUENCE "+full(name)+" IS "+QuoteLiteral(*old.comment))
			}
		}
	}
	for i := range p.made.sequences {
		q := &p.made.sequences[i]
		if p.hangs.sequence(p.from[q.column]) == nil {
			name := p.sequenceName(q)
			p.both(rename(besideName(name, shadowSuffix), name), rename(name, besideName(name, shadowSuffix)))
		}
	}
}

// noteEnd tells of a sequence that ends before the values of its column do.
func (p *reshapePlan) noteEnd(q oldSequence, column string) {
	if q.max < 1<<31 && p.after.Column(column).Type.Base == "int8" && p.table.Column(q.column).Type.Base == "int4" {
		p.out.Notes = append(p.out.Notes, fmt.Sprintf("sequence %s of column %s still ends at %d: ALTER SEQUENCE %s AS bigint", q.name, column, q.max, QuoteName(engine.Name{Schema: p.table.Name.Schema, Table: q.name})))
	}
}

// swapKeys makes the foreign keys anew, not valid yet, and has them validated
// when the tables are free again.
func (p *reshapePlan) swapKeys() {
	table := p.table.Name
	valid := func(k foreignKey) {
		if k.valid {
			p.out.Settle = append(p.out.Settle, ValidateConstraint(k.table, k.name))
			p.out.SettleBack = append(p.out.SettleBack, ValidateConstraint(k.table, k.name))
		}
	}
	add := func(k foreignKey, definition string) string {
		return AddConstraint(k.table, Constraint{Name: k.name, Definition: definition}, true)
	}
	comment := func(k foreignKey) {
		if k.comment != nil {
			text := "COMMENT ON CONSTRAINT " + Quote(k.name) + " ON " + QuoteName(k.table) + " IS " + QuoteLiteral(*k.comment)
			p.both(text, text)
		}
	}
	for _, k := range p.hangs.outgoing {
		old := add(k, k.definition(k.columns, k.refColumns, k.setColumns))
		p.also(k.ref)
		p.out.Swap = append(p.out.Swap, DropConstraint(p.out.Old, k.name))
		if slices.Contains(p.goneKeys, k.name) {
			p.out.SwapBack = append(p.out.SwapBack, old)
			if k.valid {
				p.out.SettleBack = append(p.out.SettleBack, ValidateConstraint(table, k.name))
			}
			continue
		}
		columns, _ := p.become(k.columns)
		set, _ := p.become(k.setColumns)
		refs := k.refColumns
		if k.ref == table {
			refs, _ = p.become(k.refColumns)
		}
		p.out.Swap = append(p.out.Swap, add(k, k.definition(columns, refs, set)))
		p.out.SwapBack = append(p.out.SwapBack, DropConstraint(p.out.Shadow, k.name), old)
		comment(k)
		valid(k)
	}
	for _, k := range p.newKeys {
		p.also(k.ref)
		p.both(add(k, k.body), DropConstraint(p.out.Shadow, k.name))
		p.out.Settle = append(p.out.Settle, ValidateConstraint(table, k.name))
	}
	for _, k := range p.hangs.incoming {
		p.also(k.table)
		refs, _ := p.become(k.refColumns)
		p.out.Swap = append(p.out.Swap, DropConstraint(k.table, k.name), add(k, k.definition(k.columns, refs, k.setColumns)))
		p.out.SwapBack = append(p.out.SwapBack, DropConstraint(k.table, k.name), add(k, k.definition(k.columns, k.refColumns, k.setColumns)))
		comment(k)
		valid(k)
	}
}

// also notes another table that is locked.
func (p *reshapePlan) also(name engine.Name) {
	if name != p.table.Name && !slices.Contains(p.out.Also, name) {
		p.out.Also = append(p.out.Also, name)
	}
}

// hang writes what is made on the table that has the name.
func (p *reshapePlan) hang() {
	table := QuoteName(p.table.Name)
	named := func(text string) string { return strings.ReplaceAll(text, tableMark, table) }
	for _, x := range slices.Concat(p.hangs.triggers, p.hangs.publications, p.hangs.views) {
		for _, text := range x.make {
			p.both(named(text), named(text))
		}
	}
	for _, x := range p.hangs.once {
		for _, text := range x.make {
			p.out.Swap = append(p.out.Swap, named(text))
		}
	}
	schema := p.table.Name.Schema
	for _, x := range p.made.indexes {
		old := slices.IndexFunc(p.hangs.indexes, func(o oldIndex) bool { return o.name == x.name })
		if old < 0 {
			continue
		}
		o := p.hangs.indexes[old]
		if o.clustered {
			p.out.Swap = append(p.out.Swap, "ALTER TABLE "+table+" CLUSTER ON "+Quote(x.name))
		}
		if o.comment != nil {
			p.out.Swap = append(p.out.Swap, "COMMENT ON INDEX "+QuoteName(engine.Name{Schema: schema, Table: x.name})+" IS "+QuoteLiteral(*o.comment))
		}
	}
	for _, x := range p.hangs.statistics {
		if x.comment != nil {
			p.out.Swap = append(p.out.Swap, "COMMENT ON STATISTICS "+QuoteName(engine.Name{Schema: schema, Table: x.name})+" IS "+QuoteLiteral(*x.comment))
		}
	}
	for _, name := range p.constraintNames() {
		if text, found := p.hangs.constraintComments[name]; found {
			p.out.Swap = append(p.out.Swap, "COMMENT ON CONSTRAINT "+Quote(name)+" ON "+table+" IS "+QuoteLiteral(text))
		}
	}
}

// constraintNames are those of the new form's checks and keys.
func (p *reshapePlan) constraintNames() []string {
	var list []string
	for _, k := range p.made.checks {
		list = append(list, k.name)
	}
	for _, x := range p.made.indexes {
		if x.kind != nil {
			list = append(list, x.name)
		}
	}
	return list
}
