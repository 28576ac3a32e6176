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

// Write says what is going to be done to a database, so that CheckWrite can
// tell beforehand whether it may be done.
type Write struct {
	// Schemas in which tables are made (Godwit's own among them); those that
	// do not exist are made.
	Schemas []string
	// Load are existing tables that rows are loaded into, read and removed from.
	Load []engine.Name
	// Own are existing tables that are moved, dropped or get indexes and keys.
	Own []engine.Name
	// Refer are existing tables that new foreign keys refer to.
	Refer []engine.Name
}

// CheckWrite finds out whether the user may do what is going to be done. The
// error, a fault of class config, names everything that is missing and the
// statement that mends it.
func (s *Server) CheckWrite(ctx context.Context, w Write) error {
	c := &privilegeCheck{on: s.on}
	c.server(ctx)
	for _, schema := range w.Schemas {
		c.schema(ctx, schema)
	}
	for _, name := range w.Load {
		c.load(ctx, name)
	}
	for _, name := range w.Own {
		c.own(ctx, name)
	}
	for _, name := range w.Refer {
		c.refer(ctx, name)
	}
	return c.verdict()
}

// privilegeCheck collects what is missing; after an error it does nothing more.
type privilegeCheck struct {
	on             executor
	user, database string
	missing        []string
	err            error
}

// verdict is the error that names everything that is missing.
func (c *privilegeCheck) verdict() error {
	if c.err != nil {
		return fmt.Errorf("cannot check the privileges of user %s: %w", c.user, c.err)
	}
	if len(c.missing) > 0 {
		return fault.New(task.Config, "user %s of database %s cannot do what is needed: %s", c.user, c.database, strings.Join(c.missing, "; "))
	}
	return nil
}

func (c *privilegeCheck) ask(ctx context.Context, query string, args []any, dest ...any) bool {
	if c.err == nil {
		c.err = c.on.QueryRow(ctx, query, args...).Scan(dest...)
	}
	return c.err == nil
}

func (c *privilegeCheck) lacks(what, mend string) {
	if line := what + ": " + mend; !slices.Contains(c.missing, line) {
		c.missing = append(c.missing, line)
	}
}

func (c *privilegeCheck) grant(privileges, on string) string {
	return "GRANT " + privileges + " ON " + on + " TO " + Quote(c.user)
}

func (c *privilegeCheck) server(ctx context.Context) {
	var standby, readOnly bool
	if !c.ask(ctx, `SELECT current_user, current_database(), pg_is_in_recovery(), current_setting('default_transaction_read_only') = 'on'`, nil,
		&c.user, &c.database, &standby, &readOnly) {
		return
	}
	if standby {
		c.lacks("the server is a standby", "connect to its primary")
	} else if readOnly {
		c.lacks("transactions are read-only", "ALTER ROLE "+Quote(c.user)+" SET default_transaction_read_only = off")
	}
}

func (c *privilegeCheck) schema(ctx context.Context, schema string) {
	var exists, create, usage bool
	if !c.ask(ctx, `SELECT true, has_schema_privilege(oid, 'CREATE'), has_schema_privilege(oid, 'USAGE') FROM pg_namespace WHERE nspname = $1
		UNION ALL SELECT false, has_database_privilege(current_database(), 'CREATE'), true
			WHERE NOT EXISTS (SELECT FROM pg_namespace WHERE nspname = $1)`, []any{schema}, &exists, &create, &usage) {
		return
	}
	switch {
	case !exists && !create:
		c.lacks("schema "+schema+" does not exist and cannot be made",
			c.grant("CREATE", "DATABASE "+Quote(c.database))+", or CREATE SCHEMA "+Quote(schema)+" AUTHORIZATION "+Quote(c.user))
	case exists && !(create && usage):
		c.lacks("tables cannot be made in schema "+schema, c.grant("USAGE, CREATE", "SCHEMA "+Quote(schema)))
	}
}

// loadPrivileges are what loading, comparing, mending and emptying a table takes.
var loadPrivileges = []string{"SELECT", "INSERT", "DELETE", "TRUNCATE"}

func (c *privilegeCheck) load(ctx context.Context, name engine.Name) {
	oid, ok := c.table(ctx, name)
	if !ok {
		return
	}
	if c.privileges(ctx, oid, name, loadPrivileges) {
		c.lacks("row security of table "+name.String()+" applies to this user, and COPY cannot load under it", "ALTER ROLE "+Quote(c.user)+" BYPASSRLS")
	}
	c.sequences(ctx, oid, name)
}

