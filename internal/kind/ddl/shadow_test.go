package ddl

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/task"
)

const asShadow = "strategy: shadow\nshards: {rows: 20}\nchunks: {rows: 7}\n"

// filled makes orders with more rows, an index, and a unique column.
func (r *rig) filled(rows int) {
	r.t.Helper()
	r.orders()
	for id := 11; id <= rows; id++ {
		r.exec(fmt.Sprintf("INSERT INTO %s (id, customer, note, price) VALUES (%d, %d, 'n%d', %d)", r.table("orders"), id, 100+id, id, id))
	}
	r.exec("CREATE INDEX orders_customer ON "+r.table("orders")+" (customer)", "CREATE UNIQUE INDEX orders_note ON "+r.table("orders")+" (note)")
}

// widen is an ALTER that no server does directly.
func (r *rig) widen() string {
	return r.pick("ALTER customer TYPE numeric(20)", "MODIFY customer decimal(20)")
}

// beside are the things that an online copy has beside the table.
func (r *rig) beside() []string {
	r.t.Helper()
	query := `SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = '` + r.schema + `' AND TABLE_NAME LIKE '%\_\_gw%'
		UNION ALL SELECT TRIGGER_NAME FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = '` + r.schema + `'`
	if r.postgres() {
		query = `SELECT relname::text FROM pg_class WHERE relname LIKE '%\_\_gw%' AND relkind IN ('r', 'S', 'i')
			UNION ALL SELECT tgname::text FROM pg_trigger WHERE NOT tgisinternal UNION ALL SELECT proname::text FROM pg_proc WHERE proname LIKE '%\_\_gw%'`
	}
	return r.list(query)
}

func (r *rig) list(query string) (found []string) {
	r.t.Helper()
	rows, err := r.db.Query(context.Background(), query)
	require.NoError(r.t, err, query)
	defer rows.Close() //nolint:errcheck // Err tells
	for rows.Next() {
		var name string
		require.NoError(r.t, rows.Scan(&name))
		found = append(found, name)
	}
	require.NoError(r.t, rows.Err())
	return found
}

// contents are the rows of orders, whatever the types of their columns are.
func (r *rig) contents() []string {
	r.t.Helper()
	text := "CONCAT_WS('|', id, customer, note, price, state)"
	if r.postgres() {
		text = "concat_ws('|', id, customer, note, price, state)"
	}
	return r.list("SELECT " + text + " FROM " + r.table("orders") + " ORDER BY id")
}

func TestAnOnlineCopyTakesTheTablesPlaceAndTheOldOneIsKept(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.filled(100)
		rows := r.contents()
		j := r.job("copy", r.widen(), asShadow)
		require.NoError(t, j.prepare())
		summary, err := j.verify()
		require.NoError(t, err)
		require.EqualValues(t, 100, summary.Rows)
		result, err := j.cutover()
		require.NoError(t, err)
		require.Equal(t, 24*time.Hour, result.KeepFor)
		require.Equal(t, rows, r.contents())
		require.Contains(t, r.column("customer"), r.pick("numeric", "decimal"))
		require.Contains(t, strings.Join(r.shape(), "\n"), `"orders_customer"`)
		require.NotEmpty(t, r.beside(), "the old table is kept")
		j.cleanup()
		require.Equal(t, rows, r.contents())
		require.Empty(t, r.beside())
		require.Empty(t, r.leftovers())
	})
}

func TestAutoCopiesOnlineWhatCannotBeDoneDirectlyAndSaysWhy(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.filled(20)
		before := r.beside()
		plan, err := r.job("plan", r.widen(), "").plan()
		require.NoError(t, err)
		require.Contains(t, strings.Join(plan.Tables[0].Notes, "\n"), "an online copy of the table: ")
		require.Contains(t, strings.Join(plan.Statements, "\n"), "orders__gw_new")
		require.Equal(t, before, r.beside(), "a plan changes nothing")
		direct, err := r.job("plan", "ADD COLUMN region varchar(16)", "").plan()
		require.NoError(t, err)
		require.Contains(t, strings.Join(direct.Tables[0].Notes, "\n"), "a change of the catalog alone")
		_, err = r.job("plan", r.widen(), "strategy: direct\n").plan()
		require.ErrorContains(t, err, "`strategy: auto` makes an online copy")
	})
}

