package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/task"
)

// OwnPrivileges are what Godwit's own tables take, in the database that the
// connection names.
const OwnPrivileges = "CREATE, SELECT, INSERT, UPDATE, DELETE, ALTER, INDEX, DROP"

// The beginnings of Godwit's own tables, and one of them that is never made.
const (
	ledgerVersion = "`_godwit_schema_version`"
	neverMade     = "`_godwit_privileges`"
)

// probes are statements that a server refuses to a user without the privilege,
// and to another one because there is no such table: nothing comes of them.
var probes = map[string]string{
	"CREATE": "CREATE TABLE " + neverMade + " LIKE `_godwit_privileges_of_none`",
	"SELECT": "SELECT 1 FROM " + neverMade,
	"INSERT": "INSERT INTO " + neverMade + " () VALUES ()",
	"UPDATE": "UPDATE " + neverMade + " SET a = 1",
	"DELETE": "DELETE FROM " + neverMade,
	"ALTER":  "ALTER TABLE " + neverMade + " COMMENT ''",
	"INDEX":  "CREATE INDEX a ON " + neverMade + " (a)",
	"DROP":   "DROP TABLE " + neverMade,
}

// The errors for a table that there is not, and for a server that takes no writes.
var (
	notThere = []uint16{noSuchTable, 1051}
	readOnly = []uint16{1290, 1792, 1836}
)

// columnDenied is the error for a column that the user may not change.
const columnDenied = 1143

// CheckRewrite finds out whether the user may change rows of a table and note
// it in the ledger, with a table of its own for the old values when they are
// saved. The error, a fault of class config, names everything that is missing
// and the statement that mends it. The server itself is asked, by statements of
// which nothing comes: roles and patterns in grants are its business.
func (s *Server) CheckRewrite(ctx context.Context, table engine.Name, saved bool) error {
	c, err := s.newPrivilegeCheck(ctx)
	if err != nil {
		return err
	}
	if err := c.table(ctx, table); err != nil {
		return err
	}
	if err := c.own(ctx, saved); err != nil {
		return err
	}
	if len(c.missing) > 0 {
		return fault.About(table.String(), task.Config, "user %s of database %s cannot do what is needed: %s", c.user, c.database, strings.Join(c.missing, "; "))
	}
	return nil
}

// privilegeCheck collects what is missing.
type privilegeCheck struct {
	server         *Server
	user, database string
	missing        []string
}

func (s *Server) newPrivilegeCheck(ctx context.Context) (*privilegeCheck, error) {
	s.renew() // sessions from before the last grant know nothing of it
	c := &privilegeCheck{server: s}
	var account string
	var database sql.NullString
	if err := s.db.QueryRowContext(ctx, "SELECT CURRENT_USER(), DATABASE()").Scan(&account, &database); err != nil {
		return nil, fmt.Errorf("ask for the current user: %w", err)
	}
	if !database.Valid {
		return nil, fault.New(task.Config, "the connection names no database, and Godwit's own tables have to be in one: name it in the URL, mysql://…/database")
	}
	at := strings.LastIndexByte(account, '@')
	c.user, c.database = quoteText(account[:at])+"@"+quoteText(account[at+1:]), database.String
	return c, nil
}

func (c *privilegeCheck) lacks(privileges []string, what, on string) {
	if len(privileges) > 0 {
		list := strings.Join(privileges, ", ")
		c.missing = append(c.missing, "no "+list+" on "+what+": GRANT "+list+" ON "+on+" TO "+c.user)
	}
}

// try runs a statement of which nothing comes and reports whether it was
// refused for want of a privilege.
func (c *privilegeCheck) try(ctx context.Context, statement string, harmless ...uint16) (refused bool, err error) {
	err = collect(ctx, c.server.db, func(*sql.Rows) error { return nil }, statement)
	switch {
	case isDenied(err):
		return true, nil
	case slices.Contains(harmless, number(err)):
		return false, nil
	}
	return false, err
}

func (c *privilegeCheck) table(ctx context.Context, name engine.Name) error {
	t, err := c.server.Table(ctx, name)
	if err != nil {
		return err
	}
	var lacking []string
	refused, err := c.try(ctx, "SELECT * FROM "+QuoteName(name)+" LIMIT 0")
	if err != nil {
		return fmt.Errorf("try to read %s: %w", name, err)
	}
	if refused {
		lacking = append(lacking, "SELECT")
	}
	refused, err = c.update(ctx, t)
	switch {
	case slices.Contains(readOnly, number(err)):
		c.missing = append(c.missing, "the server takes no writes: connect to its primary, or SET GLOBAL read_only = OFF")
	case err != nil:
		return fmt.Errorf("try to change %s: %w", name, err)
	case refused:
		lacking = append(lacking, "UPDATE")
	}
	c.lacks(lacking, "table "+name.String(), QuoteName(name))
	return nil
}

// update tries to change no row. Some column is enough: those that are really
// to be changed are tried one by one, see CheckExpr.
func (c *privilegeCheck) update(ctx context.Context, t *engine.Table) (refused bool, err error) {
	for _, column := range t.Columns {
		if column.Generated != "" {
			continue
		}
		name := Quote(column.Name)
		err := collect(ctx, c.server.db, func(*sql.Rows) error { return nil }, "UPDATE "+QuoteName(t.Name)+" SET "+name+" = "+name+" WHERE FALSE")
		switch {
		case number(err) == columnDenied:
			refused = true // but perhaps not for the next one
		case isDenied(err):
			return true, nil
		default:
			return false, err
		}
	}
	return refused, nil
}

// own checks that the ledger can be used, where there is one already, or made.
func (c *privilegeCheck) own(ctx context.Context, saved bool) error {
	needed := []string{"SELECT", "INSERT", "UPDATE", "DELETE"}
	absent := collect(ctx, c.server.db, func(*sql.Rows) error { return nil }, "SELECT version FROM "+ledgerVersion)
	if absent != nil {
		needed = append(needed, "ALTER", "INDEX")
	}
	if absent != nil || saved {
		needed = append([]string{"CREATE"}, needed...)
	}
	if saved {
		needed = append(needed, "DROP")
	}
	var lacking []string
	for _, privilege := range needed {
		refused, err := c.try(ctx, probes[privilege], append(notThere, readOnly...)...)
		if err != nil {
			return fmt.Errorf("try whether there may be tables of Godwit's own in %s: %w", c.database, err)
		}
		if refused {
			lacking = append(lacking, privilege)
		}
	}
	c.lacks(lacking, "database "+c.database+" for Godwit's own tables", Quote(c.database)+".*")
	return nil
}

// Transactional makes sure that a change of the table's rows and what is noted
// of it in the ledger, which is in InnoDB, become true together or not at all.
// A table of another storage engine is refused.
func (s *Server) Transactional(ctx context.Context, table engine.Name) error {
	var storage string
	err := s.db.QueryRowContext(ctx, "SELECT COALESCE(MAX(ENGINE), '') FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?",
		table.Schema, table.Table).Scan(&storage)
	switch {
	case err != nil:
		return fmt.Errorf("ask for the storage engine of %s: %w", table, err)
	case storage == "":
		return fault.About(table.String(), task.Config, "%s: %w, or this user may not see it", table, engine.ErrNoTable)
	case !strings.EqualFold(storage, "InnoDB"):
		return fault.About(table.String(), task.Config, "%s is stored by %s, whose changes are not one transaction with the ledger's: ALTER TABLE %s ENGINE = InnoDB",
			table, storage, QuoteName(table))
	}
	return nil
}
