package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/task"
)

// Entries reads the first entries of the changelog that are in a window. Only
// committed ones are there to be read; those before its beginning that are
// committed later are left for the next time.
func (s *Server) Entries(ctx context.Context, q engine.Querier, c *engine.Capture, w engine.Window, limit int64) ([]engine.Entry, error) {
	condition := "TRUE"
	if !w.Whole {
		var err error
		if condition, err = anyOf(c.LogTable(), w.Ranges); err != nil {
			return nil, err
		}
	}
	return readEntries(ctx, q, c, fmt.Sprintf("%s > %d AND %s <= %d AND %s ORDER BY %s LIMIT %d", engine.LogID, w.After, engine.LogID, w.Until, condition, engine.LogID, limit))
}

// LastEntry is the highest number of an entry, 0 when there is none.
func (s *Server) LastEntry(ctx context.Context, c *engine.Capture) (int64, error) {
	var last int64
	err := s.db.QueryRowContext(ctx, "SELECT COALESCE(max("+engine.LogID+"), 0) FROM "+QuoteName(c.Log)).Scan(&last)
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

func readEntries(ctx context.Context, q engine.Querier, c *engine.Capture, where string) ([]engine.Entry, error) {
	t := c.LogTable()
	rows, err := q.Query(ctx, "SELECT "+engine.LogID+", "+strings.Join(keyExprs(t), ", ")+" FROM "+QuoteName(c.Log)+" WHERE "+where)
	if err != nil {
		return nil, fmt.Errorf("read the changelog %s: %w", c.Log, err)
	}
	defer rows.Close() //nolint:errcheck // Err tells
	var entries []engine.Entry
	for rows.Next() {
		var e engine.Entry
		key, into := newKey(t)
		if err := rows.Scan(append([]any{&e.ID}, into...)...); err != nil {
			return nil, err
		}
		e.Key = key
		entries = append(entries, e)
	}
	return entries, rows.Err()
}

// anyOf writes that a key is in one of the ranges.
func anyOf(t *engine.Table, ranges []engine.Range) (string, error) {
	parts := []string{"FALSE"}
	for _, r := range ranges {
		conditions, err := RangeConditions(t, "", r)
		if err != nil {
			return "", err
		}
		parts = append(parts, "("+strings.Join(append(conditions, "TRUE"), " AND ")+")")
	}
	return "(" + strings.Join(parts, " OR ") + ")", nil
}

// listed is how many values a list may have: MariaDB makes a join of one that
// has a thousand, and then looks at the whole table.
const listed = 500

// keysCondition writes that a row has one of the keys.
func keysCondition(t *engine.Table, keys []engine.Key) (string, error) {
	return keysWhere(t, keys, false)
}

// keysWhere writes that a row has one of the keys; where it is to be exact, byte
// for byte.
func keysWhere(t *engine.Table, keys []engine.Key, exact bool) (string, error) {
	if len(keys) == 0 {
		return "FALSE", nil
	}
	if len(t.Key) > 1 {
		list := make([]string, len(keys))
		for i, key := range keys {
			var err error
			if list[i], err = keyWhere(t, key, exact); err != nil {
				return "", err
			}
		}
		return "(" + strings.Join(list, " OR ") + ")", nil
	}
	name, column := Quote(t.Key[0]), t.Column(t.Key[0])
	exact = exact && column.Type.Charset != ""
	var groups []string
	for group := range slices.Chunk(keys, listed) {
		list, bytes := make([]string, len(group)), make([]string, len(group))
		for i, key := range group {
			var err error
			if list[i], err = Literal(t, t.Key[0], key[0]); err != nil {
				return "", err
			}
			bytes[i] = quoteBytes(key[0].Value)
		}
		among := name + " IN (" + strings.Join(list, ", ") + ")"
		if exact {
			among = "(" + among + " AND " + inBytes(name) + " IN (" + strings.Join(bytes, ", ") + "))"
		}
		groups = append(groups, among)
	}
	return "(" + strings.Join(groups, " OR ") + ")", nil
}

// keyWhere writes that a row has a key of several columns.
func keyWhere(t *engine.Table, key engine.Key, exact bool) (string, error) {
	if len(key) != len(t.Key) {
		return "", fault.About(t.Name.String(), task.Internal, "%s: %s does not fit the key (%s)", t.Name, key, strings.Join(t.Key, ", "))
	}
	var equal []string
	for i, v := range key {
		literal, err := Literal(t, t.Key[i], v)
		if err != nil {
			return "", err
		}
		name := Quote(t.Key[i])
		equal = append(equal, name+" = "+literal)
		if exact && t.Column(t.Key[i]).Type.Charset != "" {
			equal = append(equal, inBytes(name)+" = "+quoteBytes(v.Value))
		}
	}
	return "(" + strings.Join(equal, " AND ") + ")", nil
}

// inBytes writes characters as bytes that are the same for the same characters,
// whatever the charset they are kept in.
func inBytes(expr string) string { return "CAST(CONVERT(" + expr + " USING utf8mb4) AS BINARY)" }

// HoldDoor locks, until the transaction ends, the entry that only one who
// drains can have.
func (s *Server) HoldDoor(ctx context.Context, q engine.Querier, c *engine.Capture) error {
	rows, err := q.Query(ctx, "SELECT "+engine.LogID+" FROM "+QuoteName(c.Log)+" WHERE "+engine.LogID+" = 0 FOR UPDATE")
	if err != nil {
		return err
	}
	defer rows.Close() //nolint:errcheck // Err tells
	found := false
	for rows.Next() { // to the end: what is not read of a result costs the session
		found = true
	}
	if err := rows.Err(); err != nil || found {
		return err
	}
	return gone(c, "the changelog "+c.Log.String()+" has been emptied")
}

// ForgetEntries writes the statement that removes exactly these entries. A server
// that takes the changelog for small would otherwise go through all of it, lock
// every entry, and come to no end when the application writes more all the time.
func (s *Server) ForgetEntries(c *engine.Capture, entries []engine.Entry) string {
	ids := make([]string, len(entries))
	for i, e := range entries {
		ids[i] = strconv.FormatInt(e.ID, 10)
	}
	var groups []string
	for group := range slices.Chunk(ids, listed) {
		groups = append(groups, engine.LogID+" IN ("+strings.Join(group, ", ")+")")
	}
	log := QuoteName(c.Log)
	return "DELETE " + log + " FROM " + log + " FORCE INDEX (PRIMARY) WHERE " + strings.Join(groups, " OR ")
}

// CopyRows writes the statement that writes what a part of the table is now into
// the other table, in the order of the key. A tolerant one leaves out rows whose
// values have to be unique and are not; every other fault is an error still. Under READ COMMITTED it
// locks no row that it reads.
func (s *Server) CopyRows(c *engine.Capture, p *engine.Projection, part engine.Part, tolerant bool) (string, error) {
	condition, err := partCondition(c.Table, part)
	if err != nil {
		return "", err
	}
	text := copyRows(c, p, condition)
	if tolerant {
		column := Quote(p.Columns[0].Column) // of those that can be written; it keeps its value
		text += " ON DUPLICATE KEY UPDATE " + column + " = " + QuoteName(p.Into.Name) + "." + column
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
	on := sameKey(c, p, "x.", func(i int) string { return QuoteName(c.Table.Name) + "." + Quote(c.Table.Key[i]) })
	query := "SELECT " + strings.Join(keyExprs(c.Table), ", ") + " FROM " + QuoteName(c.Table.Name) + " WHERE " + condition +
		" AND NOT EXISTS (SELECT 1 FROM " + QuoteName(p.Into.Name) + " AS x WHERE " + on + ")"
	rows, err := q.Query(ctx, query)
	if err != nil {
		return nil, fmt.Errorf("look for rows that %s does not have: %w", p.Into.Name, err)
	}
	defer rows.Close() //nolint:errcheck // Err tells
	var missing []engine.Key
	for rows.Next() {
		key, into := newKey(c.Table)
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		missing = append(missing, key)
	}
	return missing, rows.Err()
}

// sameKey writes that a row of the other table, under a prefix, is the copy of
// one of which the values of the key are given.
func sameKey(c *engine.Capture, p *engine.Projection, prefix string, value func(i int) string) string {
	var list []string
	for i, column := range p.Key {
		into, from := p.Into.Column(column).Type, c.Table.Column(c.Table.Key[i]).Type
		if name := prefix + Quote(column); comparedAlike(from, into) {
			list = append(list, name+" = "+value(i))
		} else {
			list = append(list, name+" = "+compared(into, value(i)), inBytes(name)+" = "+inBytes(value(i)))
		}
	}
	return strings.Join(list, " AND ")
}

// comparedAlike reports whether values of two types of a key can be compared as
// they are. Members of an enum are not the same for having the same number.
func comparedAlike(a, b engine.Type) bool {
	return a.Charset == b.Charset && a.Collation == b.Collation && slices.Equal(a.Values, b.Values)
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
	var into, list, order []string
	for _, a := range p.Columns {
		into, list = append(into, Quote(a.Column)), append(list, closed(a.Expr))
	}
	for _, column := range c.Table.Key {
		order = append(order, Quote(c.Table.Name.Table)+"."+Quote(column))
	}
	return "INSERT INTO " + QuoteName(p.Into.Name) + " (" + strings.Join(into, ", ") + ") SELECT " + strings.Join(list, ", ") + " FROM " + QuoteName(c.Table.Name) +
		" FORCE INDEX (" + Quote(c.Table.KeyName) + ") WHERE " + condition + " ORDER BY " + strings.Join(order, ", ")
}

// RemoveKeys writes the statement that removes the rows of some keys from the
// other table.
func (s *Server) RemoveKeys(p *engine.Projection, keys []engine.Key) (string, error) {
	condition, err := keysWhere(p.KeyTable(), keys, p.Apart)
	return "DELETE FROM " + QuoteName(p.Into.Name) + " WHERE " + condition, err
}

// RemoveLost is empty: that a table was emptied is not noted here.
func (s *Server) RemoveLost(*engine.Capture, *engine.Projection) string { return "" }

// Pending tells how much waits in the changelog, and since when.
func (s *Server) Pending(ctx context.Context, c *engine.Capture) (engine.Pending, error) {
	var p engine.Pending
	name := QuoteName(c.Log)
	query := fmt.Sprintf("SELECT (SELECT count(*) FROM (SELECT 1 FROM %s WHERE %s > 0 LIMIT %d) AS counted), (SELECT UNIX_TIMESTAMP(%s) FROM %s WHERE %s > 0 ORDER BY %s LIMIT 1)",
		name, engine.LogID, engine.CountedRows+1, engine.LogTime, name, engine.LogID, engine.LogID)
	var since sql.NullFloat64
	if err := s.db.QueryRowContext(ctx, query).Scan(&p.Rows, &since); err != nil {
		return p, fmt.Errorf("look at the changelog %s: %w", c.Log, err)
	}
	if since.Valid {
		p.Oldest = sinceEpoch(since.Float64)
	}
	if p.Rows > engine.CountedRows {
		var estimate int64
		if err := s.db.QueryRowContext(ctx, "SELECT COALESCE(MAX(TABLE_ROWS), 0) FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?",
			c.Log.Schema, c.Log.Table).Scan(&estimate); err != nil {
			return p, fmt.Errorf("estimate the size of the changelog %s: %w", c.Log, err)
		}
		p.Rows = max(p.Rows, estimate)
	}
	return p, nil
}
