package ddl

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/fault"
	"godwit/internal/kind"
	"godwit/internal/ledger"
	"godwit/internal/task"
)

// shadow is the job's online copy, as a call of a phase has it.
func (j *job) shadow(phase task.Phase) *shadow {
	j.r.t.Helper()
	run := j.run(phase)
	db, it, err := both(context.Background(), run)
	require.NoError(j.r.t, err)
	return j.d.shadowOf(run, db, it)
}

// compared runs a migration up to its cut-over.
func (j *job) compared() {
	j.r.t.Helper()
	require.NoError(j.r.t, j.prepare())
	_, err := j.verify()
	require.NoError(j.r.t, err)
}

func TestWhatFailedWhenTheNamesHadBeenChangedIsFinishedByARetry(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.filled(50)
		for id, swapped := range map[string]func(s *shadow) error{
			"noted": func(s *shadow) error { return s.swap(context.Background()) },
			"not": func(s *shadow) error {
				if err := plans(context.Background(), s.run, s.it, task.Cutover); err != nil {
					return err
				}
				if err := s.prepareSwap(context.Background()); err != nil {
					return err
				}
				in := task.ShardInput{Ref: s.run.Ref, Phase: task.Cutover, Shard: stepsShard}
				_, err := s.run.Attempt(context.Background(), in, "", func(lease *ledger.Lease) error { return s.swapPatiently(context.Background(), lease) })
				return err
			},
		} {
			alter := r.widen()
			if id == "not" {
				alter = r.pick("ALTER customer TYPE bigint", "MODIFY customer bigint")
			}
			j := r.job(id, alter, asShadow)
			j.compared()
			rows := r.contents()
			require.NoError(t, swapped(j.shadow(task.Cutover)))

			// The next run begins from the beginning.
			again := &job{r: r, d: New("test"), id: j.id, spec: j.spec, stop: make(chan struct{})}
			again.all()
			require.Equal(t, rows, r.contents())
			again.cleanup()
			require.Empty(t, r.beside())
		}
	})
}

func TestTheOldTableFollowsWhenItsLastChangesHaveBeenLookedFor(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.filled(50)
		j := r.job("tended", r.widen(), asShadow)
		j.compared()
		require.NoError(t, j.shadow(task.Cutover).swap(context.Background()))
		r.exec("UPDATE " + r.table("orders") + " SET price = price + 1 WHERE id < 9")
		_, err := j.d.Tend(context.Background(), j.run(task.Cutover))
		require.NoError(t, err)
		_, err = j.cutover()
		require.NoError(t, err, "what Godwit writes to the old table is nobody's change of it")
		rows := r.contents()
		require.NoError(t, j.rollback())
		require.Equal(t, rows, r.contents())
		require.Empty(t, r.beside())
	})
}

func TestAnAttemptThatWakesWhenEverythingIsUndoneLeavesNothing(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.filled(20)
		j := r.job("woken", r.widen(), asShadow)
		_, err := j.preflight()
		require.NoError(t, err)
		_, err = j.d.Backup(context.Background(), j.run(task.Backup))
		require.NoError(t, err)
		run := j.run(task.Transform)
		wake := r.hold("before capture", 1, func() error {
			_, err := j.d.PrepareTransform(context.Background(), run)
			return err
		})
		other := &job{r: r, d: New("test"), id: j.id, spec: j.spec, stop: make(chan struct{})}
		require.NoError(t, other.rollback())
		require.Error(t, wake())
		require.Empty(t, r.beside())
	})
}

