package capture_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"godwit/internal/capture"
	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/ledger"
	"godwit/internal/task"
)

func number(digits string) engine.Key {
	return engine.Key{{Kind: engine.NumberKey, Value: digits}}
}

func TestWhatIsCoveredEndsAtEachShardsCheckpoint(t *testing.T) {
	shards := []ledger.Shard{
		{Range: engine.Range{Until: number("10")}, State: ledger.ShardDone},
		{Range: engine.Range{After: number("10"), Until: number("20")}, Checkpoint: number("15"), State: ledger.ShardRunning},
		{Range: engine.Range{After: number("20"), Until: number("30")}, State: ledger.ShardPending},
		{Range: engine.Range{After: number("30")}, Checkpoint: number("31"), State: ledger.ShardFailed},
	}
	require.Equal(t, capture.Coverage{Ranges: []engine.Range{{Until: number("15")}, {After: number("30"), Until: number("31")}}}, capture.Covered(shards))
	for i := range shards {
		shards[i].State = ledger.ShardDone
	}
	require.Equal(t, capture.Coverage{Whole: true, Ranges: []engine.Range{{}}}, capture.Covered(shards))
	require.Equal(t, capture.Coverage{}, capture.Covered(nil), "a copy without shards has passed nothing")
}

func TestADrainerThatWasSupersededWritesNothingMore(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		c, p := r.codes()
		y := r.copying(c, p, 1000, 1000, 1)
		require.NoError(t, y.copy(1))
		frozen := y.drainer(r.db)
		r.exec("UPDATE " + r.quoted("codes") + " SET code = 'new' WHERE id = 1")
		store, err := ledger.Open(ctx, r.db, "successor")
		require.NoError(t, err)
		_, err = store.Migration(y.ledger.ID).Take(ctx, task.Backfill)
		require.NoError(t, err)
		_, err = frozen.Sweep(ctx)
		require.Error(t, err)
		require.Equal(t, task.Superseded, fault.Of(err).Class)
		require.Equal(t, "c1", r.ask("SELECT code FROM "+r.quoted("codes_copy")+" WHERE id = 1"))
		require.Equal(t, []string{"U|1"}, r.log(c))
	})
}

func TestAnEntryThatWasNumberedEarlyAndCommittedLateIsDrained(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		ctx := context.Background()
		c, p := r.codes()
		y := r.copying(c, p, 1000, 1000, 1)
		require.NoError(t, y.copy(1))
		late, err := r.db.Begin(ctx)
		require.NoError(t, err)
		defer late.Rollback(ctx) //nolint:errcheck // after Commit it does nothing
		_, err = late.Exec(ctx, "UPDATE "+r.quoted("codes")+" SET code = 'late' WHERE id = 1")
		require.NoError(t, err)
		r.exec("UPDATE " + r.quoted("codes") + " SET code = 'early' WHERE id = 2")
		d := y.drainer(r.db)
		done, err := d.Sweep(ctx)
		require.NoError(t, err)
		require.EqualValues(t, 1, done.Entries)
		require.NoError(t, late.Commit(ctx))
		settle(t, r, c, d)
		require.Equal(t, []string{"late", "early"}, r.rows("SELECT code FROM "+r.quoted("codes_copy")+" WHERE id < 3 ORDER BY id", 1))
	})
}

func TestACopyWithoutAnIndexToFindRowsByIsRefused(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.people()
		c := r.db.CaptureOf(r.table("people"))
		r.exec("CREATE TABLE " + r.quoted("people_copy") + " (id int NOT NULL PRIMARY KEY, country varchar(2) NOT NULL, no int NOT NULL)")
		err := capture.CheckProjection(c, &engine.Projection{Into: r.table("people_copy"), Key: c.Table.Key})
		require.ErrorContains(t, err, "has no index that begins with (country, no)")
		r.exec("CREATE INDEX again ON " + r.quoted("people_copy") + " (country, no)")
		require.NoError(t, capture.CheckProjection(c, &engine.Projection{Into: r.table("people_copy"), Key: c.Table.Key}))
		require.ErrorContains(t, capture.CheckProjection(c, &engine.Projection{Into: r.table("people_copy"), Key: []string{"country", "gone"}}), "column no of the key")
	})
}
