package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"slices"
	"strings"

	"godwit/internal/engine"
)

const (
	// piecesPerShard is how many pieces, which are of uneven size, make up a
	// shard: the more, the more alike the shards.
	piecesPerShard = 4
	// maxPieces is into how many pieces a range is divided at once.
	maxPieces = 64
	// maxDepth is how often a piece that came out too large is divided again
	// before it is measured out row by row.
	maxDepth = 8
)

// Split returns the inner bounds of shards that have about so many rows each.
// It goes by the server's estimates, which it gets from a few pages of the
// index, so that the time does not depend on the size of the table. Only where
// the values of the key give no hint does it walk through the index. The bounds
// are keys of rows, ascending; a Where is not looked at.
func (s *Server) Split(ctx context.Context, sel engine.Select, rows int64) ([]engine.Key, error) {
	if len(sel.Table.Key) == 0 {
		return nil, nil
	}
	rows = max(1, rows)
	sp := &splitter{Server: s, table: sel.Table, rows: rows, piece: max(1, float64(rows)/piecesPerShard)}
	pieces, err := sp.cut(ctx, sel.Range)
	if err != nil {
		return nil, fmt.Errorf("cut %s into shards: %w", sel.Table.Name, err)
	}
	return join(pieces, float64(rows)), nil
}

type splitter struct {
	*Server
	table *engine.Table
	rows  int64
	piece float64 // rows that a piece should have
}

// piece is a stretch of the key that ends with a row's key, the last one with
// the end of the range.
type piece struct {
	until engine.Key
	rows  float64 // estimated
}

// cut divides a whole range.
func (s *splitter) cut(ctx context.Context, r engine.Range) ([]piece, error) {
	estimates, err := s.estimate(ctx, []engine.Range{r})
	if err != nil {
		return nil, err
	}
	if total := estimates[0]; total > 1.5*float64(s.rows) {
		return s.divide(ctx, r, total, 0)
	}
	// The estimate may be of a time when the table was small.
	_, more, err := s.Bound(ctx, engine.Select{Table: s.table, Range: r}, 2*s.rows)
	if err != nil || !more {
		return nil, err
	}
	return s.walk(ctx, r)
}

// divide divides a range of estimated size into pieces. The server's estimates
// of ranges of the same kind are wrong by about the same factor, so they only
// serve to distribute the rows that the whole range is known to have.
func (s *splitter) divide(ctx context.Context, r engine.Range, rows float64, depth int) ([]piece, error) {
	whole := []piece{{until: r.Until, rows: rows}}
	if rows <= 1.5*s.piece {
		return whole, nil
	}
	if depth == maxDepth {
		return s.walk(ctx, r)
	}
	points, err := s.points(ctx, r, int(min(maxPieces, math.Ceil(rows/s.piece))))
	if err != nil {
		return nil, err
	}
	if len(points) == 0 {
		return s.walk(ctx, r)
	}
	ranges := chain(r, points)
	estimates, err := s.estimate(ctx, ranges)
	if err != nil {
		return nil, err
	}
	sum := 0.0
	for _, e := range estimates {
		sum += e
	}
	var pieces []piece
	for i, sub := range ranges {
		divided, err := s.divide(ctx, sub, rows*estimates[i]/sum, depth+1)
		if err != nil {
			return nil, err
		}
		pieces = append(pieces, divided...)
	}
	return pieces, nil
}

// chain cuts a range at the points.
func chain(r engine.Range, points []engine.Key) []engine.Range {
	ranges := make([]engine.Range, 0, len(points)+1)
	for _, point := range points {
		ranges = append(ranges, engine.Range{After: r.After, Until: point})
		r.After = point
	}
	return append(ranges, r)
}