func TestWhatIsAddedToTheTableMeanwhileIsNotLost(t *testing.T) {
	onMySQL(t, func(t *testing.T, r *rig) {
		r.filled(20)
		j := r.job("added", r.widen(), asShadow)
		j.compared()
		for _, change := range []struct{ add, remove, says string }{
			{"CREATE INDEX by_price ON " + r.table("orders") + " (price)", "DROP INDEX by_price ON " + r.table("orders"), `added: index "by_price"`},
			{"ALTER TABLE " + r.table("orders") + " ALTER state SET DEFAULT 'open'", "ALTER TABLE " + r.table("orders") + " ALTER state SET DEFAULT 'new'", `default "`},
		} {
			r.exec(change.add)
			_, err := j.cutover()
			require.ErrorContains(t, err, change.says)
			require.Equal(t, task.Config, fault.Of(err).Class)
			r.exec(change.remove)
			_, err = j.preflight() // as a retry does
			require.NoError(t, err)
		}
		_, err := j.cutover()
		require.NoError(t, err)
	})
}

func TestARollbackDoesNotLoseAColumnThatTheNewTableHasGot(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.filled(20)
		j := r.job("grown", r.widen(), asShadow)
		j.all()
		r.exec("ALTER TABLE " + r.table("orders") + " ADD COLUMN more int")
		err := j.rollback()
		require.ErrorContains(t, err, "has changed since the cut-over")
		r.exec("ALTER TABLE " + r.table("orders") + " DROP COLUMN more")
		require.NoError(t, j.rollback())
		require.Contains(t, r.column("customer"), "bigint")
		require.Empty(t, r.beside())
	})
}

func TestARenameThatComesThroughDuringARollbackIsTakenBack(t *testing.T) {
	onMySQL(t, func(t *testing.T, r *rig) {
		r.filled(30)
		j := r.job("late", r.widen(), asShadow)
		j.compared()
		require.NoError(t, j.shadow(task.Cutover).prepareSwap(context.Background()))
		rows := r.contents()
		end := r.transaction("UPDATE " + r.table("orders") + " SET price = price WHERE id = 1")
		time.Sleep(gap + 100*time.Millisecond)
		undone := make(chan error, 1)
		go func() { undone <- j.rollback() }()
		soon(t, "the rollback waits for the table", func() bool { return j.waited(func(string) bool { return true }) })
		renamed := make(chan error, 1)
		conn := r.application()
		go func() {
			_, err := conn.ExecContext(context.Background(), "RENAME TABLE "+r.table("orders")+" TO "+r.table("orders__gw_old")+", "+r.table("orders__gw_new")+" TO "+r.table("orders"))
			renamed <- err
		}()
		soon(t, "the RENAME waits", func() bool {
			return r.ask("SELECT count(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE 'RENAME%' AND STATE LIKE 'Waiting for table metadata lock%'") == "1"
		})
		end()
		require.NoError(t, <-renamed)
		require.NoError(t, <-undone)
		require.Contains(t, r.column("customer"), "bigint")
		require.Equal(t, rows, r.contents())
		require.Empty(t, r.beside())
	})
}

func TestNobodyWaitsLongerThanTheTimeoutForATryAndItsLock(t *testing.T) {
	r := &rig{t: t, schema: "public"}
	for timeout, waits := range map[string][]time.Duration{
		"3s":    {100 * time.Millisecond, 200 * time.Millisecond, 400 * time.Millisecond, 800 * time.Millisecond, 1500 * time.Millisecond, 1500 * time.Millisecond},
		"150ms": {75 * time.Millisecond, 75 * time.Millisecond},
	} {
		s := &shadow{run: &kind.Run{Spec: r.job("x", "ADD a int", "cutover: {timeout: "+timeout+"}\n").spec}}
		for i, want := range waits {
			require.Equal(t, want, s.wait(i+1))
			require.LessOrEqual(t, s.wait(i+1)+s.share(), s.run.Spec.DDL.Cutover.Timeout.Std())
		}
		began := time.Now()
		report := &lockReport{limit: s.share(), since: began}
		err := report.within(context.Background(), func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		})
		require.Equal(t, task.Busy, fault.Of(err).Class)
		require.WithinRange(t, time.Now(), began.Add(s.share()), began.Add(s.share()+time.Second))
		require.Equal(t, task.Busy, fault.Of(report.within(context.Background(), func(ctx context.Context) error { return ctx.Err() })).Class, "what comes after it has no time of its own")
	}
}
