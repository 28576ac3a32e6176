package mysql

import (
	"context"
	"database/sql"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/task"
)

// readForeignKeys needs to see the rules, which MariaDB hides from a user with
// SELECT alone: a key whose rules are hidden is refused, and never left out.
func (c *catalog) readForeignKeys(ctx context.Context) error {
	schema, table := c.table.Name.Schema, c.table.Name.Table
	return collect(ctx, c.conn, func(rows *sql.Rows) error {
		var key engine.ForeignKey
		var column, refColumn string
		var onDelete, onUpdate sql.NullString
		if err := rows.Scan(&key.Name, &column, &key.Ref.Schema, &key.Ref.Table, &refColumn, &onDelete, &onUpdate); err != nil {
			return err
		}
		if !onDelete.Valid || !onUpdate.Valid {
			return fault.About(c.table.Name.String(), task.Config, "foreign key %s of %s cannot be read with the privileges of this user: GRANT REFERENCES ON %s TO it",
				key.Name, c.table.Name, QuoteName(c.table.Name))
		}
		key.OnDelete, key.OnUpdate = onDelete.String, onUpdate.String
		all := c.table.ForeignKeys
		if n := len(all); n == 0 || all[n-1].Name != key.Name {
			all = append(all, key)
		}
		last := &all[len(all)-1]
		last.Columns = append(last.Columns, column)
		last.RefColumns = append(last.RefColumns, refColumn)
		c.table.ForeignKeys = all
		return nil
	}, `SELECT k.CONSTRAINT_NAME, k.COLUMN_NAME, k.REFERENCED_TABLE_SCHEMA, k.REFERENCED_TABLE_NAME, k.REFERENCED_COLUMN_NAME, r.DELETE_RULE, r.UPDATE_RULE
		FROM information_schema.KEY_COLUMN_USAGE k LEFT JOIN information_schema.REFERENTIAL_CONSTRAINTS r
			ON r.CONSTRAINT_SCHEMA = ? AND r.TABLE_NAME = ? AND r.CONSTRAINT_NAME = k.CONSTRAINT_NAME
		WHERE k.TABLE_SCHEMA = ? AND k.TABLE_NAME = ? AND k.REFERENCED_TABLE_NAME IS NOT NULL
		ORDER BY k.CONSTRAINT_NAME, k.ORDINAL_POSITION`, schema, table, schema, table) // MariaDB would open every table without the constants
}

// readChecks reads the checks that the server enforces. The one by which
// MariaDB makes a column JSON marks the column's type instead.
func (c *catalog) readChecks(ctx context.Context) error {
	query := `SELECT c.CONSTRAINT_NAME, c.CHECK_CLAUSE, FALSE
		FROM information_schema.TABLE_CONSTRAINTS t JOIN information_schema.CHECK_CONSTRAINTS c USING (CONSTRAINT_SCHEMA, CONSTRAINT_NAME)
		WHERE t.TABLE_SCHEMA = ? AND t.TABLE_NAME = ? AND t.CONSTRAINT_TYPE = 'CHECK' AND t.ENFORCED = 'YES' ORDER BY c.CONSTRAINT_NAME`
	if c.flavor == mariadbFlavor {
		query = `SELECT CONSTRAINT_NAME, CHECK_CLAUSE, LEVEL = 'Column' FROM information_schema.CHECK_CONSTRAINTS
			WHERE CONSTRAINT_SCHEMA = ? AND TABLE_NAME = ? ORDER BY CONSTRAINT_NAME`
	}
	return c.each(ctx, func(rows *sql.Rows) error {
		var check engine.Check
		var ofColumn bool
		if err := rows.Scan(&check.Name, &check.Expression, &ofColumn); err != nil {
			return err
		}
		check.Expression = c.expression(check.Expression)
		if column := c.table.Column(check.Name); ofColumn && column != nil && check.Expression == "json_valid("+Quote(column.Name)+")" {
			column.Type.JSON = true
			return nil
		}
		c.table.Checks = append(c.table.Checks, check)
		return nil
	}, query)
}
