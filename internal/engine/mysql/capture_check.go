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

// superNeeded is the error for a trigger on a server that writes a binary log.
const superNeeded = 1419

// CheckCapture finds out beforehand whether the changes of a table can be noted,
// all of them. The error, a fault of class config, names what is missing and the
// statement that mends it; the warnings are what no trigger can see.
func (s *Server) CheckCapture(ctx context.Context, c *engine.Capture) (warnings []string, err error) {
	if len(c.Table.Key) == 0 {
		return nil, keyless(c)
	}
	for _, check := range []func(context.Context, *engine.Capture) error{s.checkStorage, checkCascades, s.checkLogging, s.checkReplica, s.checkTriggerPrivileges} {
		if err := check(ctx, c); err != nil {
			return nil, err
		}
	}
	warnings = append(warnings, fmt.Sprintf("TRUNCATE TABLE %s is not noticed while its changes are noted: do not run it", c.Table.Name))
	if c.Table.Partitioned {
		warnings = append(warnings, fmt.Sprintf("rows that go with a partition of %s (DROP, TRUNCATE or EXCHANGE PARTITION) are not noticed: leave its partitions as they are meanwhile", c.Table.Name))
	}
	return warnings, nil
}

// checkStorage refuses a table whose changes can stand without their entries.
func (s *Server) checkStorage(ctx context.Context, c *engine.Capture) error {
	return s.Transactional(ctx, c.Table.Name)
}

// checkCascades refuses a table in which the server itself changes rows: no
// trigger is run for these, on no version.
func checkCascades(_ context.Context, c *engine.Capture) error {
	for _, key := range c.Table.ForeignKeys {
		for _, rule := range []struct{ event, action string }{{"DELETE", key.OnDelete}, {"UPDATE", key.OnUpdate}} {
			switch action := strings.ToUpper(rule.action); action {
			case "CASCADE", "SET NULL", "SET DEFAULT":
				return fault.About(c.Table.Name.String(), task.Config, "foreign key %s of %s changes its rows ON %s %s, and the server runs no trigger for that: changes would be lost;"+
					" make it ON %s RESTRICT meanwhile, or keep rows of %s from being changed", key.Name, c.Table.Name, rule.event, action, rule.event, key.Ref)
			}
		}
	}
	return nil
}

// checkLogging refuses a server that logs statements: what a trigger numbers
// is not the same on a replica then, and READ COMMITTED cannot be logged so.
func (s *Server) checkLogging(ctx context.Context, c *engine.Capture) error {
	var on bool
	var format string
	if err := s.db.QueryRowContext(ctx, "SELECT @@GLOBAL.log_bin, @@GLOBAL.binlog_format").Scan(&on, &format); err != nil {
		return fmt.Errorf("ask for the binary log's format: %w", err)
	}
	if on && strings.EqualFold(format, "STATEMENT") {
		return fault.About(c.Table.Name.String(), task.Config, "the binary log is written as statements, which cannot carry what triggers do: SET GLOBAL binlog_format = ROW (sessions that are there keep theirs)")
	}
	return nil
}

// checkReplica refuses a server that rows come to from another one: no trigger
// is run for those. Whether it is one is known only to a user who may ask.
func (s *Server) checkReplica(ctx context.Context, c *engine.Capture) error {
	flavor, _, err := s.learn(ctx)
	if err != nil {
		return err
	}
	query, column := "SHOW REPLICA STATUS", "Replica_SQL_Running"
	if flavor == mariadbFlavor {
		query, column = "SHOW ALL SLAVES STATUS", "Slave_SQL_Running"
	}
	rows, err := s.db.QueryContext(ctx, query)
	if isDenied(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("ask whether the server is a replica: %w", err)
	}
	defer rows.Close() //nolint:errcheck // Err tells
	names, err := rows.Columns()
	if err != nil {
		return err
	}
	for rows.Next() {
		values, into := make([]sql.NullString, len(names)), make([]any, len(names))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			return err
		}
		for i, name := range names {
			if name == column && !strings.EqualFold(values[i].String, "No") {
				return fault.About(c.Table.Name.String(), task.Config, "the server is a replica, and runs no trigger for the rows that its primary sends: connect to the primary, or STOP REPLICA")
			}
		}
	}
	return rows.Err()
}

