package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"godwit/internal/engine"
)

// Hanging is what hangs on a table, and the table itself, in lines.
func (s *Server) Hanging(ctx context.Context, table engine.Name) (engine.Shape, error) {
	a, err := s.attached(ctx, table)
	if err != nil {
		return nil, err
	}
	return a.lines(table), nil
}

// lines write it all down. Whether a foreign key is valid is not in it: a swap
// makes it anew.
func (a *attachments) lines(table engine.Name) engine.Shape {
	list := slices.Concat(a.table, a.refusals, a.unlike, a.shadowed, a.tableGrants, engine.Shape{"owner " + a.owner, a.unlogged + "table" + a.method + " in the tablespace " + textOf(a.tablespace)})
	for _, h := range slices.Concat(a.once, a.triggers, a.views, a.publications) {
		list = append(list, h.name+": "+strings.Join(h.make, "; "))
	}
	for _, k := range slices.Concat(a.outgoing, a.incoming) {
		list = append(list, "foreign key "+k.name+" of "+k.table.String()+": "+k.definition(k.columns, k.refColumns, k.setColumns)+comment(k.comment))
	}
	for _, x := range a.indexes {
		if x.clustered || x.identity || x.comment != nil {
			list = append(list, fmt.Sprintf("index %s: clustered %t, replica identity %t%s", x.name, x.clustered, x.identity, comment(x.comment)))
		}
	}
	for _, q := range a.sequences {
		list = append(list, fmt.Sprintf("sequence %s of column %s: identity %t, %s, %q%s", q.name, q.column, q.identity, q.options, q.grants, comment(q.comment)))
	}
	for _, x := range a.statistics {
		list = append(list, fmt.Sprintf("statistics %s: %s, target %d%s", x.name, x.create(x.name, tableMark), x.target, comment(x.comment)))
	}
	for _, g := range a.columnGrants {
		list = append(list, "GRANT "+g.privilege+" ("+g.column+") TO "+g.grantee)
	}
	for _, name := range a.notValid {
		list = append(list, "check "+name+" is not valid")
	}
	for name, text := range a.constraintComments {
		list = append(list, "constraint "+name+comment(&text))
	}
	for i := range list {
		list[i] = strings.ReplaceAll(list[i], tableMark, QuoteName(table))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func textOf(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func comment(text *string) string {
	if text == nil {
		return ""
	}
	return fmt.Sprintf(", comment %q", *text)
}

// changesOf says what has come and gone of lines.
func changesOf(before, now engine.Shape) string {
	const most = 5
	come, gone := engine.Changes(before, now)
	var list []string
	for _, line := range come {
		list = append(list, "come has "+engine.ShortStatement(line))
	}
	for _, line := range gone {
		list = append(list, "gone is "+engine.ShortStatement(line))
	}
	if more := len(list) - most; more > 0 {
		list = append(list[:most], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(list, "; ")
}

// Freshen looks whether what hangs on the table is what it was when the plan was
// made. Where it is not, the statements of the swap are made anew, and the shadow
// gets the owner, grants and comments of the table once more. What the shadow
// itself would have to be made anew for is refused.
func (s *Server) Freshen(ctx context.Context, want *engine.Reshape, r *engine.Reshaping) (*engine.Reshaping, error) {
	if r.Hanging == nil { // planned by a version that did not note it
		return r, nil
	}
	now, err := s.Hanging(ctx, r.Table.Name)
	if err != nil || slices.Equal(now, r.Hanging) {
		return r, err
	}
	p := s.planOf(want)
	p.again = true
	if err := p.do(ctx); err != nil {
		return nil, err
	}
	fresh := p.out
	again, same := carried(r, fresh)
	if !same {
		return nil, p.fault("%s is not what it was when the online copy was planned, and the new table was made without that: %s; put it back and retry, or roll back and start a new migration",
			r.Table.Name, changesOf(r.Hanging, fresh.Hanging))
	}
	again = append(again, p.grants()...)
	return fresh, s.patient().once(ctx, change{what: "what hangs on " + r.Table.Name.String() + " is brought to the new table", table: r.Shadow}, again)
}

// carried compares a plan with one that was made anew. It returns the statements
// by which the shadow gets comments that have come or changed since, and whether
// there is no other difference that the shadow would have to be made anew for.
func carried(r, fresh *engine.Reshaping) (statements []string, same bool) {
	const about = "COMMENT ON "
	object := func(statement string) string {
		before, _, _ := strings.Cut(statement, " IS ")
		return before
	}
	commented := map[string]bool{}
	for _, statement := range fresh.Create {
		if strings.HasPrefix(statement, about) {
			commented[object(statement)] = true
			if !slices.Contains(r.Create, statement) {
				statements = append(statements, statement)
			}
		}
	}
	for _, statement := range r.Create {
		if strings.HasPrefix(statement, about) && !commented[object(statement)] {
			statements = append(statements, object(statement)+" IS NULL")
		}
	}
	rest := func(r *engine.Reshaping) string {
		made := slices.DeleteFunc(slices.Clone(r.Create), func(statement string) bool {
			return strings.HasPrefix(statement, about) || strings.HasPrefix(statement, "GRANT ") || strings.HasPrefix(statement, "DO ") || strings.Contains(statement, " OWNER TO ")
		})
		text, _ := json.Marshal([]any{made, r.Builds, r.Forward.Columns, r.Forward.Key}) // texts, all of it
		return string(text)
	}
	return statements, rest(r) == rest(fresh)
}

// once runs statements, in as many tries as their locks take; they may be run again.
func (s *Server) once(ctx context.Context, c change, statements []string) (err error) {
	for try, wait := range s.lockWaits {
		if err := pause(ctx, try); err != nil {
			return err
		}
		if err = s.run(ctx, append([]string{deparsed}, statements...), wait); err == nil || !again(err) {
			break
		}
	}
	if err != nil {
		return s.explain(ctx, c, err)
	}
	return nil
}

// marks is a query for the marks of everything in the catalog that Hanging reads
// of a table: they are others as soon as any of it is changed, and remain what they
// are when it is emptied or analyzed. It is for under the lock, where there is no
// time to read it all.
func marks(table engine.Name) string {
	is := "to_regclass(" + QuoteLiteral(QuoteName(table)) + ")"
	return strings.ReplaceAll(`SELECT coalesce(string_agg(mark, ' ' ORDER BY mark), '') FROM (
		SELECT concat_ws('.', 'c' || oid, relname, relnamespace, relowner, relacl, reloptions, relpersistence, relreplident, relrowsecurity, relforcerowsecurity, reltablespace, relam) AS mark FROM pg_class WHERE oid = $table
		UNION ALL SELECT 'a' || attnum || '.' || xmin FROM pg_attribute WHERE attrelid = $table
		UNION ALL SELECT 'd' || oid || '.' || xmin FROM pg_attrdef WHERE adrelid = $table
		UNION ALL SELECT 'k' || oid || '.' || xmin FROM pg_constraint WHERE conrelid = $table OR confrelid = $table
		UNION ALL SELECT 'i' || indexrelid || '.' || xmin FROM pg_index WHERE indrelid = $table
		UNION ALL SELECT 't' || oid || '.' || xmin FROM pg_trigger WHERE tgrelid = $table
		UNION ALL SELECT 'p' || oid || '.' || xmin FROM pg_policy WHERE polrelid = $table
		UNION ALL SELECT 'r' || oid || '.' || xmin FROM pg_publication_rel WHERE prrelid = $table
		UNION ALL SELECT 's' || oid || '.' || xmin FROM pg_statistic_ext WHERE stxrelid = $table
		UNION ALL SELECT 'h' || inhrelid || '.' || inhparent FROM pg_inherits WHERE inhrelid = $table OR inhparent = $table
		UNION ALL SELECT 'n' || objsubid || '.' || xmin FROM pg_description WHERE classoid = 'pg_class'::regclass AND objoid = $table
		UNION ALL SELECT 'o' || d.classid || '.' || d.objid || '.' || coalesce(r.xmin::text, '') FROM pg_depend d LEFT JOIN pg_rewrite r ON d.classid = 'pg_rewrite'::regclass AND r.oid = d.objid
			WHERE d.refclassid = 'pg_class'::regclass AND d.refobjid = $table) AS marks`, "$table", is)
}
