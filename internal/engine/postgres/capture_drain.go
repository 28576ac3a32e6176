package postgres

import (
	"context"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/task"
)

// Entries reads the first entries of the changelog that are in a window. Only
// committed ones are there to be read; those before its beginning that are
// committed later are left for the next time. The end is written so that it is
// not taken for a part of a narrow range: the server, which knows nothing yet of a
// changelog's values, would read and sort all of it instead of the first entries.
func (s *Server) Entries(ctx context.Context, q engine.Querier, c *engine.Capture, w engine.Window, limit int64) ([]engine.Entry, error) {
	condition := "TRUE"
	if !w.Whole {
		var err error
		if condition, err = anyOf(c.LogTable(), w.Ranges); err != nil {
			return nil, err
		}
		if w.Emptied {
			condition = "(" + condition + " OR " + engine.LogOp + " = '" + engine.Emptied + "')"
		}
	}
	return readEntries(ctx, q, c, fmt.Sprintf("%s > %d AND %s + 0 <= %d AND %s ORDER BY %s LIMIT %d", engine.LogID, w.After, engine.LogID, w.Until, condition, engine.LogID, limit))
}

// LastEntry is the highest number of an entry, 0 when there is none.
func (s *Server) LastEntry(ctx context.Context, c *engine.Capture) (int64, error) {
	var last int64
	err := s.on.QueryRow(ctx, "SELECT COALESCE(max("+engine.LogID+"), 0) FROM "+QuoteName(c.Log)).Scan(&last)
	if err != nil {
		return 0, fmt.Errorf("look at the end of the changelog %s: %w", c.Log, err)
	}
	return last, nil
}

// EntriesOf reads the entries of some keys.
func (s *Server) EntriesOf(ctx context.Context, q engine.Querier, c *engine.Capture, keys []engine.Key, limit int64) ([]engine.Entry, error) {
	condition, err := keysCondition(c.LogTable(), keys)
	if err != nil {
		return nil, err
	}
	return readEntries(ctx, q, c, fmt.Sprintf("%s > 0 AND %s ORDER BY %s LIMIT %d", engine.LogID, condition, engine.LogID, limit))
}

// asText are the columns of a key as the server reads them again.
func asText(t *engine.Table) []string {
	list := make([]string, len(t.Key))
	for i, column := range t.Key {
		list[i] = Quote(column) + "::text"
	}
	return list
}

func readEntries(ctx context.Context, q engine.Querier, c *engine.Capture, where string) ([]engine.Entry, error) {
	t := c.LogTable()
	rows, err := q.Query(ctx, "SELECT "+engine.LogID+", "+engine.LogOp+" = '"+engine.Emptied+"', "+strings.Join(asText(t), ", ")+" FROM "+QuoteName(c.Log)+" WHERE "+where)
	if err != nil {
		return nil, fmt.Errorf("read the changelog %s: %w", c.Log, err)
	}
	defer rows.Close() //nolint:errcheck // Err tells
	var entries []engine.Entry
	for rows.Next() {
		var e engine.Entry
		var emptied bool
		values, into := texts(len(t.Key))
		if err := rows.Scan(append([]any{&e.ID, &emptied}, into...)...); err != nil {
			return nil, err
		}
		if !emptied {
			if e.Key, err = keyOf(t, values); err != nil {
				return nil, err
			}
		}
		entries = append(entries, e)
	}
	return entries, rows.Err()
}

// texts makes so many texts, and what they are scanned into.
func texts(n int) ([]*string, []any) {
	values, into := make([]*string, n), make([]any, n)
	for i := range values {
		into[i] = &values[i]
	}
	return values, into
}

// keyOf makes a key of a table of texts.
func keyOf(t *engine.Table, values []*string) (engine.Key, error) {
	key := make(engine.Key, len(values))
	for i, name := range t.Key {
		if values[i] == nil {
			return nil, fault.About(t.Name.String(), task.Internal, "%s has an entry without a value of %s", t.Name, name)
		}
		key[i] = engine.KeyValue{Kind: keyKind(t.Column(name).Type), Value: *values[i]}
		if key[i].Kind == engine.BytesKey {
			raw, err := hex.DecodeString(strings.TrimPrefix(*values[i], `\x`))
			if err != nil {
				return nil, fault.About(t.Name.String(), task.Internal, "%s: the server shows a value of %s as %q, not in hexadecimal", t.Name, name, *values[i])
			}
			key[i].Value = string(raw)
		}
	}
	return key, nil
}

