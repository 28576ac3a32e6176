package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
)

// application writes to the table orders while a backfill runs. It remembers
// what it has done to which row: that is the oracle for what only it changes.
type application struct {
	g        *ground
	ending   chan struct{}
	finished sync.WaitGroup

	mu           sync.Mutex
	visits       map[int64]int64 // added to a row
	balance      map[int64]int64 // added to a row
	added        map[int64]bool  // rows that it has made and not deleted
	done, failed int             // transactions committed, and ended by the server for a deadlock or a lock
	err          error           // that should not have been
}

// deed is a transaction of the application.
type deed struct {
	statements []string
	between    time.Duration // waited after each statement
	record     func()        // called under the lock when it is committed
}

func newApplication(g *ground) *application {
	a := &application{g: g, ending: make(chan struct{}), visits: map[int64]int64{}, balance: map[int64]int64{}, added: map[int64]bool{}}
	g.t.Cleanup(a.end)
	return a
}

// run has so many sessions do deeds, one after the other, until stop.
func (a *application) run(sessions int, next func(random *rand.Rand) deed) {
	random := dice(a.g.t)
	for range sessions {
		own := rand.New(rand.NewPCG(random.Uint64(), random.Uint64()))
		a.finished.Go(func() {
			for {
				select {
				case <-a.ending:
					return
				case <-time.After(3 * time.Millisecond):
				}
				a.mu.Lock()
				d := next(own)
				a.mu.Unlock()
				err := a.commit(d)
				a.mu.Lock()
				switch {
				case err == nil:
					a.done++
					d.record()
				case isContention(err):
					a.failed++
				default:
					a.err = errors.Join(a.err, err)
				}
				a.mu.Unlock()
			}
		})
	}
}

func (a *application) commit(d deed) error {
	tx, err := a.g.sql.BeginTx(context.Background(), nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after Commit it does nothing
	for _, statement := range d.statements {
		if _, err := tx.Exec(statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
		time.Sleep(d.between)
	}
	return tx.Commit()
}

// isContention reports whether a server ended a transaction for a deadlock or
// a lock that it did not get: such a transaction is tried again.
func isContention(err error) bool {
	var theirs *mysql.MySQLError
	var ours *pgconn.PgError
	switch {
	case errors.As(err, &theirs):
		return theirs.Number == 1213 || theirs.Number == 1205 || theirs.Number == 1020 // MariaDB: changed since it was read
	case errors.As(err, &ours):
		return ours.Code == "40P01" || ours.Code == "55P03"
	}
	return false
}

// end lets what is being done finish.
func (a *application) end() {
	select {
	case <-a.ending:
	default:
		close(a.ending)
	}
	a.finished.Wait()
}

func (a *application) stop() {
	a.g.t.Helper()
	a.end()
	require.NoError(a.g.t, a.err)
}

// anyOf picks a row that was there at the beginning.
func (a *application) anyOf(random *rand.Rand) int64 { return (1 + random.Int64N(a.g.size)) * gap }

func (a *application) visit(id, n int64) deed {
	return deed{statements: []string{fmt.Sprintf("UPDATE orders SET visits = visits + %d WHERE id = %d", n, id)}, record: func() { a.visits[id] += n }}
}

// backAndForth adds to a balance and takes it away again.
func (a *application) backAndForth(id, n int64) deed {
	return deed{record: func() {}, statements: []string{
		fmt.Sprintf("UPDATE orders SET balance = balance + %d WHERE id = %d", n, id),
		fmt.Sprintf("UPDATE orders SET balance = balance - %d WHERE id = %d", n, id),
	}}
}

// move moves balance from one row to another.
func (a *application) move(from, to, n int64) deed {
	return deed{record: func() { a.balance[from] -= n; a.balance[to] += n }, statements: []string{
		fmt.Sprintf("UPDATE orders SET balance = balance - %d WHERE id = %d", n, from),
		fmt.Sprintf("UPDATE orders SET balance = balance + %d WHERE id = %d", n, to),
	}}
}

// forget takes a row's region away.
func (a *application) forget(id int64) deed {
	return deed{record: func() {}, statements: []string{fmt.Sprintf("UPDATE orders SET region = NULL WHERE id = %d", id)}}
}

// addOrDelete adds a row without a region somewhere, or deletes one that it
// has added.
func (a *application) addOrDelete(random *rand.Rand) deed {
	id := a.anyOf(random) + 1 + random.Int64N(gap-1)
	if a.added[id] || len(a.added) > 50 && random.IntN(2) == 0 {
		for id = range a.added {
			break
		}
		return deed{record: func() { delete(a.added, id) }, statements: []string{fmt.Sprintf("DELETE FROM orders WHERE id = %d", id)}}
	}
	return deed{record: func() { a.added[id] = true }, statements: []string{
		fmt.Sprintf("INSERT INTO orders (id, country, balance, visits, note) VALUES (%d, 'DE', %d, 1, 'added')", id, id),
	}}
}

// expect does to the table of before what the application has done to orders.
func (a *application) expect() {
	a.g.t.Helper()
	tx, err := a.g.sql.Begin()
	require.NoError(a.g.t, err)
	defer tx.Rollback() //nolint:errcheck // after Commit it does nothing
	exec := func(format string, args ...any) {
		_, err := tx.Exec(fmt.Sprintf(format, args...))
		require.NoError(a.g.t, err)
	}
	for id, n := range a.visits {
		exec("UPDATE orders_before SET visits = visits + %d WHERE id = %d", n, id)
	}
	for id, n := range a.balance {
		exec("UPDATE orders_before SET balance = balance + %d WHERE id = %d", n, id)
	}
	for id := range a.added {
		exec("INSERT INTO orders_before (id, country, balance, visits, note) VALUES (%d, 'DE', %d, 1, 'added')", id, id)
	}
	require.NoError(a.g.t, tx.Commit())
	a.g.size += int64(len(a.added))
}
