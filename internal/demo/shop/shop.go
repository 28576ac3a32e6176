// Package shop fills a MySQL or MariaDB database with a shop that looks like a real one: ten tables with every kind of key
// (numbers, text that ignores case, bytes, composite, none), foreign keys, most types, and the text that is apt to get lost
// on the way. The demo, the tests and the benchmarks copy it.
//
// It promises that the same Options make the same rows on both engines, that there are exactly as many as were asked for,
// and that they belong together: foreign keys hold and an order's total is that of its items. Nothing depends on the time
// or the time zone. It leaves to others where the database is; it has to be there and empty, with local_infile = ON.
package shop

import (
	"context"
	"database/sql"
	_ "embed"
	"fmt"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// DefaultRows is how many rows a shop has unless it is told otherwise, and MinRows the fewest it can have.
const (
	DefaultRows = 1_000_000
	MinRows     = 1_000
)

// Options say what shop is made. The zero value is the usual one.
type Options struct {
	Rows int64  // of all tables together; 0 is DefaultRows
	Seed uint64 // shops of different seeds differ
	// Progress is told how many rows are on their way to the server and how many there will be. It is called from several
	// goroutines at once.
	Progress func(done, total int64)
}

// Count is how many rows a table gets.
type Count struct {
	Table string
	Rows  int64
}

// loaders is how many sessions write at once. What limits them is the server.
const loaders = 3

//go:embed schema.sql
var schema string

// Seed makes the tables and fills them. When it fails, what it has made stays.
func Seed(ctx context.Context, db *sql.DB, o Options) error {
	s, err := plan(o)
	if err != nil {
		return err
	}
	for statement := range strings.SplitSeq(schema, ";\n") {
		if strings.TrimSpace(statement) == "" {
			continue
		}
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("make the shop's tables: %w", err)
		}
	}
	if err := s.fill(ctx, db, o.Progress); err != nil {
		return err
	}
	// The planner's statistics would come by themselves, some time later.
	for _, t := range s.tables() {
		if _, err := db.ExecContext(ctx, "ANALYZE TABLE "+t.name); err != nil {
			return fmt.Errorf("analyze %s: %w", t.name, err)
		}
	}
	return nil
}

// Counts tells what Seed with the same options makes.
func Counts(o Options) ([]Count, error) {
	s, err := plan(o)
	if err != nil {
		return nil, err
	}
	var counts []Count
	for _, t := range s.tables() {
		counts = append(counts, Count{Table: t.name, Rows: t.rows})
	}
	return counts, nil
}

// shop is the plan of one: how many there are of everything. Rows are numbered from 1, and each can be made by itself.
type shop struct {
	seed uint64

	total, customers, products, orders, items, stocks, sessions, rates, audits int64
}

func plan(o Options) (*shop, error) {
	s := &shop{seed: o.Seed, total: o.Rows}
	if s.total == 0 {
		s.total = DefaultRows
	}
	if s.total < MinRows {
		return nil, fmt.Errorf("a shop of %d rows is too small: it has %d at the least", s.total, MinRows)
	}
	s.customers, s.products, s.orders = s.total*8/100, s.total*2/100, s.total*20/100
	s.sessions, s.rates, s.stocks = s.total*4/100, s.total/100, s.products*stockedIn
	for order := range s.orders {
		s.items += s.itemsOf(order + 1)
	}
	others := int64(categoryCount() + len(places))
	s.audits = s.total - s.customers - s.products - s.orders - s.items - s.stocks - s.sessions - s.rates - others
	return s, nil
}

// table is how one is filled: write appends the lines of one unit, which is one row except for the items of an order.
type table struct {
	name    string
	columns string // as LOAD DATA takes them
	rows    int64
	units   int64
	pieces  int64 // loaded by different sessions; 1 where the server lets only one at a time anyway
	write   func(l *lines, unit int64)
}

// fill loads all tables, the biggest first.
func (s *shop) fill(ctx context.Context, db *sql.DB, progress func(done, total int64)) error {
	var done atomic.Int64
	count := func(rows int64) {
		if now := done.Add(rows); progress != nil {
			progress(now, s.total)
		}
	}
	group, loading := errgroup.WithContext(ctx)
	group.SetLimit(loaders)
	for _, t := range s.tables() {
		for piece := range t.pieces {
			from, to := t.units*piece/t.pieces, t.units*(piece+1)/t.pieces
			group.Go(func() error { return s.load(loading, db, t, from, to, count) })
		}
	}
	if err := group.Wait(); ctx.Err() != nil {
		return ctx.Err() // the driver only tells of a connection that is broken
	} else if err != nil {
		return err
	}
	if done.Load() != s.total {
		return fmt.Errorf("%d rows of a shop of %d were made", done.Load(), s.total)
	}
	return nil
}