// anyOf writes that a key is in one of the ranges.
func anyOf(t *engine.Table, ranges []engine.Range) (string, error) {
	parts := []string{"FALSE"}
	for _, r := range ranges {
		conditions, err := RangeConditions(t, "", r)
		if err != nil {
			return "", err
		}
		// An entry without a key is in no range, not even in an open one.
		parts = append(parts, "("+strings.Join(append(conditions, Quote(t.Key[0])+" IS NOT NULL"), " AND ")+")")
	}
	return "(" + strings.Join(parts, " OR ") + ")", nil
}

// keysCondition writes that a row has one of the keys.
func keysCondition(t *engine.Table, keys []engine.Key) (string, error) {
	if len(keys) == 0 {
		return "FALSE", nil
	}
	list := make([]string, len(keys))
	for i, key := range keys {
		literals := make([]string, len(key))
		for j, value := range key {
			var err error
			if literals[j], err = Literal(t, t.Key[j], value); err != nil {
				return "", err
			}
		}
		list[i] = strings.Join(literals, ", ")
		if len(key) > 1 {
			list[i] = "(" + list[i] + ")"
		}
	}
	columns := quoteList(t.Key)
	if len(t.Key) > 1 {
		columns = "(" + columns + ")"
	}
	return columns + " IN (" + strings.Join(list, ", ") + ")", nil
}

// HoldDoor locks, until the transaction ends, the entry that only one who
// drains can have.
func (s *Server) HoldDoor(ctx context.Context, q engine.Querier, c *engine.Capture) error {
	n, err := q.Exec(ctx, "SELECT "+engine.LogID+" FROM "+QuoteName(c.Log)+" WHERE "+engine.LogID+" = 0 FOR UPDATE")
	if err == nil && n != 1 {
		return gone(c, "the changelog "+c.Log.String()+" has been emptied")
	}
	return err
}

// ForgetEntries writes the statement that removes exactly these entries.
func (s *Server) ForgetEntries(c *engine.Capture, entries []engine.Entry) string {
	ids := make([]string, len(entries))
	for i, e := range entries {
		ids[i] = strconv.FormatInt(e.ID, 10)
	}
	return "DELETE FROM " + QuoteName(c.Log) + " WHERE " + engine.LogID + " IN (" + strings.Join(ids, ", ") + ")"
}

// CopyRows writes the statement that writes what a part of the table is now into
// the other table, in the order of the key. A tolerant one leaves out rows whose
// values have to be unique and are not; every other fault is an error still.
func (s *Server) CopyRows(c *engine.Capture, p *engine.Projection, part engine.Part, tolerant bool) (string, error) {
	condition, err := partCondition(c.Table, part)
	if err != nil {
		return "", err
	}
	text := copyRows(c, p, condition)
	if tolerant {
		text += " ON CONFLICT DO NOTHING"
	}
	return text, nil
}

// partCondition writes that a row is in a part of its table.
func partCondition(t *engine.Table, part engine.Part) (string, error) {
	if part.Keys != nil {
		return keysCondition(t, part.Keys)
	}
	conditions, err := RangeConditions(t, "", part.Within)
	return strings.Join(append(conditions, "TRUE"), " AND "), err
}

// Missing finds the rows of a part that the other table does not have.
func (s *Server) Missing(ctx context.Context, q engine.Querier, c *engine.Capture, p *engine.Projection, part engine.Part) ([]engine.Key, error) {
	condition, err := partCondition(c.Table, part)
	if err != nil {
		return nil, err
	}
	on := make([]string, len(p.Key))
	for i, column := range p.Key {
		on[i] = "x." + Quote(column) + " = " + compared(p.Into.Column(column).Type, QuoteName(c.Table.Name)+"."+Quote(c.Table.Key[i]))
	}
	query := "SELECT " + strings.Join(asText(c.Table), ", ") + " FROM " + QuoteName(c.Table.Name) + " WHERE " + condition +
		" AND NOT EXISTS (SELECT 1 FROM " + QuoteName(p.Into.Name) + " AS x WHERE " + strings.Join(on, " AND ") + ")"
	rows, err := q.Query(ctx, query)
	if err != nil {
		return nil, fmt.Errorf("look for rows that %s does not have: %w", p.Into.Name, err)
	}
	defer rows.Close() //nolint:errcheck // Err tells
	var missing []engine.Key
	for rows.Next() {
		values, into := texts(len(c.Table.Key))
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		key, err := keyOf(c.Table, values)
		if err != nil {
			return nil, err
		}
		missing = append(missing, key)
	}
	return missing, rows.Err()
}

