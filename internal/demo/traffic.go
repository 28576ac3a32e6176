package demo

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
)

// The traffic on the shop's orders while their table is altered.
const (
	trafficRate    = 500 // statements a second
	trafficClients = 16
)

// Traffic is an application that goes on writing to the target's table of orders,
// and measures how long each of its statements takes.
type Traffic struct {
	db     *sql.DB
	table  string
	orders int64
	stop   context.CancelFunc
	done   sync.WaitGroup

	lock       sync.Mutex
	statements []statement
	reason     error // of the first that failed
}

// statement is one of the application's.
type statement struct {
	from, until time.Time
	failed      bool
}

// Latencies are how long the statements of a stretch took.
type Latencies struct {
	Statements int           `json:"statements"`
	Failed     int           `json:"failed"`
	P50        time.Duration `json:"p50"`
	P99        time.Duration `json:"p99"`
	Longest    time.Duration `json:"longest"`
}

// OrdersTable is the target's table of orders, with its schema.
func (s *Stage) OrdersTable(ctx context.Context) (name string, err error) {
	db, err := sql.Open("pgx", s.Target.URL(targetDatabase))
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	err = db.QueryRowContext(ctx, "SELECT table_schema || '.orders' FROM information_schema.tables WHERE table_name = 'orders'").Scan(&name)
	return name, err
}

// StartTraffic begins to write to the target's table of orders.
func (s *Stage) StartTraffic(ctx context.Context, table string) (*Traffic, error) {
	db, err := sql.Open("pgx", s.Target.URL(targetDatabase))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(trafficClients)
	db.SetMaxIdleConns(trafficClients)
	t := &Traffic{db: db, table: table}
	if err := db.QueryRowContext(ctx, "SELECT max(id) FROM "+table).Scan(&t.orders); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	ctx, t.stop = context.WithCancel(context.WithoutCancel(ctx))
	due := make(chan struct{})
	t.done.Go(func() {
		defer close(due)
		ticker := time.NewTicker(time.Second / trafficRate)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			select {
			case due <- struct{}{}:
			default: // all clients wait
			}
		}
	})
	for range trafficClients {
		t.done.Go(func() {
			for range due {
				t.write(ctx)
			}
		})
	}
	return t, nil
}

// write changes an order.
func (t *Traffic) write(ctx context.Context) {
	began := time.Now()
	_, err := t.db.ExecContext(ctx, fmt.Sprintf("UPDATE %s SET total = total + 0.01 WHERE id = $1", t.table), 1+rand.Int64N(t.orders))
	if ctx.Err() != nil {
		return
	}
	t.lock.Lock()
	defer t.lock.Unlock()
	t.statements = append(t.statements, statement{began, time.Now(), err != nil})
	if t.reason == nil {
		t.reason = err
	}
}

// Between tells how long the statements took that were under way at a time.
func (t *Traffic) Between(from, until time.Time) Latencies {
	t.lock.Lock()
	defer t.lock.Unlock()
	var l Latencies
	var took []time.Duration
	for _, s := range t.statements {
		if s.until.Before(from) || s.from.After(until) {
			continue
		}
		took = append(took, s.until.Sub(s.from))
		if s.failed {
			l.Failed++
		}
	}
	if l.Statements = len(took); l.Statements > 0 {
		slices.Sort(took)
		l.P50, l.P99, l.Longest = took[len(took)/2], took[len(took)*99/100], took[len(took)-1]
	}
	return l
}

// Close ends the traffic. Its error is why statements failed.
func (t *Traffic) Close() error {
	t.stop()
	t.done.Wait()
	return errors.Join(t.reason, t.db.Close())
}
