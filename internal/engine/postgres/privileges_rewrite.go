package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/task"
)

// ledgerSchema is the schema of the ledger's tables and of those that keep what
// a migration changes.
const ledgerSchema = "godwit"

// CheckRewrite finds out whether the user may change rows of a table and note
// it in the ledger, with a table of its own for the old values when they are
// saved. The error, a fault of class config, names everything that is missing
// and the statement that mends it.
func (s *Server) CheckRewrite(ctx context.Context, table engine.Name, saved bool) error {
	c := &privilegeCheck{on: s.on}
	c.server(ctx)
	if oid, ok := c.table(ctx, table); ok && c.privileges(ctx, oid, table, []string{"SELECT", "UPDATE"}) {
		c.lacks("row security of table "+table.String()+" applies to this user, who would change some of the rows only", "ALTER ROLE "+Quote(c.user)+" BYPASSRLS")
	}
	c.ledger(ctx, saved)
	return c.verdict()
}

// ledger checks that the ledger can be used, where there is one already, or made.
func (c *privilegeCheck) ledger(ctx context.Context, saved bool) {
	var made, usage bool
	if !c.ask(ctx, `SELECT count(*) > 0, coalesce(bool_and(has_schema_privilege(n.oid, 'USAGE')), false)
		FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relname = 'schema_version'`,
		[]any{ledgerSchema}, &made, &usage) {
		return
	}
	switch {
	case saved || !made:
		c.schema(ctx, ledgerSchema)
	case !usage:
		c.lacks("no USAGE on schema "+ledgerSchema, c.grant("USAGE", "SCHEMA "+Quote(ledgerSchema)))
	}
}

// Transactional makes sure that a change of the table's rows and what is noted
// of it in the ledger become true together or not at all. So it is for every
// table; what is no table, and a partition on another server, is refused by name.
func (s *Server) Transactional(ctx context.Context, table engine.Name) error {
	oid, err := tableOID(ctx, s.on, table)
	if err != nil {
		return err
	}
	rows, err := s.on.Query(ctx, partsCTE+`SELECT c.oid::regclass::text FROM parts JOIN pg_class c USING (oid) WHERE c.relkind = 'f' ORDER BY 1`, oid)
	if err != nil {
		return err
	}
	foreign, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return fmt.Errorf("look for the partitions of %s: %w", table, err)
	}
	if len(foreign) > 0 {
		return fault.About(table.String(), task.Config, "%s has rows on another server, in %s, whose changes are not one with the ledger's: migrate them there", table, strings.Join(foreign, ", "))
	}
	return nil
}