func TestChangesOfEveryPhaseAreInTheNewTable(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.filled(100)
		change := func(id int) {
			r.exec(fmt.Sprintf("UPDATE %s SET price = price + 1 WHERE id = %d", r.table("orders"), id),
				fmt.Sprintf("DELETE FROM %s WHERE id = %d", r.table("orders"), id+1),
				fmt.Sprintf("UPDATE %s SET id = %d WHERE id = %d", r.table("orders"), 1000+id, id+2),
				fmt.Sprintf("INSERT INTO %s (id, customer, note, price) VALUES (%d, 1, 'new%d', 5)", r.table("orders"), 2000+id, id))
		}
		j := r.job("changes", r.widen(), asShadow)
		_, err := j.preflight()
		require.NoError(t, err)
		_, err = j.d.Backup(context.Background(), j.run(task.Backup))
		require.NoError(t, err)
		change(1)
		require.NoError(t, j.transform())
		change(11)
		_, err = j.verify()
		require.NoError(t, err)
		change(21)
		rows := r.contents()
		_, err = j.cutover()
		require.NoError(t, err)
		require.Equal(t, rows, r.contents())
		change(31)
		_, err = j.d.Tend(context.Background(), j.run(task.Cleanup))
		require.NoError(t, err)
		change(41)
		rows = r.contents()
		require.NoError(t, j.rollback())
		require.Equal(t, rows, r.contents(), "with the changes made since")
		require.Contains(t, r.column("customer"), "bigint")
		require.Empty(t, r.beside())
		require.Empty(t, r.leftovers())
	})
}

func TestARollbackBeforeTheCutOverLeavesNothingOfTheCopy(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.filled(50)
		rows, shape := r.contents(), r.shape()
		for _, stage := range []func(j *job) error{
			func(j *job) error { _, err := j.preflight(); return err },
			(*job).prepare,
			func(j *job) error {
				if err := j.prepare(); err != nil {
					return err
				}
				_, err := j.verify()
				return err
			},
		} {
			j := r.job("back", r.widen(), asShadow)
			require.NoError(t, stage(j))
			require.NoError(t, j.rollback())
			require.NoError(t, j.rollback(), "a second time it does nothing")
			require.Empty(t, r.beside())
			require.Equal(t, rows, r.contents())
			require.Equal(t, shape, r.shape())
		}
	})
}

func TestVerificationFindsWhatSomebodyElseDidToTheCopy(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.filled(60)
		for i, c := range []struct{ damage, what string }{
			{"UPDATE %s SET price = price + 1 WHERE id = 33", "id=33: different price"},
			{"DELETE FROM %s WHERE id = 34", "id=34: missing"},
			{"INSERT INTO %s (id, customer, note, price) VALUES (77, 1, 'x', 1)", "id=77: extra"},
			{"UPDATE %s SET note = 'N35' WHERE id = 35", "id=35: different note"},
			{"UPDATE %s SET customer = NULL WHERE id = 36", "id=36: different customer"},
		} {
			j := r.job(fmt.Sprintf("damage%d", i), r.widen(), asShadow)
			require.NoError(t, j.prepare())
			r.exec(fmt.Sprintf(c.damage, r.table("orders__gw_new")))
			_, err := j.verify()
			require.ErrorContains(t, err, c.what)
			require.Equal(t, task.Mismatch, fault.Of(err).Class)
			require.NoError(t, j.rollback())
		}
	})
}