// points returns keys of rows that divide a range into up to n pieces, by
// interpolating between its first and its last row. They ascend, since each is
// looked for above the one before; none when nothing can be interpolated.
func (s *splitter) points(ctx context.Context, r engine.Range, n int) ([]engine.Key, error) {
	first, found, err := s.seek(ctx, query{table: s.table, within: r, order: ascending})
	if err != nil || !found {
		return nil, err
	}
	last, found, err := s.seek(ctx, query{table: s.table, within: r, order: descending})
	if err != nil || !found {
		return nil, err
	}
	same := 0
	for same < len(first) && first[same] == last[same] {
		same++
	}
	if same == len(first) {
		return nil, nil
	}
	below, err := keyParts(s.table, "", last)
	if err != nil {
		return nil, err
	}
	var points []engine.Key
	column := s.table.Column(s.table.Key[same])
	for _, value := range interpolate(column.Type, first[same].Value, last[same].Value, n) {
		at, err := keyParts(s.table, "", append(first[:same:same], engine.KeyValue{Kind: first[same].Kind, Value: value}))
		if err != nil {
			return nil, err
		}
		conditions := []string{compareRow(below, "<", "<"), compareRow(at, "<", "<=")}
		point, found, err := s.seek(ctx, query{table: s.table, within: r, conditions: conditions, order: descending})
		if err != nil {
			return nil, err
		}
		if found {
			points = append(points, point)
			r.After = point
		}
	}
	return points, nil
}

// walk measures out pieces by going through the index.
func (s *splitter) walk(ctx context.Context, r engine.Range) ([]piece, error) {
	last, found, err := s.seek(ctx, query{table: s.table, within: r, order: descending})
	if err != nil || !found {
		return nil, err
	}
	var pieces []piece
	for {
		key, found, err := s.Bound(ctx, engine.Select{Table: s.table, Range: r}, int64(math.Ceil(s.piece)))
		if err != nil {
			return nil, err
		}
		if !found || slices.Equal(key, last) {
			return append(pieces, piece{until: r.Until, rows: s.piece / 2}), nil
		}
		pieces = append(pieces, piece{until: key, rows: s.piece})
		r.After = key
	}
}

// estimate asks the optimizer how many rows each of the ranges has, at least
// one. A query of several SELECTs makes MySQL look into the index, which it
// does not care to do for a single one whose index is forced.
func (s *splitter) estimate(ctx context.Context, ranges []engine.Range) ([]float64, error) {
	var selects []string
	for _, r := range ranges {
		text, err := query{table: s.table, exprs: []string{"1"}, within: r}.text()
		if err != nil {
			return nil, err
		}
		selects = append(selects, text)
	}
	var estimates []float64
	err := collect(ctx, s.db, func(rows *sql.Rows) error {
		estimate, err := scanEstimate(rows)
		estimates = append(estimates, estimate)
		return err
	}, "EXPLAIN FORMAT=TRADITIONAL "+strings.Join(append(selects, "SELECT 1"), " UNION ALL "))
	if err != nil {
		return nil, err
	}
	if len(estimates) < len(ranges) {
		return nil, fmt.Errorf("the server explains %d queries in %d lines", len(ranges)+1, len(estimates))
	}
	return estimates[:len(ranges)], nil
}

// scanEstimate reads the number of rows from a line of EXPLAIN, whose other
// columns are not the same on every server.
func scanEstimate(rows *sql.Rows) (float64, error) {
	columns, err := rows.Columns()
	if err != nil {
		return 0, err
	}
	var estimate sql.NullFloat64
	into := make([]any, len(columns))
	for i, name := range columns {
		into[i] = new(sql.RawBytes)
		if strings.EqualFold(name, "rows") {
			into[i] = &estimate
		}
	}
	err = rows.Scan(into...)
	return max(1, estimate.Float64), err
}

// join puts pieces together to shards and returns the bounds between them.
func join(pieces []piece, rows float64) []engine.Key {
	var bounds []engine.Key
	size := 0.0
	for i := 0; i+1 < len(pieces); i++ {
		size += pieces[i].rows
		if size+pieces[i+1].rows/2 > rows {
			bounds = append(bounds, pieces[i].until)
			size = 0
		}
	}
	return bounds
}
