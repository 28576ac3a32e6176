package capture_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/engine"
	"godwit/internal/kind"
	"godwit/internal/task"
)

// hotRows are rows that every writer increments; each writer has the other rows
// whose number leaves its own remainder to itself.
const hotRows = 8

// account is a row as its writer remembers it.
type account struct {
	code string // unique
	n    int64
}

// writers change a table in many transactions at once and remember what was
// committed: the operation log that the copy is compared with.
type writers struct {
	r      *rig
	table  string
	count  int
	wg     sync.WaitGroup
	stop   chan struct{}
	lists  []*ownRows
	hot    [hotRows]atomic.Int64 // increments that were committed
	begun  atomic.Int64
	failed atomic.Pointer[error]
}

// ownRows are those of one writer.
type ownRows struct {
	no   int
	ids  []int64
	rows map[int64]account
	rand *rand.Rand
}

// accounts makes the table with so many rows.
func (r *rig) accounts(rows int) {
	r.exec("CREATE TABLE "+r.quoted("accounts")+" (id int NOT NULL PRIMARY KEY, code varchar(20), n int NOT NULL, note varchar(60), UNIQUE (code))",
		"INSERT INTO "+r.quoted("accounts")+" SELECT n, concat('c', n), n, 'a note about the account' FROM ("+r.numbers(rows)+") numbers")
}

// numbers is a query for n from 1 to rows.
func (r *rig) numbers(rows int) string {
	if r.postgres() {
		return fmt.Sprintf("SELECT n FROM generate_series(1, %d) n", rows)
	}
	digits := "(SELECT 0 d UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9)"
	return fmt.Sprintf("SELECT 1 + a.d + 10*b.d + 100*c.d + 1000*e.d + 10000*f.d AS n FROM %s a, %s b, %s c, %s e, %s f HAVING n <= %d", digits, digits, digits, digits, digits, rows)
}

// write starts so many writers on accounts of that many rows.
func (r *rig) write(count, rows int, seed uint64) *writers {
	w := &writers{r: r, table: r.quoted("accounts"), count: count, stop: make(chan struct{})}
	for no := range count {
		own := &ownRows{no: no, rows: map[int64]account{}, rand: rand.New(rand.NewPCG(seed, uint64(no)))}
		for id := int64(hotRows + 1); id <= int64(rows); id++ {
			if int(id)%count == no {
				own.ids = append(own.ids, id)
				own.rows[id] = account{code: fmt.Sprintf("c%d", id), n: id}
			}
		}
		w.lists = append(w.lists, own)
		w.wg.Go(func() { w.work(own) })
	}
	return w
}

// end stops the writers.
func (w *writers) end(t *testing.T) {
	close(w.stop)
	w.wg.Wait()
	if err := w.failed.Load(); err != nil {
		require.NoError(t, *err, "the application saw an error")
	}
}

func (w *writers) work(own *ownRows) {
	for {
		select {
		case <-w.stop:
			return
		default:
		}
		if err := w.transaction(own); err != nil && kind.Classify(err).Class != task.Busy { // a deadlock among themselves
			w.failed.CompareAndSwap(nil, &err)
			return
		}
		w.begun.Add(1)
		time.Sleep(time.Duration(own.rand.IntN(10)) * time.Millisecond) // or a test of seconds has minutes to drain
	}
}

// transaction does one to four things, and takes one of eight back.
func (w *writers) transaction(own *ownRows) error {
	ctx := context.Background()
	tx, err := w.r.db.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(ctx) //nolint:errcheck // after Commit it does nothing
	change := &change{own: own, rows: map[int64]*account{}}
	for range 1 + own.rand.IntN(4) {
		if err := w.step(ctx, tx, change); err != nil {
			return err
		}
	}
	if own.rand.IntN(8) == 0 {
		return nil
	}
	if err := tx.Commit(ctx); err != nil {
		return err
	}
	change.keep()
	for i, n := range change.hot {
		w.hot[i].Add(n)
	}
	return nil
}