func TestARowThatBreaksTheNewFormIsNamedAndTheApplicationIsNotBothered(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.filled(40)
		j := r.job("narrow", r.pick("ALTER note TYPE varchar(5), ALTER customer TYPE numeric(20)", "MODIFY note varchar(5), MODIFY customer decimal(20)"), asShadow)
		require.NoError(t, j.prepare())
		r.exec(fmt.Sprintf("UPDATE %s SET note = 'too long' WHERE id = 17", r.table("orders")))
		_, err := j.verify()
		if err == nil {
			_, err = j.cutover()
		}
		require.ErrorContains(t, err, "id=17")
		require.Equal(t, task.Data, fault.Of(err).Class, err.Error())
		r.exec(fmt.Sprintf("UPDATE %s SET note = 'short' WHERE id = 17", r.table("orders")))
		_, err = j.verify()
		require.NoError(t, err)
		_, err = j.cutover()
		require.NoError(t, err)
		require.Equal(t, "short", r.ask("SELECT note FROM "+r.table("orders")+" WHERE id = 17"))

		j.cleanup()
		before := r.job("narrow2", r.pick("ALTER note TYPE varchar(3), ALTER price TYPE numeric(20)", "MODIFY note varchar(3), MODIFY price decimal(20)"), asShadow)
		_, err = before.preflight()
		require.ErrorContains(t, err, "id=17")
		require.Equal(t, task.Data, fault.Of(err).Class)
	})
}

// traffic changes rows of orders until it is stopped, and counts its errors.
type traffic struct {
	stop   chan struct{}
	done   sync.WaitGroup
	failed atomic.Int64
	last   atomic.Value
}

func (r *rig) traffic(writers int) *traffic {
	tr := &traffic{stop: make(chan struct{})}
	for n := range writers {
		conn := r.application()
		tr.done.Add(1)
		go func() {
			defer tr.done.Done()
			defer conn.Close() //nolint:errcheck // it is over
			for i := 0; ; i++ {
				select {
				case <-tr.stop:
					return
				default:
				}
				id := 1 + (i*7+n*13)%80
				for _, s := range []string{
					fmt.Sprintf("UPDATE %s SET price = price + 1 WHERE id = %d", r.table("orders"), id),
					fmt.Sprintf("INSERT INTO %s (id, customer, note, price) VALUES (%d, %d, 'w%d-%d', 1)", r.table("orders"), 10_000*(n+1)+i, i, n, i),
					fmt.Sprintf("DELETE FROM %s WHERE id = %d", r.table("orders"), 10_000*(n+1)+i-5),
				} {
					if _, err := conn.ExecContext(context.Background(), s); err != nil {
						tr.failed.Add(1)
						tr.last.Store(err.Error())
					}
				}
			}
		}()
	}
	return tr
}

func (tr *traffic) end(t *testing.T) {
	close(tr.stop)
	tr.done.Wait()
	require.Zero(t, tr.failed.Load(), "%v", tr.last.Load())
}

func TestAnOnlineCopyUnderWritersLosesNothing(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.filled(80)
		r.exec("CREATE TABLE " + r.table("reference") + " AS SELECT id, price FROM " + r.table("orders"))
		tr := r.traffic(4)
		j := r.job("writers", r.widen(), asShadow)
		j.all()
		time.Sleep(200 * time.Millisecond)
		require.NoError(t, j.rollback())
		time.Sleep(200 * time.Millisecond)
		tr.end(t)
		// All increments are there: each update of a row raised its price by one.
		require.Empty(t, r.beside())
		require.Contains(t, r.column("customer"), "bigint")
		missing := r.ask("SELECT count(*) FROM " + r.table("reference") + " f LEFT JOIN " + r.table("orders") + " o ON o.id = f.id WHERE o.id IS NULL")
		require.Equal(t, "0", missing)
	})
}