// checkTriggerPrivileges asks the server by statements of which nothing comes:
// they are about a table that is never made. A privilege on the one table alone
// is in information_schema.
func (s *Server) checkTriggerPrivileges(ctx context.Context, c *engine.Capture) error {
	check, err := s.newPrivilegeCheck(ctx)
	if err != nil {
		return err
	}
	never := QuoteName(engine.Name{Schema: c.Table.Name.Schema, Table: "_godwit_privileges"})
	probes := []struct{ privilege, statement string }{
		{"TRIGGER", "CREATE TRIGGER " + never + " AFTER INSERT ON " + never + " FOR EACH ROW SET @godwit = 1"},
		{"LOCK TABLES", "LOCK TABLES " + never + " READ"},
		{"CREATE", "CREATE TABLE " + never + " LIKE " + QuoteName(engine.Name{Schema: c.Table.Name.Schema, Table: "_godwit_privileges_of_none"})},
		{"INSERT", "INSERT INTO " + never + " () VALUES ()"},
		{"SELECT", "SELECT 1 FROM " + never},
		{"UPDATE", "UPDATE " + never + " SET a = 1"}, // SELECT … FOR UPDATE
		{"DELETE", "DELETE FROM " + never},
		{"DROP", "DROP TABLE " + never},
	}
	var lacking []string
	for _, probe := range probes {
		refused, err := check.try(ctx, probe.statement, append(notThere, readOnly...)...)
		if number(err) == superNeeded {
			check.missing = append(check.missing, "the server writes a binary log, and lets only SUPER make triggers: SET GLOBAL log_bin_trust_function_creators = ON")
			continue
		}
		if err != nil {
			return fmt.Errorf("try whether %s may have triggers: %w", c.Table.Name, err)
		}
		if refused && probe.privilege == "TRIGGER" {
			refused, err = lacksTableTrigger(ctx, s.db, c)
			if err != nil {
				return err
			}
		}
		if refused {
			lacking = append(lacking, probe.privilege)
		}
	}
	if len(lacking) == 0 {
		alone, err := s.lackingAlone(ctx, c, never)
		if err != nil {
			return fmt.Errorf("try what triggers of %s may do: %w", c.Table.Name, err)
		}
		check.lacks(alone, "database "+c.Table.Name.Schema+" of its own (a trigger has what is granted to its maker, not by a role)", Quote(c.Table.Name.Schema)+".*")
	}
	check.lacks(lacking, "database "+c.Table.Name.Schema+" for a changelog and its triggers", Quote(c.Table.Name.Schema)+".*")
	if len(check.missing) == 0 {
		return nil
	}
	return fault.About(c.Table.Name.String(), task.Config, "user %s cannot do what is needed: %s", check.user, strings.Join(check.missing, "; "))
}

// lackingAlone are the privileges of a trigger that the user has by a role alone.
// On MariaDB, it would fail for whoever changes a row.
func (s *Server) lackingAlone(ctx context.Context, c *engine.Capture, never string) (lacking []string, err error) {
	if s.known() != mariadbFlavor {
		return nil, nil
	}
	err = s.impatiently(ctx, func(conn *sql.Conn) error {
		if _, err := conn.ExecContext(ctx, "SET ROLE NONE"); err != nil {
			return err
		}
		for _, probe := range []struct{ privilege, statement string }{
			{"TRIGGER", "CREATE TRIGGER " + never + " AFTER INSERT ON " + never + " FOR EACH ROW SET @godwit = 1"}, {"SELECT", "SELECT 1 FROM " + never}, {"INSERT", "INSERT INTO " + never + " () VALUES ()"},
		} {
			err := collect(ctx, conn, func(*sql.Rows) error { return nil }, probe.statement)
			refused := isDenied(err)
			if refused && probe.privilege == "TRIGGER" {
				refused, err = lacksTableTrigger(ctx, conn, c)
			}
			switch {
			case refused:
				lacking = append(lacking, probe.privilege)
			case err != nil && !slices.Contains(append(notThere, readOnly...), number(err)):
				return err
			}
		}
		return nil
	})
	return lacking, err
}

// lacksTableTrigger reports whether the user may not have triggers on the one
// table either.
func lacksTableTrigger(ctx context.Context, on querier, c *engine.Capture) (bool, error) {
	var granted int
	err := collect(ctx, on, func(rows *sql.Rows) error { return rows.Scan(&granted) },
		`SELECT count(*) FROM information_schema.TABLE_PRIVILEGES WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? AND PRIVILEGE_TYPE = 'TRIGGER'`, c.Table.Name.Schema, c.Table.Name.Table)
	if err != nil {
		return false, fmt.Errorf("ask for the privileges on %s: %w", c.Table.Name, err)
	}
	return granted == 0, nil
}
