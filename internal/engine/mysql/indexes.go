package mysql

import (
	"context"
	"database/sql"
	"strings"

	"godwit/internal/engine"
)

const primaryName = "PRIMARY"

// readIndexes reads the indexes, the primary key first.
func (c *catalog) readIndexes(ctx context.Context) error {
	own := "IS_VISIBLE = 'NO', COALESCE(EXPRESSION, '')"
	if c.flavor == mariadbFlavor {
		own = "IGNORED = 'YES', ''"
	}
	return c.each(ctx, func(rows *sql.Rows) error {
		var index engine.Index
		var part engine.IndexPart
		if err := rows.Scan(&index.Name, &index.Unique, &index.Method, &index.Comment, &part.Column, &part.Prefix,
			&part.Descending, &index.Invisible, &part.Expression); err != nil {
			return err
		}
		part.Expression = c.expression(part.Expression)
		c.addPart(index, part)
		return nil
	}, `SELECT INDEX_NAME, NON_UNIQUE = 0, INDEX_TYPE, INDEX_COMMENT, COALESCE(COLUMN_NAME, ''), COALESCE(SUB_PART, 0),
		COALESCE(COLLATION, '') = 'D', `+own+`
		FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?
		ORDER BY INDEX_NAME <> 'PRIMARY', INDEX_NAME, SEQ_IN_INDEX`)
}

// addPart adds the next part of an index, and the index with its first part.
func (c *catalog) addPart(index engine.Index, part engine.IndexPart) {
	index.Method = strings.ToLower(index.Method)
	index.Primary = index.Name == primaryName
	if index.Method == "spatial" || index.Method == "fulltext" {
		part.Prefix = 0 // the server's own affair
	}
	all := c.table.Indexes
	if n := len(all); n == 0 || all[n-1].Name != index.Name {
		all = append(all, index)
	}
	last := &all[len(all)-1]
	last.Parts = append(last.Parts, part)
	c.table.Indexes = all
}