// NoteKeys writes the statement that notes keys as changed.
func (s *Server) NoteKeys(c *engine.Capture, keys []engine.Key) (string, error) {
	into := []string{engine.LogOp}
	for _, column := range c.Table.Key {
		into = append(into, Quote(c.LogKey(column)))
	}
	rows := make([]string, len(keys))
	for i, key := range keys {
		values := []string{"'" + engine.Updated + "'"}
		for j, value := range key {
			literal, err := Literal(c.Table, c.Table.Key[j], value)
			if err != nil {
				return "", err
			}
			values = append(values, literal)
		}
		rows[i] = "(" + strings.Join(values, ", ") + ")"
	}
	return "INSERT INTO " + QuoteName(c.Log) + " (" + strings.Join(into, ", ") + ") VALUES " + strings.Join(rows, ", "), nil
}

func copyRows(c *engine.Capture, p *engine.Projection, condition string) string {
	var into, list []string
	for _, a := range p.Columns {
		into, list = append(into, a.Column), append(list, closed(a.Expr))
	}
	return "INSERT INTO " + QuoteName(p.Into.Name) + " (" + quoteList(into) + ") OVERRIDING SYSTEM VALUE SELECT " + strings.Join(list, ", ") +
		" FROM " + QuoteName(c.Table.Name) + " WHERE " + condition + " ORDER BY " + strings.Join(keyColumns(c.Table), ", ")
}

// RemoveKeys writes the statement that removes the rows of some keys from the
// other table.
func (s *Server) RemoveKeys(p *engine.Projection, keys []engine.Key) (string, error) {
	condition, err := keysCondition(p.KeyTable(), keys)
	return "DELETE FROM " + QuoteName(p.Into.Name) + " WHERE " + condition, err
}

// RemoveLost writes the statement that removes every row from the other table
// that the table no longer has, for when it was emptied.
func (s *Server) RemoveLost(c *engine.Capture, p *engine.Projection) string {
	on := make([]string, len(p.Key))
	for i, column := range p.Key {
		t := p.Into.Column(column).Type
		on[i] = "x." + Quote(column) + " = " + compared(t, "t."+Quote(c.Table.Key[i]))
	}
	return "DELETE FROM " + QuoteName(p.Into.Name) + " AS x WHERE NOT EXISTS (SELECT FROM " + QuoteName(c.Table.Name) + " AS t WHERE " + strings.Join(on, " AND ") + ")"
}

// compared writes a value so that it is compared as a column of the type compares.
func compared(t engine.Type, expr string) string {
	expr = "CAST(" + expr + " AS " + t.Full + ")"
	if t.Collation != "" {
		expr += " COLLATE " + t.Collation
	}
	return expr
}

// Pending tells how much waits in the changelog, and since when.
func (s *Server) Pending(ctx context.Context, c *engine.Capture) (engine.Pending, error) {
	var p engine.Pending
	var oldest *time.Time
	var estimate float64
	name := QuoteName(c.Log)
	query := fmt.Sprintf(`SELECT (SELECT count(*) FROM (SELECT FROM %s WHERE %s > 0 LIMIT %d) AS counted), (SELECT %s FROM %s WHERE %s > 0 ORDER BY %s LIMIT 1),
		(SELECT reltuples FROM pg_class WHERE oid = to_regclass($1))`,
		name, engine.LogID, engine.CountedRows+1, engine.LogTime, name, engine.LogID, engine.LogID)
	if err := s.on.QueryRow(ctx, query, name).Scan(&p.Rows, &oldest, &estimate); err != nil {
		return p, fmt.Errorf("look at the changelog %s: %w", c.Log, err)
	}
	if oldest != nil {
		p.Oldest = oldest.UTC()
	}
	if p.Rows > engine.CountedRows {
		p.Rows = max(p.Rows, int64(estimate))
	}
	return p, nil
}
