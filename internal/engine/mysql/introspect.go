package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/task"
)

// Databases lists the databases that the user may see, without the server's own.
func (s *Server) Databases(ctx context.Context) ([]string, error) {
	var names []string
	err := collect(ctx, s.db, func(rows *sql.Rows) error {
		names = append(names, "")
		return rows.Scan(&names[len(names)-1])
	}, `SELECT SCHEMA_NAME FROM information_schema.SCHEMATA
		WHERE SCHEMA_NAME NOT IN ('information_schema', 'performance_schema', 'mysql', 'sys') ORDER BY SCHEMA_NAME`)
	if err != nil {
		return nil, fmt.Errorf("list the databases: %w", err)
	}
	return names, nil
}

// isTable are the kinds of base tables; one with system versioning is MariaDB's alone.
const isTable = "TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED')"

// Tables lists the base tables of a database, by name.
func (s *Server) Tables(ctx context.Context, schema string) ([]engine.Name, error) {
	var names []engine.Name
	err := collect(ctx, s.db, func(rows *sql.Rows) error {
		var n engine.Name
		if err := rows.Scan(&n.Schema, &n.Table); err != nil {
			return err
		}
		names = append(names, n)
		return nil
	}, "SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND "+isTable+" ORDER BY TABLE_NAME", schema)
	if err != nil {
		return nil, fmt.Errorf("list the tables of %s: %w", schema, err)
	}
	return names, nil
}

// Table describes a base table. Only what the user may see of it is there.
func (s *Server) Table(ctx context.Context, name engine.Name) (*engine.Table, error) {
	flavor, _, err := s.learn(ctx)
	if err != nil {
		return nil, err
	}
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	c := &catalog{conn: conn, flavor: flavor, table: &engine.Table{Name: name}}
	steps := []struct {
		what string
		read func(context.Context) error
	}{
		{"size", c.readTable}, {"columns", c.readColumns}, {"defaults", c.readExactDefaults}, {"indexes", c.readIndexes},
		{"foreign keys", c.readForeignKeys}, {"checks", c.readChecks}, {"triggers", c.readTriggers},
	}
	for _, step := range steps {
		if err := step.read(ctx); err != nil {
			return nil, fmt.Errorf("read the %s of %s: %w", step.what, name, err)
		}
	}
	c.finish()
	return c.table, nil
}

// catalog reads the description of one table, in one query for each kind of
// thing that a table has.
type catalog struct {
	conn   *sql.Conn
	flavor string
	table  *engine.Table
	next   sql.Null[uint64] // AUTO_INCREMENT
}

// each runs a query over information_schema whose two parameters are the
// table's database and name.
func (c *catalog) each(ctx context.Context, scan func(*sql.Rows) error, query string) error {
	return collect(ctx, c.conn, scan, query, c.table.Name.Schema, c.table.Name.Table)
}

// readTable reads what there is once for a table.
func (c *catalog) readTable(ctx context.Context) error {
	if c.flavor == mysqlFlavor { // or its numbers may be a day old
		if _, err := c.conn.ExecContext(ctx, "SET SESSION information_schema_stats_expiry = 0"); err != nil {
			return err
		}
	}
	found := false
	err := c.each(ctx, func(rows *sql.Rows) error {
		t := c.table
		var kind string
		found = true
		if err := rows.Scan(&t.Name.Schema, &t.Name.Table, &kind, &t.Rows, &t.Bytes, &c.next, &t.Partitioned, &t.Comment); err != nil {
			return err
		}
		if kind != "BASE TABLE" && kind != "SYSTEM VERSIONED" {
			return fault.About(t.Name.String(), task.Config, "it is a %s: only tables can be migrated, leave it out", strings.ToLower(kind))
		}
		return nil
	}, `SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE, COALESCE(TABLE_ROWS, 0),
		COALESCE(DATA_LENGTH, 0), AUTO_INCREMENT, COALESCE(CREATE_OPTIONS, '') LIKE '%partitioned%', TABLE_COMMENT
		FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?`)
	if err != nil || found {
		return err
	}
	return fault.About(c.table.Name.String(), task.Config, "%w, or this user may not see it", engine.ErrNoTable)
}

func (c *catalog) readTriggers(ctx context.Context) error {
	return c.each(ctx, func(rows *sql.Rows) error {
		var name string
		err := rows.Scan(&name)
		c.table.Triggers = append(c.table.Triggers, name)
		return err
	}, `SELECT TRIGGER_NAME FROM information_schema.TRIGGERS
		WHERE EVENT_OBJECT_SCHEMA = ? AND EVENT_OBJECT_TABLE = ? ORDER BY TRIGGER_NAME`)
}

// finish concludes from what has been read.
func (c *catalog) finish() {
	for _, column := range c.table.Columns {
		if column.Identity {
			c.table.NextIdentity = max(1, c.next.V)
		}
	}
	chooseKey(c.table)
}
