package backfill

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/kind"
	"godwit/internal/sandbox"
	"godwit/internal/task"
)

const region = `set: {region: "CASE WHEN country IN ('CN','JP') THEN 'apac' ELSE 'eu' END"}
where: "region IS NULL"
shards: {rows: 3000}
`

func TestABackfillChangesEveryRowThatMatchesAndNoOther(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.orders(12_000)
		r.exec("UPDATE " + r.table("orders") + " SET region = 'kept' WHERE id % 10 = 0")
		j := r.job("b1", region)
		summary := j.all()
		require.EqualValues(t, 10_800, summary.Rows)
		require.Equal(t, "0", r.ask("SELECT count(*) FROM "+r.table("orders")+" WHERE region IS NULL"))
		require.Equal(t, "1200", r.ask("SELECT count(*) FROM "+r.table("orders")+" WHERE region = 'kept'"))
		require.Equal(t, "0", r.ask("SELECT count(*) FROM "+r.table("orders")+" WHERE region <> 'kept' AND region <> CASE WHEN country = 'DE' THEN 'eu' ELSE 'apac' END"))
		require.Equal(t, "1", r.savedTables())
		j.cleanup()
		require.Equal(t, "0", r.savedTables())
	})
}

func TestAnUpdateThatIsNotIdempotentIsDoneOnceForEachRow(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.orders(5000)
		for _, backup := range []string{"rows", "none"} {
			r.exec("UPDATE " + r.table("orders") + " SET balance = id")
			j := r.job("once-"+backup, "set: {balance: balance * 100}\nbackup: "+backup+"\nshards: {rows: 1000}\n")
			j.all()
			j.cleanup()
			require.Equal(t, "0", r.ask("SELECT count(*) FROM "+r.table("orders")+" WHERE balance <> id * 100"), backup)
		}
	})
}

func TestExpressionsSeeTheRowAsItWas(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.orders(100)
		r.job("swap", "set: {country: \"CASE WHEN balance > 50 THEN 'XX' ELSE country END\", balance: \"CASE WHEN country = 'XX' THEN -1 ELSE balance + 1 END\"}\n").all()
		require.Equal(t, "0", r.ask("SELECT count(*) FROM "+r.table("orders")+" WHERE balance <> id + 1"))
		require.Equal(t, "50", r.ask("SELECT count(*) FROM "+r.table("orders")+" WHERE country = 'XX'"))
	})
}

func TestRowsThatAppearMeanwhileAreTakenInByFurtherPasses(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.orders(1000)
		ctx := context.Background()
		j := r.job("passes", region)
		_, err := j.preflight()
		require.NoError(t, err)
		_, err = j.b.Backup(ctx, j.run(task.Backup, 0))
		require.NoError(t, err)
		work, err := j.b.PrepareTransform(ctx, j.run(task.Transform, 0))
		require.NoError(t, err)
		for _, no := range work.Open {
			require.NoError(t, j.shard(no))
		}
		r.exec("UPDATE "+r.table("orders")+" SET region = NULL WHERE id IN (3, 4)", "INSERT INTO "+r.table("orders")+" (id, country, balance) VALUES (-5, 'DE', 0)")
		work, err = j.b.FinishTransform(ctx, j.run(task.Transform, 0))
		require.NoError(t, err)
		require.NotEmpty(t, work.Open, "a second pass")
		again, err := j.b.FinishTransform(ctx, j.run(task.Transform, 0))
		require.NoError(t, err)
		require.Equal(t, work.Open, again.Open, "called again, it plans no third one")
		for _, no := range work.Open {
			require.NoError(t, j.shard(no))
		}
		work, err = j.b.FinishTransform(ctx, j.run(task.Transform, 0))
		require.NoError(t, err)
		require.Empty(t, work.Open)
		summary, err := j.verify()
		require.NoError(t, err)
		require.EqualValues(t, 1003, summary.Rows)
		require.Equal(t, "0", r.ask("SELECT count(*) FROM "+r.table("orders")+" WHERE region IS NULL"))
	})
}

func TestRowsThatStillMatchAfterAllPassesEndInAMismatchAndARetryGoesOn(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.orders(300)
		j := r.job("late", region+"passes: 2\n")
		require.NoError(t, j.transform())
		r.exec("UPDATE " + r.table("orders") + " SET region = NULL WHERE id = 7")
		_, err := j.verify()
		require.ErrorContains(t, err, "1 rows of "+r.table("orders")+" still match")
		require.Equal(t, task.Mismatch, fault.Of(err).Class)
		require.NoError(t, r.store.Migration(j.id).Note(context.Background(), task.Event{What: resumed}))
		require.NoError(t, j.transform())
		work, err := j.b.FinishTransform(context.Background(), j.run(task.Transform, 0))
		require.NoError(t, err)
		for _, no := range work.Open {
			require.NoError(t, j.shard(no))
		}
		_, err = j.verify()
		require.NoError(t, err)
		require.Equal(t, "0", r.ask("SELECT count(*) FROM "+r.table("orders")+" WHERE region IS NULL"))
	})
}

