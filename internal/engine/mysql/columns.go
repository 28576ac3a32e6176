package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"godwit/internal/engine"
)

func (c *catalog) readColumns(ctx context.Context) error {
	srid := "NULL"
	if c.flavor == mysqlFlavor {
		srid = "SRS_ID"
	}
	return c.each(ctx, func(rows *sql.Rows) error {
		column, err := c.scanColumn(rows)
		c.table.Columns = append(c.table.Columns, column)
		return err
	}, `SELECT COLUMN_NAME, COLUMN_TYPE, DATA_TYPE, IS_NULLABLE = 'YES', COLUMN_DEFAULT, EXTRA, COALESCE(GENERATION_EXPRESSION, ''), COLUMN_COMMENT,
		CHARACTER_MAXIMUM_LENGTH, NUMERIC_PRECISION, NUMERIC_SCALE, DATETIME_PRECISION,
		COALESCE(CHARACTER_SET_NAME, ''), COALESCE(COLLATION_NAME, ''), `+srid+`
		FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? ORDER BY ORDINAL_POSITION`)
}

// facts are the numbers that information_schema has for a type.
type facts struct {
	length, precision, scale, fraction sql.Null[int64]
	srid                               sql.Null[uint32]
}

func (c *catalog) scanColumn(rows *sql.Rows) (engine.Column, error) {
	var column engine.Column
	var f facts
	var extra, expression string
	var byDefault sql.NullString
	t := &column.Type
	if err := rows.Scan(&column.Name, &t.Full, &t.Base, &column.Nullable, &byDefault, &extra, &expression, &column.Comment,
		&f.length, &f.precision, &f.scale, &f.fraction, &t.Charset, &t.Collation, &f.srid); err != nil {
		return column, err
	}
	if err := describe(t, f); err != nil {
		return column, fmt.Errorf("column %s: %w", column.Name, err)
	}
	extra = strings.ToUpper(extra)
	column.Identity = strings.Contains(extra, "AUTO_INCREMENT")
	column.OnUpdateNow = strings.Contains(extra, "ON UPDATE")
	column.Invisible = strings.Contains(extra, "INVISIBLE")
	column.Stored = strings.Contains(extra, "STORED GENERATED")
	if column.Stored || strings.Contains(extra, "VIRTUAL GENERATED") {
		column.Generated = c.expression(expression)
		return column, nil
	}
	var err error
	column.Default, err = c.parseDefault(t, byDefault, strings.Contains(extra, "DEFAULT_GENERATED"))
	if err != nil {
		err = fmt.Errorf("column %s: %w", column.Name, err)
	}
	return column, err
}

// describe fills in a type of which the full and the bare name are known.
func describe(t *engine.Type, f facts) error {
	// MariaDB notes the compression of a column in a comment.
	t.Full, _, _ = strings.Cut(t.Full, " /*")
	t.Unsigned = strings.Contains(t.Full, " unsigned")
	t.Fraction = -1
	switch t.Base {
	case "char", "varchar", "binary", "varbinary":
		t.Length = f.length.V
	case "bit":
		t.Length = f.precision.V
	case "decimal":
		t.Precision, t.Scale = int(f.precision.V), int(f.scale.V)
	case "time", "datetime", "timestamp":
		t.Fraction = int(f.fraction.V)
	case "enum", "set":
		var err error
		if t.Values, err = typeValues(t.Full); err != nil {
			return err
		}
	}
	if f.srid.Valid {
		t.SRID = &f.srid.V
	}
	return nil
}

// typeValues reads the values of enum('a','b') or set('a','b').
func typeValues(full string) ([]string, error) {
	_, rest, _ := strings.Cut(full, "(")
	var values []string
	for {
		value, after, ok := unquote(rest)
		if !ok {
			return nil, fmt.Errorf("the values of the type %s cannot be read", full)
		}
		values = append(values, value)
		if after == ")" {
			return values, nil
		}
		if rest, ok = strings.CutPrefix(after, ","); !ok {
			return nil, fmt.Errorf("the values of the type %s cannot be read", full)
		}
	}
}

// expression returns an expression as it would be written: MySQL shows its
// expressions escaped, MariaDB does not.
func (c *catalog) expression(text string) string {
	if c.flavor == mysqlFlavor {
		return unescape(text)
	}
	return text
}