func TestARenamedColumnIsSaidAndNotGuessed(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.filled(20)
		rename := r.pick("RENAME COLUMN customer TO buyer", "CHANGE customer buyer bigint NOT NULL")
		_, err := r.job("guess", rename, "strategy: shadow\n").preflight()
		require.ErrorContains(t, err, "renames")
		j := r.job("said", rename, "strategy: shadow\nrenames: {customer: buyer}\ncolumns: {state: \"concat('was ', state)\"}\n")
		j.all()
		require.Equal(t, "105", r.ask("SELECT buyer FROM "+r.table("orders")+" WHERE id = 5"))
		require.Equal(t, "was new", r.ask("SELECT state FROM "+r.table("orders")+" WHERE id = 5"))
		r.exec("UPDATE " + r.table("orders") + " SET buyer = 7 WHERE id = 6")
		require.NoError(t, j.rollback())
		require.Equal(t, "7", r.ask("SELECT customer FROM "+r.table("orders")+" WHERE id = 6"))
		require.Equal(t, "new", r.ask("SELECT state FROM "+r.table("orders")+" WHERE id = 5"), "what the old table had is kept")
		require.Equal(t, engine.Shape(nil), engine.Shape(r.beside()))
	})
}

func TestATableThatIsEmptiedWhileItIsComparedIsNoMismatch(t *testing.T) {
	onPostgres(t, func(t *testing.T, r *rig) {
		r.filled(60)
		j := r.job("emptied", r.widen(), asShadow)
		require.NoError(t, j.prepare())
		turn := j.d.turn(j.id)
		turn.mu.Lock()
		turn.next = time.Now().Add(time.Minute) // it has just been drained
		turn.mu.Unlock()
		r.exec("TRUNCATE public.orders", "INSERT INTO public.orders (id, customer, price) VALUES (7, 1, 1)")
		_, err := j.verify()
		require.NoError(t, err)

		// A snapshot from before it does not keep the rows either.
		run := j.run(task.Verify)
		db, it, err := both(t.Context(), run)
		require.NoError(t, err)
		w := j.d.shadowOf(run, db, it)
		session, err := w.session(t.Context(), db.Steady())
		require.NoError(t, err)
		defer session.Destroy()
		tx, err := session.Begin(t.Context())
		require.NoError(t, err)
		entries, err := db.Entries(t.Context(), tx, it.Reshaping.Capture, engine.Window{Until: 1 << 60, Whole: true}, 10)
		require.NoError(t, err)
		require.Empty(t, entries)
		r.exec("TRUNCATE public.orders")
		found, err := db.Compare(t.Context(), tx, it.Reshaping, engine.Part{}, nil)
		require.NoError(t, err)
		require.False(t, found.Same(), "so it is compared again")
		require.NoError(t, tx.Rollback(t.Context()))
		again, err := w.compareShard(t.Context(), session, engine.Range{})
		require.NoError(t, err)
		require.True(t, again.Same())
		_, err = j.cutover()
		require.NoError(t, err)
		require.Empty(t, r.contents())
	})
}

func TestARowThatBreaksTheNewFormInTheLastMomentIsNamedAsWell(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.filled(40)
		j := r.job("narrow", r.pick("ALTER note TYPE varchar(5), ALTER customer TYPE numeric(20)", "MODIFY note varchar(5), MODIFY customer decimal(20)"), asShadow)
		require.NoError(t, j.prepare())
		r.exec(fmt.Sprintf("UPDATE %s SET note = 'too long' WHERE id = 17", r.table("orders")))
		run := j.run(task.Cutover)
		db, it, err := both(t.Context(), run)
		require.NoError(t, err)
		s := j.d.shadowOf(run, db, it)
		session, err := s.session(t.Context(), nil)
		require.NoError(t, err)
		defer session.Destroy()
		tx, err := session.Begin(t.Context())
		require.NoError(t, err)
		defer tx.Rollback(context.Background()) //nolint:errcheck // it is over
		err = s.last(t.Context(), tx, s.r, &lockReport{})
		require.ErrorContains(t, err, "has no place")
		require.Equal(t, task.Busy, fault.Of(err).Class, "so that it is tried again")
		require.NoError(t, tx.Rollback(t.Context()))
		_, err = j.cutover()
		require.ErrorContains(t, err, "id=17")
		require.Equal(t, task.Data, fault.Of(err).Class)
	})
}
