package postgres

import (
	"context"
	"strconv"

	"godwit/internal/engine"
)

// BlockRange is a stretch of a table in the order in which it is stored: the
// blocks from From up to Until, Until not included. Until 0 is open above, for
// the last range, because a table can grow after its blocks were counted.
//
// Rows move when they are updated, so ranges cover a table exactly once only
// in one snapshot or while nobody writes. Before PostgreSQL 14 every range
// reads the whole table.
type BlockRange struct {
	From  int64 `json:"from"`
	Until int64 `json:"until"`
}

// Where is the condition for a Select.
func (b BlockRange) Where() string {
	where := "ctid >= '(" + strconv.FormatInt(b.From, 10) + ",0)'::tid"
	if b.Until > 0 {
		where += " AND ctid < '(" + strconv.FormatInt(b.Until, 10) + ",0)'::tid"
	}
	return where
}

// Blocks returns how many blocks a table has; of one in several parts
// (partitions), how many the largest part has, since a BlockRange selects the
// same blocks of every part.
func (s *Server) Blocks(ctx context.Context, name engine.Name) (int64, error) {
	oid, err := tableOID(ctx, s.on, name)
	if err != nil {
		return 0, err
	}
	var blocks int64
	err = s.on.QueryRow(ctx, partsCTE+`SELECT coalesce(max(pg_relation_size(oid)), 0) / current_setting('block_size')::bigint FROM parts`, oid).Scan(&blocks)
	return blocks, err
}

// partsCTE begins a query about a table (its oid is $1) and all that inherits
// from it.
const partsCTE = `WITH RECURSIVE parts (oid) AS (
	SELECT $1::oid UNION SELECT i.inhrelid FROM pg_inherits i JOIN parts p ON i.inhparent = p.oid) `