// privileges checks those on a table, and reports whether row security stands
// in the user's way.
func (c *privilegeCheck) privileges(ctx context.Context, oid uint32, name engine.Name, needed []string) (secured bool) {
	var lacking []string
	if !c.ask(ctx, `SELECT ARRAY(SELECT p FROM unnest($2::text[]) WITH ORDINALITY u (p, n) WHERE NOT has_table_privilege($1::oid, p) ORDER BY n), row_security_active($1::oid)`,
		[]any{oid, needed}, &lacking, &secured) {
		return false
	}
	if len(lacking) > 0 {
		list := strings.Join(lacking, ", ")
		c.lacks("no "+list+" on table "+name.String(), c.grant(list, QuoteName(name)))
	}
	return secured
}

// sequences checks those that SetSequence has to read and set.
func (c *privilegeCheck) sequences(ctx context.Context, oid uint32, name engine.Name) {
	if c.err != nil {
		return
	}
	// CASE keeps the server from asking for the privileges of what is no
	// sequence, an index for one, which is an error.
	rows, err := c.on.Query(ctx, `SELECT d.objid::regclass::text FROM pg_depend d JOIN pg_class s ON s.oid = d.objid
		WHERE d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass AND d.refobjid = $1 AND d.deptype IN ('a', 'i')
			AND CASE WHEN s.relkind = 'S' THEN NOT (has_sequence_privilege(d.objid, 'SELECT') AND has_sequence_privilege(d.objid, 'UPDATE')) END ORDER BY 1`, oid)
	if err != nil {
		c.err = err
		return
	}
	var names []string
	if names, c.err = pgx.CollectRows(rows, pgx.RowTo[string]); c.err != nil {
		return
	}
	for _, sequence := range names {
		c.lacks("no SELECT, UPDATE on sequence "+sequence+" of table "+name.String(), c.grant("SELECT, UPDATE", "SEQUENCE "+sequence))
	}
}

func (c *privilegeCheck) own(ctx context.Context, name engine.Name) {
	c.owns(ctx, name, tableOID)
}

// ownIndexed is own for what may have indexes: a materialized view, too.
func (c *privilegeCheck) ownIndexed(ctx context.Context, name engine.Name) {
	c.owns(ctx, name, indexedOID)
}

func (c *privilegeCheck) owns(ctx context.Context, name engine.Name, find finder) {
	oid, ok := c.find(ctx, name, find)
	if !ok {
		return
	}
	var owner string
	var member bool
	if c.ask(ctx, `SELECT r.rolname, pg_has_role(c.relowner, 'USAGE') FROM pg_class c JOIN pg_roles r ON r.oid = c.relowner WHERE c.oid = $1`,
		[]any{oid}, &owner, &member) && !member {
		c.lacks("table "+name.String()+" belongs to "+owner, "GRANT "+Quote(owner)+" TO "+Quote(c.user)+", or ALTER TABLE "+QuoteName(name)+" OWNER TO "+Quote(c.user))
	}
}

func (c *privilegeCheck) refer(ctx context.Context, name engine.Name) {
	oid, ok := c.table(ctx, name)
	if !ok {
		return
	}
	var may bool
	if c.ask(ctx, `SELECT has_table_privilege($1::oid, 'REFERENCES')`, []any{oid}, &may) && !may {
		c.lacks("no REFERENCES on table "+name.String(), c.grant("REFERENCES", QuoteName(name)))
	}
}

// table finds a table that has to be there, and checks that names in its
// schema can be used at all.
func (c *privilegeCheck) table(ctx context.Context, name engine.Name) (oid uint32, ok bool) {
	return c.find(ctx, name, tableOID)
}

// finder finds a relation, as tableOID does.
type finder func(ctx context.Context, on executor, name engine.Name) (oid uint32, err error)

func (c *privilegeCheck) find(ctx context.Context, name engine.Name, find finder) (oid uint32, ok bool) {
	if c.err != nil {
		return 0, false
	}
	if oid, c.err = find(ctx, c.on, name); c.err != nil {
		return 0, false
	}
	var usage bool
	if !c.ask(ctx, `SELECT has_schema_privilege($1, 'USAGE')`, []any{name.Schema}, &usage) {
		return 0, false
	}
	if !usage {
		c.lacks("no USAGE on schema "+name.Schema, c.grant("USAGE", "SCHEMA "+Quote(name.Schema)))
	}
	return oid, true
}
