package capture_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"godwit/internal/capture"
	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/task"
)

// codes is a table and a copy of it in which codes have to be unique.
func (r *rig) codes() (*engine.Capture, *engine.Projection) {
	r.exec("CREATE TABLE "+r.quoted("codes")+" (id int NOT NULL PRIMARY KEY, code varchar(20) NOT NULL)",
		"CREATE TABLE "+r.quoted("codes_copy")+" (id bigint NOT NULL PRIMARY KEY, code varchar(20) NOT NULL, CONSTRAINT one_code UNIQUE (code))",
		"INSERT INTO "+r.quoted("codes")+" SELECT n, concat('c', n) FROM ("+r.numbers(400)+") numbers")
	c := r.captured("codes")
	return c, r.same(c, "codes_copy")
}

func TestValuesThatGoRoundInManyBatchesFindTheirPlaces(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		c, p := r.codes()
		y := r.copying(c, p, 1000, 1000, 1)
		require.NoError(t, y.copy(1))
		// Every row takes the code of the next one, in an order that no batch has.
		for i := range 400 {
			id := (i*7)%400 + 1
			r.exec(fmt.Sprintf("UPDATE %s SET code = 'c%d' WHERE id = %d", r.quoted("codes"), id%400+1, id))
		}
		d := y.drainer(r.db)
		settle(t, r, c, d)
		require.Equal(t, r.rows("SELECT id, code FROM "+r.quoted("codes")+" ORDER BY id", 2), r.rows("SELECT id, code FROM "+r.quoted("codes_copy")+" ORDER BY id", 2))
	})
}

func TestTwoRowsThatReallyHaveTheSameValueAreBothNamed(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		c, p := r.codes()
		y := r.copying(c, p, 1000, 1000, 1)
		require.NoError(t, y.copy(1))
		d := y.drainer(r.db)
		settle(t, r, c, d)
		r.exec("UPDATE "+r.quoted("codes")+" SET code = 'same' WHERE id IN (17, 300)", "UPDATE "+r.quoted("codes")+" SET code = 'alone' WHERE id = 18")
		var err error
		for range 8 {
			if _, err = d.Sweep(context.Background()); err != nil {
				break
			}
		}
		require.Error(t, err)
		require.Equal(t, task.Data, fault.Of(err).Class)
		require.ErrorContains(t, err, "17")
		require.ErrorContains(t, err, "300")
		require.ErrorContains(t, err, "one_code")
		require.Equal(t, "alone", r.ask("SELECT code FROM "+r.quoted("codes_copy")+" WHERE id = 18"), "others are drained")
		r.exec("UPDATE " + r.quoted("codes") + " SET code = 'other' WHERE id = 300")
		settle(t, r, c, d)
		require.Equal(t, r.rows("SELECT id, code FROM "+r.quoted("codes")+" ORDER BY id", 2), r.rows("SELECT id, code FROM "+r.quoted("codes_copy")+" ORDER BY id", 2))
	})
}

func TestAValueThatDoesNotFitIsAnErrorAndNotLeftOut(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		c, p := r.codes()
		y := r.copying(c, p, 1000, 1000, 1)
		require.NoError(t, y.copy(1))
		r.exec("ALTER TABLE " + r.quoted("codes") + r.by(" ALTER code TYPE varchar(90)", " MODIFY code varchar(90) NOT NULL"))
		// One that clashes makes the batch tolerant, and that is not to hide the other.
		r.exec("UPDATE "+r.quoted("codes")+" SET code = 'c9' WHERE id = 8", "UPDATE "+r.quoted("codes")+" SET code = 'much longer than there is room for it' WHERE id = 7")
		var err error
		for range 3 {
			if _, err = y.drainer(r.db).Sweep(context.Background()); err != nil {
				break
			}
		}
		require.ErrorContains(t, err, "too long")
	})
}

func TestTheLastDrainingIsDoneWhileTheTableIsLocked(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		c, p := r.codes()
		y := r.copying(c, p, 1000, 1000, 1)
		require.NoError(t, y.copy(1))
		r.exec("UPDATE "+r.quoted("codes")+" SET code = concat(code, 'x')", "DELETE FROM "+r.quoted("codes")+" WHERE id = 3")
		require.EqualValues(t, 401, r.finish(c, p).Entries)
		require.Empty(t, r.log(c))
		require.Equal(t, r.rows("SELECT id, code FROM "+r.quoted("codes")+" ORDER BY id", 2), r.rows("SELECT id, code FROM "+r.quoted("codes_copy")+" ORDER BY id", 2))
	})
}

func TestTheLastDrainingTakesRowsFarApartThatExchangeTheirValues(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		c, p := r.codes()
		r.exec("INSERT INTO "+r.quoted("codes")+" SELECT n + 400, concat('c', n + 400) FROM ("+r.numbers(4600)+") numbers",
			"INSERT INTO "+r.quoted("codes_copy")+" SELECT id, code FROM "+r.quoted("codes")+" ORDER BY id",
			"DELETE FROM "+r.db.QuoteName(c.Log)+" WHERE id > 0",
			"UPDATE "+r.quoted("codes")+" SET code = concat('y', id)",
			"UPDATE "+r.quoted("codes")+" SET code = concat('c', 5001 - id)")
		require.EqualValues(t, 10000, r.finish(c, p).Entries)
		require.Empty(t, r.log(c))
		require.Equal(t, r.rows("SELECT id, code FROM "+r.quoted("codes")+" ORDER BY id", 2), r.rows("SELECT id, code FROM "+r.quoted("codes_copy")+" ORDER BY id", 2))
	})
}

// finish drains everything while nobody else can write.
func (r *rig) finish(c *engine.Capture, p *engine.Projection) capture.Drained {
	r.t.Helper()
	ctx := context.Background()
	tx, err := r.db.Begin(ctx)
	require.NoError(r.t, err)
	defer tx.Rollback(ctx) //nolint:errcheck // after Commit it does nothing
	lock := []string{"LOCK TABLE " + r.quoted("codes") + " IN ACCESS EXCLUSIVE MODE"}
	if !r.postgres() {
		lock = []string{"SET autocommit = 0", fmt.Sprintf("LOCK TABLES %s WRITE, %s WRITE, %s WRITE", r.quoted("codes"), r.quoted("codes_copy"), r.db.QuoteName(c.Log))}
	}
	for _, statement := range lock {
		_, err := tx.Exec(ctx, statement)
		require.NoError(r.t, err)
	}
	done, err := r.drainer(c, p).Finish(ctx, tx)
	require.NoError(r.t, err)
	if !r.postgres() { // or the session goes back to the pool with its locks
		for _, statement := range []string{"UNLOCK TABLES", "SET autocommit = 1"} {
			_, err := tx.Exec(ctx, statement)
			require.NoError(r.t, err)
		}
	}
	require.NoError(r.t, tx.Commit(ctx))
	return done
}
