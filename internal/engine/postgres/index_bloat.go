package postgres

import (
	"context"
	"math"
)

// What a page of a btree index holds besides its entries, in bytes, and what an
// entry takes besides its values.
const (
	pageOverhead  = 24 + 16
	entryOverhead = 4 + 8
	alignment     = 8
	// innerPages is how much the pages above the leaves add, about.
	innerPages = 1.01
)

// indexBloat is how much of a btree index is wasted, in percent of its size:
// measured by pgstattuple where that is there, else estimated by the statistics.
// Where it is not known it is nil, and the words say why.
func (s *Server) indexBloat(ctx context.Context, c *candidate) (bloat *float64, why string, err error) {
	if c.Method != "btree" {
		return nil, "how much of a " + c.Method + " index is wasted cannot be told", nil
	}
	measured, err := s.measuredBloat(ctx, c.oid)
	if err != nil || measured != nil {
		return measured, "", err
	}
	var size, block, entries, fill, width float64
	var nulls, known bool
	err = s.on.QueryRow(ctx, `SELECT pg_relation_size(c.oid)::float8, current_setting('block_size')::float8, greatest(c.reltuples, 0)::float8,
			coalesce((SELECT o.option_value FROM pg_options_to_table(c.reloptions) o WHERE o.option_name = 'fillfactor'), '90')::float8,
			coalesce(sum((1 - s.null_frac) * s.avg_width), 0)::float8, coalesce(bool_or(s.null_frac > 0), false), bool_and(s.avg_width IS NOT NULL)
		FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid JOIN pg_class t ON t.oid = x.indrelid JOIN pg_namespace n ON n.oid = t.relnamespace
		CROSS JOIN LATERAL unnest(x.indkey) WITH ORDINALITY k (attnum, no)
		JOIN pg_attribute own ON own.attrelid = c.oid AND own.attnum = k.no
		LEFT JOIN pg_attribute a ON k.attnum <> 0 AND a.attrelid = t.oid AND a.attnum = k.attnum
		LEFT JOIN pg_stats s ON s.schemaname = n.nspname AND NOT s.inherited AND s.tablename = CASE WHEN k.attnum = 0 THEN c.relname ELSE t.relname END
			AND s.attname = CASE WHEN k.attnum = 0 THEN own.attname ELSE a.attname END
		WHERE c.oid = $1 GROUP BY c.oid, c.reltuples, c.reloptions`, c.oid).Scan(&size, &block, &entries, &fill, &width, &nulls, &known)
	if err != nil {
		return nil, "", err
	}
	if !known || size == 0 {
		return nil, "its columns have no statistics to estimate its bloat by: ANALYZE " + QuoteName(c.Table), nil
	}
	head := 0.0
	if nulls {
		head = alignment // the map of them
	}
	entry := entryOverhead + head + math.Ceil(width/alignment)*alignment
	perPage := max(1, math.Floor((block-pageOverhead)*fill/100/entry))
	pages := 1 + math.Ceil(entries/perPage)*innerPages
	percent := math.Round(1000*max(0, 1-pages*block/size)) / 10
	return &percent, "", nil
}

// measuredBloat asks pgstattuple, which reads the whole index; nil where it is
// not installed, or not for this user.
func (s *Server) measuredBloat(ctx context.Context, oid uint32) (*float64, error) {
	schema, err := s.extension(ctx, "pgstattuple", "pgstatindex(regclass)")
	if err != nil || schema == "" {
		return nil, err
	}
	var percent float64
	err = s.on.QueryRow(ctx, `SELECT greatest(0, 100 * (1 - CASE WHEN p.avg_leaf_density = 'NaN' THEN 0 ELSE p.avg_leaf_density END
			/ coalesce((SELECT o.option_value FROM pg_options_to_table(c.reloptions) o WHERE o.option_name = 'fillfactor'), '90')::float8))
		FROM pg_class c, `+Quote(schema)+`.pgstatindex(c.oid::regclass) p WHERE c.oid = $1`, oid).Scan(&percent)
	percent = math.Round(10*percent) / 10
	return &percent, err
}

// extension is the schema of an extension that has a function which the user
// may call; empty where there is none.
func (s *Server) extension(ctx context.Context, name, function string) (schema string, err error) {
	err = s.on.QueryRow(ctx, `SELECT coalesce((SELECT n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
		WHERE e.extname = $1 AND has_schema_privilege(n.oid, 'USAGE')
			AND coalesce(has_function_privilege(to_regprocedure(quote_ident(n.nspname) || '.' || $2), 'EXECUTE'), false)), '')`, name, function).Scan(&schema)
	return schema, err
}
