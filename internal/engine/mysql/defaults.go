package mysql

import (
	"context"
	"database/sql"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"

	"godwit/internal/engine"
)

var (
	bitLiteral    = regexp.MustCompile(`^b'([01]*)'$`)
	numberLiteral = regexp.MustCompile(`^[-+]?[0-9]*\.?[0-9]+([eE][-+]?[0-9]+)?$`)
	nowFunction   = regexp.MustCompile(`(?i)^current_timestamp(?:\(([0-9]*)\))?$`)
	introducer    = regexp.MustCompile(`^_utf8(mb[34])?'`)
)

// parseDefault reads a column's default as information_schema shows it. MySQL
// shows the value of a literal and marks an expression; MariaDB shows both as
// they are written, a literal in quotes, and NULL as the word.
func (c *catalog) parseDefault(t *engine.Type, shown sql.NullString, marked bool) (*engine.Default, error) {
	if !shown.Valid {
		return nil, nil
	}
	text := shown.String
	if bits := bitLiteral.FindStringSubmatch(text); bits != nil && t.Base == "bit" {
		return &engine.Default{Text: bits[1]}, nil
	}
	if c.flavor == mariadbFlavor {
		return mariadbDefault(text), nil
	}
	if marked {
		return expressionDefault(unescape(text)), nil
	}
	return &engine.Default{Text: text}, nil
}

func mariadbDefault(text string) *engine.Default {
	if text == "NULL" {
		return nil
	}
	if value, rest, ok := unquote(text); ok && rest == "" {
		return &engine.Default{Text: value}
	}
	if numberLiteral.MatchString(text) {
		return &engine.Default{Text: text}
	}
	return expressionDefault(text)
}

// expressionDefault makes the default of an expression, which may be no more
// than a literal: MySQL wants one in parentheses for a text column.
func expressionDefault(text string) *engine.Default {
	if now := nowFunction.FindStringSubmatch(text); now != nil {
		text = "CURRENT_TIMESTAMP"
		if digits := strings.TrimLeft(now[1], "0"); digits != "" {
			text += "(" + digits + ")"
		}
		return &engine.Default{Text: text, Expression: true}
	}
	if introducer.MatchString(text) {
		if value, rest, ok := unquote(text[strings.Index(text, "'"):]); ok && rest == "" {
			return &engine.Default{Text: value}
		}
	}
	return &engine.Default{Text: text, Expression: true}
}

// readExactDefaults reads literal defaults again that may not have been shown
// as they are: MySQL shows a binary one up to its first zero byte, MariaDB with
// question marks, and both show a question mark for an emoji.
func (c *catalog) readExactDefaults(ctx context.Context) error {
	var columns []*engine.Column
	var list []string
	for i := range c.table.Columns {
		column := &c.table.Columns[i]
		if expr := exactDefault(column); expr != "" {
			columns = append(columns, column)
			list = append(list, expr)
		}
	}
	if len(columns) == 0 {
		return nil
	}
	shown := make([]string, len(columns))
	into := make([]any, len(columns))
	for i := range shown {
		into[i] = &shown[i]
	}
	// The outer join has a row when the table has none.
	query := fmt.Sprintf("SELECT %s FROM (SELECT 1) AS one LEFT JOIN %s ON FALSE", strings.Join(list, ", "), QuoteName(c.table.Name))
	if err := c.conn.QueryRowContext(ctx, query).Scan(into...); err != nil {
		return err
	}
	for i, column := range columns {
		value, err := hex.DecodeString(shown[i])
		if err != nil {
			return err
		}
		column.Default.Text = string(value)
	}
	return nil
}

// exactDefault is an expression for a column's default in hexadecimal, when it
// is one that may not be shown as it is.
func exactDefault(column *engine.Column) string {
	if column.Default == nil || column.Default.Expression {
		return ""
	}
	value := "DEFAULT(" + Quote(column.Name) + ")"
	switch column.Type.Base {
	case "binary", "varbinary":
		return "HEX(" + value + ")"
	case "char", "varchar", "enum", "set":
		if strings.Contains(column.Default.Text, "?") {
			return "HEX(CONVERT(" + value + " USING utf8mb4))"
		}
	}
	return ""
}