// change is what a transaction does, until it is committed.
type change struct {
	own  *ownRows
	rows map[int64]*account // nil for one that is deleted
	hot  [hotRows]int64
}

// pick chooses a row of its own that is there; false when it hits one that is not.
func (c *change) pick() (int64, account, bool) {
	if len(c.own.ids) == 0 {
		return 0, account{}, false
	}
	id := c.own.ids[c.own.rand.IntN(len(c.own.ids))]
	if a, changed := c.rows[id]; changed {
		if a == nil {
			return 0, account{}, false
		}
		return id, *a, true
	}
	a, there := c.own.rows[id]
	return id, a, there
}

// free chooses a number that no row has.
func (c *change) free(writers int) (int64, bool) {
	id := int64(hotRows+1+c.own.rand.IntN(200_000))*int64(writers) + int64(c.own.no)
	if c.own.rand.IntN(2) == 0 {
		id = -id + int64(2*c.own.no) // the same remainder, below every row
		if int((id%int64(writers)+int64(writers))%int64(writers)) != c.own.no {
			return 0, false
		}
	}
	_, there := c.own.rows[id]
	_, changed := c.rows[id]
	return id, !there && !changed
}

func (c *change) keep() {
	for id, a := range c.rows {
		if a == nil {
			delete(c.own.rows, id)
			continue
		}
		if _, there := c.own.rows[id]; !there {
			c.own.ids = append(c.own.ids, id)
		}
		c.own.rows[id] = *a
	}
}

func (w *writers) step(ctx context.Context, tx engine.Tx, c *change) error {
	run := func(format string, args ...any) error {
		_, err := tx.Exec(ctx, fmt.Sprintf(format, args...))
		return err
	}
	id, a, there := c.pick()
	switch c.own.rand.IntN(10) {
	case 0, 1, 2:
		if there {
			a.n++
			c.rows[id] = &a
			return run("UPDATE %s SET n = n + 1 WHERE id = %d", w.table, id)
		}
	case 3:
		hot := c.own.rand.IntN(hotRows)
		c.hot[hot]++
		return run("UPDATE %s SET n = n + 1 WHERE id = %d", w.table, hot+1)
	case 4, 5:
		if free, ok := c.free(w.count); ok {
			made := account{code: fmt.Sprintf("i%d-%d", free, c.own.rand.Uint32()), n: 7}
			c.rows[free] = &made
			return run("INSERT INTO %s (id, code, n) VALUES (%d, '%s', 7)", w.table, free, made.code)
		}
	case 6:
		if there {
			c.rows[id] = nil
			return run("DELETE FROM %s WHERE id = %d", w.table, id)
		}
	case 7:
		if free, ok := c.free(w.count); ok && there {
			c.rows[id], c.rows[free] = nil, &a
			return run("UPDATE %s SET id = %d WHERE id = %d", w.table, free, id)
		}
	default:
		if other, b, also := c.pick(); there && also && id != other {
			first, second := a, b
			first.code, second.code = b.code, a.code
			c.rows[id], c.rows[other] = &first, &second
			return w.swap(run, id, other, a.code, b.code)
		}
	}
	return nil
}

// swap exchanges the unique values of two rows.
func (w *writers) swap(run func(string, ...any) error, id, other int64, code, otherCode string) error {
	if err := run("UPDATE %s SET code = NULL WHERE id = %d", w.table, id); err != nil {
		return err
	}
	if err := run("UPDATE %s SET code = '%s' WHERE id = %d", w.table, code, other); err != nil {
		return err
	}
	return run("UPDATE %s SET code = '%s' WHERE id = %d", w.table, otherCode, id)
}

// remembered are the rows that there have to be: id|code|n.
func (w *writers) remembered() []string {
	var lines []string
	for i := range hotRows {
		lines = append(lines, fmt.Sprintf("%d|c%d|%d", i+1, i+1, int64(i+1)+w.hot[i].Load()))
	}
	for _, own := range w.lists {
		for id, a := range own.rows {
			lines = append(lines, fmt.Sprintf("%d|%s|%d", id, a.code, a.n))
		}
	}
	return lines
}
