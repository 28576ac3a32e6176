package postgres

import (
	"context"
	"strings"

	"godwit/internal/engine"
	"godwit/internal/task"
)

// pathFor is the query for the search_path by which the names in a text of the
// user's are understood: the table's schema, and then what the user has by default.
func pathFor(schema string) string {
	return "SELECT " + QuoteLiteral(Quote(schema)) + " || coalesce(', ' || nullif(reset_val, ''), '') FROM pg_catalog.pg_settings WHERE name = 'search_path'"
}

// asUser runs f with the search_path of the user's texts, and with the one that
// the session had again afterwards.
func (c *clone) asUser(ctx context.Context, f func() error) error {
	var before, path string
	if err := c.tx.QueryRow(ctx, "SELECT current_setting('search_path'), ("+pathFor(c.of.Schema)+")").Scan(&before, &path); err != nil {
		return err
	}
	set := func(path string) error {
		_, err := c.tx.Exec(ctx, "SELECT pg_catalog.set_config('search_path', $1, true)", path)
		return err
	}
	if err := set(path + ", pg_temp"); err != nil { // not first, or the table's name would be the clone's
		return err
	}
	if err := f(); err != nil {
		return err
	}
	return set(before)
}

// userValue tries an expression of the user's as a value of a column, reading no
// row, and returns it so that it means the same under an empty search_path.
func (p *reshapePlan) userValue(ctx context.Context, c *clone, what string, column *engine.Column, expr string) (string, error) {
	from := " FROM " + QuoteName(p.table.Name)
	var meant string
	var refusal error
	err := c.asUser(ctx, func() (err error) {
		if refusal, err = c.prepare(ctx, c.name, column.Name, closed(expr)+from); err != nil || refusal != nil {
			return err
		}
		// It has to be one value for each row.
		if refusal, err = c.refuses(ctx, "PREPARE godwit_value AS SELECT"+from+" WHERE "+closed(expr)+" IS NULL; DEALLOCATE godwit_value"); err != nil || refusal != nil {
			return err
		}
		meant, refusal, err = c.understood(ctx, closed(expr), from)
		return err
	})
	if err != nil {
		return "", err
	}
	if refusal != nil {
		return "", p.fault("%s: the server refuses %q as a value of %s: %w", what, expr, column.Name, refusal)
	}
	if plain, refusal, err := c.understood(ctx, closed(expr), from); err != nil || refusal == nil && plain == meant {
		return expr, err
	}
	if refusal, err := c.prepare(ctx, c.name, column.Name, meant+from); err != nil || refusal == nil {
		return meant, err
	}
	return "CAST(" + closed(meant) + " AS " + column.Type.Full + ")", nil // a literal, that has a type by now
}

// understood is how the server itself writes an expression, with the schema of
// every name that it would not find without.
func (c *clone) understood(ctx context.Context, expr, from string) (text string, refusal, err error) {
	if _, err := c.tx.Exec(ctx, "SAVEPOINT understood"); err != nil {
		return "", nil, err
	}
	_, refusal = c.tx.Exec(ctx, "CREATE TEMPORARY VIEW godwit_value AS SELECT "+expr+" AS godwit_value"+from)
	switch class, known := Classify(refusal); {
	case refusal == nil:
		if _, err := c.tx.Exec(ctx, deparsed); err != nil {
			return "", nil, err
		}
		if text, err = ask[string](ctx, c.tx, "SELECT pg_get_viewdef('pg_temp.godwit_value'::regclass)"); err != nil {
			return "", nil, err
		}
		end := strings.LastIndex(text, " AS godwit_value")
		text = strings.TrimPrefix(text[:max(end, 0)], " SELECT ")
	case !known || class != task.Config && class != task.Data:
		return "", nil, refusal
	}
	_, err = c.tx.Exec(ctx, "ROLLBACK TO SAVEPOINT understood")
	return text, refusal, err
}

// rehearseRow writes one row of the table into the clone: so it is found out
// beforehand what the functions in checks, indexes and expressions do not find
// without a search_path. What is wrong with the row's values is the tests' business.
func (p *reshapePlan) rehearseRow(ctx context.Context, c *clone) error {
	var into, list []string
	for _, a := range p.out.Forward.Columns {
		into, list = append(into, a.Column), append(list, closed(a.Expr))
	}
	refusal, err := c.refuses(ctx, "INSERT INTO "+QuoteName(c.name)+" ("+quoteList(into)+") OVERRIDING SYSTEM VALUE SELECT "+strings.Join(list, ", ")+" FROM "+QuoteName(p.table.Name)+" LIMIT 1")
	if class, _ := Classify(refusal); class == task.Config {
		return p.fault("rows of %s cannot be written with an empty search_path: %w; a function that is called for them looks something up without its schema: ALTER FUNCTION … SET search_path = …", p.table.Name, refusal)
	}
	return err
}
