package postgres

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"godwit/internal/engine"
)

const (
	// walkedBlocks is the size up to which a table is measured out row by row.
	walkedBlocks = 1500
	// walkedRows is how many rows a range may have to be measured out.
	walkedRows = 250_000
	// Blocks that are looked at in a larger table: so many for each shard, and
	// never fewer or more in all.
	sampledPerShard = 20
	minSampled      = 400
	maxSampled      = 10_000
)

// Split returns the inner bounds of shards that have about so many rows each.
// It goes by the keys in some of the table's blocks, picked at random, so that
// the time hardly depends on the size of the table, and neither statistics nor
// the spread of the keys matter. A small table or range is measured out exactly.
// The bounds are keys of rows, ascending; a Where is not looked at.
func (s *Server) Split(ctx context.Context, sel engine.Select, rows int64) ([]engine.Key, error) {
	if len(sel.Table.Key) == 0 {
		return nil, nil
	}
	bounds, err := s.split(ctx, sel, max(1, rows))
	if err != nil {
		return nil, fmt.Errorf("cut %s into shards: %w", sel.Table.Name, err)
	}
	return bounds, nil
}

func (s *Server) split(ctx context.Context, sel engine.Select, rows int64) ([]engine.Key, error) {
	oid, err := tableOID(ctx, s.on, sel.Table.Name)
	if err != nil {
		return nil, err
	}
	var blocks int64
	if err := s.on.QueryRow(ctx, partsCTE+`SELECT coalesce(sum(pg_relation_size(oid)), 0)::bigint / current_setting('block_size')::bigint FROM parts`,
		oid).Scan(&blocks); err != nil {
		return nil, err
	}
	if blocks <= walkedBlocks {
		return s.walk(ctx, sel, rows)
	}
	planned, err := s.plannedRows(ctx, sel.Table.Name)
	if err != nil {
		return nil, err
	}
	sampled := min(max(sampledPerShard*planned/rows, minSampled), maxSampled)
	if sampled > blocks/4 {
		return s.walk(ctx, sel, rows)
	}
	bounds, estimate, err := s.sample(ctx, sel, rows, float64(sampled)/float64(blocks))
	if err != nil {
		return nil, err
	}
	if estimate <= walkedRows { // a small part of the table, or hardly any row is left in it
		return s.walk(ctx, sel, rows)
	}
	return bounds, nil
}

// walk measures out shards of the same size by going through the index.
func (s *Server) walk(ctx context.Context, sel engine.Select, rows int64) ([]engine.Key, error) {
	text, err := query{table: sel.Table, exprs: []string{"count(*)"}, within: sel.Range}.text()
	if err != nil {
		return nil, err
	}
	counted, err := s.readText(ctx, indexOnly+text)
	if err != nil {
		return nil, err
	}
	total, err := strconv.ParseInt(string(counted[0][0]), 10, 64)
	if err != nil {
		return nil, err
	}
	shards := (total + rows/2) / rows
	var bounds []engine.Key
	for i := int64(1); i < shards; i++ {
		bound, found, err := s.Bound(ctx, sel, i*total/shards-(i-1)*total/shards)
		if err != nil {
			return nil, err
		}
		if !found { // rows were removed meanwhile
			break
		}
		bounds = append(bounds, bound)
		sel.Range.After = bound
	}
	return bounds, nil
}

// sample cuts the range where the rows in a fraction of the table's blocks are
// cut into equal parts, and estimates how many rows the range has.
func (s *Server) sample(ctx context.Context, sel engine.Select, rows int64, fraction float64) (bounds []engine.Key, estimate float64, err error) {
	t := sel.Table
	aliases := make([]string, len(t.Key))
	exprs := keyColumns(t)
	for i := range exprs {
		aliases[i] = "k" + strconv.Itoa(i+1)
		exprs[i] += " AS " + aliases[i]
	}
	picked, err := query{table: t, exprs: exprs, within: sel.Range,
		sample: "SYSTEM (" + strconv.FormatFloat(100*fraction, 'f', -1, 64) + ")"}.text()
	if err != nil {
		return nil, 0, err
	}
	list := strings.Join(aliases, ", ")
	step := max(1, float64(rows)*fraction) // rows of a shard in the sample
	read, err := s.readText(ctx, fmt.Sprintf(`SET LOCAL work_mem = '64MB'; SET LOCAL jit = off;
		WITH numbered AS (SELECT *, row_number() OVER (ORDER BY %s) AS n, count(*) OVER () AS total FROM (%s) picked),
		cut AS (SELECT *, greatest(1, round(total / %s::numeric))::bigint AS shards FROM numbered)
		SELECT %[1]s, total FROM cut WHERE n * shards / total > (n - 1) * shards / total ORDER BY n`,
		list, picked, strconv.FormatFloat(step, 'f', -1, 64)))
	if err != nil || len(read) == 0 {
		return nil, 0, err
	}
	total, err := strconv.ParseInt(string(read[0][len(t.Key)]), 10, 64)
	if err != nil {
		return nil, 0, err
	}
	for _, row := range read[:len(read)-1] { // the last one is the end of the sample
		bound, err := readKey(t, row)
		if err != nil {
			return nil, 0, err
		}
		bounds = append(bounds, bound)
	}
	return bounds, math.Round(float64(total) / fraction), nil
}
