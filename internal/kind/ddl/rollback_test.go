package ddl

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"godwit/internal/fault"
	"godwit/internal/task"
)

func (r *rig) undoing(id string) *job {
	return r.job(id, "ADD COLUMN region varchar(16), DROP COLUMN note", "undo: ALTER TABLE "+r.table("orders")+" DROP COLUMN region, ADD COLUMN note varchar(20)\n")
}

func TestAChangeIsTakenBackByItsUndoAndTheTableIsFreeAgain(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.orders()
		j := r.undoing("undo")
		require.NoError(t, j.prepare())
		result, err := j.cutover()
		require.NoError(t, err)
		require.Len(t, result.Kept, 1)
		require.Equal(t, "24h0m0s", result.KeepFor.String())
		require.Equal(t, "definition of "+r.table("orders"), result.Kept[0].What)
		backups, err := j.run(task.Cleanup).Ledger.Backups(t.Context())
		require.NoError(t, err)
		require.Contains(t, backups[0].Where, "note")
		_, err = r.job("other", "ADD COLUMN a int", "").preflight()
		require.ErrorContains(t, err, "is being migrated by undo")
		require.NoError(t, j.rollback())
		require.Empty(t, r.column("region"))
		require.NotEmpty(t, r.column("note"))
		require.Contains(t, strings.Join(j.events("change taken back"), "\n"), "but the table's definition is not what it was: missing: columns in the order")
		require.NoError(t, j.rollback(), "asked for again, there is nothing to do")
		again := r.job("other", "ADD COLUMN a int", "")
		again.all()
	})
}

func TestAChangeWithoutUndoCannotBeTakenBackAndSaysSoBefore(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.orders()
		j := r.job("final", "ADD COLUMN region varchar(16)", "")
		result, err := j.preflight()
		require.NoError(t, err)
		require.Contains(t, strings.Join(result.Warnings, "\n"), "point of no return")
		require.NoError(t, j.prepare())
		cut, err := j.cutover()
		require.NoError(t, err)
		require.Empty(t, cut.Kept, "there is nothing that would have to be kept")
		err = j.rollback()
		require.ErrorContains(t, err, "has been altered, and the spec has no undo")
		require.Equal(t, task.Human, fault.Of(err).Class)
		j.spec.DDL.Undo = "ALTER TABLE " + r.table("orders") + " DROP COLUMN region"
		require.NoError(t, j.rollback(), "an undo that is given later is one")
		require.Empty(t, r.column("region"))
	})
}

func TestAConstraintIsTakenBackAlsoAfterwards(t *testing.T) {
	onPostgres(t, func(t *testing.T, r *rig) {
		r.orders()
		before := r.shape()
		j := r.job("check", "ADD CONSTRAINT cheap CHECK (price < 1000)", "")
		j.all()
		require.NotEqual(t, before, r.shape())
		require.NoError(t, j.rollback())
		require.Equal(t, before, r.shape())
	})
}

func TestAStepThatRowsOfMeanwhileBreakFailsByNameAndIsCleanedUp(t *testing.T) {
	onPostgres(t, func(t *testing.T, r *rig) {
		r.orders()
		before := r.shape()
		j := r.job("meanwhile", "ADD CONSTRAINT noted UNIQUE (note)", "")
		_, err := j.preflight()
		require.NoError(t, err)
		r.exec("UPDATE public.orders SET note = 'n9' WHERE id = 10")
		err = j.prepare()
		require.ErrorContains(t, err, "noted")
		require.Equal(t, task.Data, fault.Of(err).Class)
		require.Empty(t, r.leftovers(), "no invalid index stays, whether it is rolled back or not")
		r.exec("UPDATE public.orders SET note = 'n10' WHERE id = 10")
		j.all()
		require.ErrorContains(t, j.rollback(), "has no undo")
		require.NotEqual(t, before, r.shape())
	})
}

func TestATableThatHasChangedIsFoundOnResumeAndInTheCutover(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.orders()
		j := r.job("changed", "ADD COLUMN region varchar(16)", "")
		require.NoError(t, j.prepare())
		r.exec("ALTER TABLE " + r.table("orders") + " ADD COLUMN more int")
		_, err := j.cutover()
		require.ErrorContains(t, err, "has changed since the migration began")
		_, err = j.preflight()
		require.ErrorContains(t, err, "changed since the migration began: table "+r.table("orders"))
		r.exec("ALTER TABLE " + r.table("orders") + " DROP COLUMN more")
		_, err = j.preflight()
		require.NoError(t, err)
		_, err = j.cutover()
		require.NoError(t, err)
		_, err = j.preflight()
		require.NoError(t, err, "a retry after the change finds it done")
		require.NotEmpty(t, r.column("region"))
	})
}

func TestASecondMigrationOfATableIsRefusedAndNamesTheFirst(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.orders()
		_, err := r.job("first", "ADD COLUMN a int", "").preflight()
		require.NoError(t, err)
		_, err = r.job("second", "ADD COLUMN b int", "").preflight()
		require.ErrorContains(t, err, "is being migrated by first")
	})
}

func TestADefinitionThatIsNotWhatWasAskedForIsAMismatch(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.orders()
		j := r.job("differs", "ADD COLUMN region varchar(16)", "")
		require.NoError(t, j.prepare())
		it, err := load(t.Context(), j.run(task.Cutover))
		require.NoError(t, err)
		r.exec("ALTER TABLE " + r.table("orders") + " ADD COLUMN region varchar(15)")
		err = compare(t.Context(), j.run(task.Cutover), r.db, it)
		require.ErrorContains(t, err, `missing: column "region"`)
		require.Equal(t, task.Mismatch, fault.Of(err).Class)
	})
}

func TestClonesThatAKilledWorkerHasLeftAreSweptAway(t *testing.T) {
	onMySQL(t, func(t *testing.T, r *rig) {
		r.orders()
		r.exec("CREATE TABLE " + r.table("_godwit_try_left") + " LIKE " + r.table("orders"))
		require.NoError(t, r.db.SweepClones(t.Context()))
		require.Len(t, r.leftovers(), 1, "a young one may be somebody's who is at work")
		soon(t, "it is swept away", func() bool {
			require.NoError(t, New("test").Sweep(t.Context(), r.job("x", "ADD a int", "").run(task.Cleanup)))
			return len(r.leftovers()) == 0
		})
	})
}