func TestARowThatStillMatchesAsItWasWrittenIsNotChangedAgain(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.orders(3000)
		// The sample's rows do not match afterwards, a later one does.
		r.exec("UPDATE " + r.table("orders") + " SET balance = CASE WHEN id <= 2500 THEN 50 ELSE 1 END")
		j := r.job("sampled", "set: {balance: balance * 100}\nwhere: balance < 1000\n")
		result, err := j.preflight()
		require.NoError(t, err)
		require.Empty(t, result.Warnings, "by the sample it looks as if where became false")
		require.NoError(t, j.transform())
		_, err = j.verify()
		require.NoError(t, err)
		require.Equal(t, "500", r.ask("SELECT count(*) FROM "+r.table("orders")+" WHERE balance = 100"))
		require.Equal(t, "2500", r.ask("SELECT count(*) FROM "+r.table("orders")+" WHERE balance = 5000"))
	})
}

func TestWhenSetDoesNotMakeWhereFalseThePlanSaysSo(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.orders(200)
		plan, err := New("test").Plan(context.Background(), r.job("p", "set: {balance: balance + 1}\nwhere: balance < 100\n").planned())
		require.NoError(t, err)
		require.Contains(t, strings.Join(plan.Warnings, "\n"), "set does not make where false: of a sample of 99 rows, 98 would still match")
		require.NotEmpty(t, plan.Statements)
	})
}

func TestValuesComeFromAnotherTable(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.orders(1000)
		r.exec("CREATE TABLE "+r.table("countries")+" (code varchar(2) NOT NULL, region varchar(8) NOT NULL)",
			"INSERT INTO "+r.table("countries")+" VALUES ('CN', 'asia'), ('JP', 'asia')")
		more := fmt.Sprintf("from: %s\non: countries.code = orders.country\nset: {region: countries.region}\nwhere: orders.region IS NULL\n", r.table("countries"))
		r.job("from", more).all()
		require.Equal(t, "0", r.ask("SELECT count(*) FROM "+r.table("orders")+" WHERE country <> 'DE' AND (region IS NULL OR region <> 'asia')"))
		require.NotEqual(t, "0", r.ask("SELECT count(*) FROM "+r.table("orders")+" WHERE country = 'DE' AND region IS NULL"))
	})
}

func TestARowWithSeveralPartnersIsNamed(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.orders(1000)
		r.exec("CREATE TABLE "+r.table("fixes")+" (order_id bigint NOT NULL, region varchar(8) NOT NULL)",
			"INSERT INTO "+r.table("fixes")+" VALUES (5, 'a'), (777, 'b'), (777, 'c')")
		more := fmt.Sprintf("from: %s\non: fixes.order_id = orders.id\nset: {region: fixes.region}\n", r.table("fixes"))
		err := r.job("twice", more).transform()
		require.ErrorContains(t, err, "row id=777")
		require.Equal(t, "0", r.ask("SELECT count(*) FROM "+r.table("orders")+" WHERE region IS NOT NULL AND id <> 5"))
	})
}

func TestTheRowsOfAnotherTableAreNotLocked(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		if r.kind == sandbox.MariaDB {
			return // it locks every row that it reads for an update
		}
		r.orders(1000)
		r.exec("CREATE TABLE "+r.table("countries")+" (code varchar(2) NOT NULL PRIMARY KEY, region varchar(8) NOT NULL)",
			"INSERT INTO "+r.table("countries")+" VALUES ('DE', 'eu')")
		j := r.job("from", fmt.Sprintf("from: %s\non: countries.code = orders.country\nset: {region: countries.region}\n", r.table("countries")))
		_, err := j.preflight()
		require.NoError(t, err)
		_, err = j.b.Backup(t.Context(), j.run(task.Backup, 0))
		require.NoError(t, err)
		it, err := load(t.Context(), j.run(task.Transform, 0))
		require.NoError(t, err)
		save, err := r.db.Save(it.Rewrite, 1, engine.Range{})
		require.NoError(t, err)
		r.locked(save)
		r.exec("UPDATE " + r.table("countries") + " SET region = 'EU'")
	})
}

func TestAValueThatDoesNotFitNamesItsRowAndTheRestIsDone(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.orders(4000)
		r.exec("UPDATE " + r.table("orders") + " SET note = 'far too long for a region' WHERE id = 1234")
		j := r.job("long", "set: {region: \"coalesce(note, 'eu')\"}\nwhere: region IS NULL\nshards: {rows: 1000}\n")
		err := j.transform()
		require.ErrorContains(t, err, "row id=1234, set.region")
		failed := 0
		for no := 1; no <= 4; no++ {
			if j.shard(no) != nil {
				failed++
			}
		}
		require.Equal(t, 1, failed, "only the shard with the row fails")
		require.Equal(t, "1", r.ask("SELECT count(*) FROM (SELECT 1 AS one FROM "+r.table("orders")+" WHERE region IS NULL AND id = 1234) x"))
		r.exec("UPDATE " + r.table("orders") + " SET note = 'ok' WHERE id = 1234")
		j.all()
		require.Equal(t, "0", r.ask("SELECT count(*) FROM "+r.table("orders")+" WHERE region IS NULL"))
	})
}

// planned is what Plan gets.
func (j *job) planned() *kind.Run {
	run := j.run(task.Preflight, 0)
	run.Ledger = nil
	return run
}
