package chaos

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"

	"godwit/internal/task"
)

// TestAWorkerThatIsKilledAtEveryPlaceLosesNothing takes three migrations through
// all places at which it matters what has been done: at each a worker kills
// itself, and the next one goes on.
func TestAWorkerThatIsKilledAtEveryPlaceLosesNothing(t *testing.T) {
	t.Parallel()
	for _, journey := range []struct {
		spec   []string
		places string
	}{
		{undoSpecs[0].lines, "plan made, backup committed, table cut, before load, finishing step done, before sequence, cleaned up"},
		{undoSpecs[1].lines, "plan committed, tables set aside, shard claimed, before commit, verify begins, after sequence, cleanup committed"},
		{undoSpecs[0].lines, "table created, table committed, chunk read, after commit, shard compared"},
	} {
		t.Run(journey.places, func(t *testing.T) {
			t.Parallel()
			s := undoStage(t)
			var m *migration
			for place := range strings.SplitSeq(journey.places, ", ") {
				w := s.worker(place + ":1:kill")
				if m == nil {
					m = s.start(append([]string{"shards: {rows: 1000, parallel: 2}", "keep_old: 0s"}, journey.spec...)...)
				}
				w.awaitDead()
			}
			s.worker()
			m.succeeds()
			await(t, limit, "the cleanup", func() bool { return m.describe().Status == enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED })
			s.arrived("pets")
			m.adds("pets")
			require.EqualValues(t, 7000, m.rows())
			m.hasLetGo()
			require.Zero(t, one[int](s, "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'godwit_old%'"), "what was kept is gone")
			require.EqualValues(t, 3001, one[int64](s, "SELECT nextval(pg_get_serial_sequence('pets', 'id'))"), "numbers go on")
		})
	}
}

func TestARollbackWhoseWorkersAreKilledIsCarriedThrough(t *testing.T) {
	t.Parallel()
	for _, spec := range undoSpecs {
		t.Run(spec.name, func(t *testing.T) {
			t.Parallel()
			s := undoStage(t)
			before := s.snapshot()
			g := newGate(t)
			w := s.worker(g.at("after sequence"), "undone:1:kill")
			m := s.start(append([]string{"shards: {rows: 1000, parallel: 2}"}, spec.lines...)...)
			g.reached()
			m.ask("rollback")
			g.open()
			w.awaitDead()
			s.worker("undo committed:1:kill").awaitDead()
			s.worker()
			require.Equal(t, 6, m.wait().code)
			require.Equal(t, before, s.snapshot())
			m.hasLetGo()
		})
	}
}

func TestASuccessIsRolledBackWhileTheOldTablesAreKept(t *testing.T) {
	t.Parallel()
	for _, spec := range undoSpecs {
		t.Run(spec.name, func(t *testing.T) {
			t.Parallel()
			s := undoStage(t)
			before, source := s.snapshot(), s.sourceSnapshot()
			s.worker()
			m := s.start(append([]string{"keep_old: 1h"}, spec.lines...)...)
			m.succeeds()
			st := m.status()
			require.NotEmpty(t, st.Kept)
			require.Contains(t, st.Can, "rollback")
			s.arrived("pets")
			refused := s.godwit("cancel", m.id, "--no-wait")
			require.NotZero(t, refused.code)
			require.Contains(t, refused.err, "you can rollback")

			m.must("rollback", m.id, "--wait")
			require.Equal(t, task.RolledBack, m.status().State)
			require.Equal(t, before, s.snapshot())
			require.Equal(t, source, s.sourceSnapshot())
			m.hasLetGo()
		})
	}
}

func TestAFailedMigrationIsRolledBack(t *testing.T) {
	t.Parallel()
	for _, how := range []struct {
		name string
		line string
		code int
	}{{"by an operator", "on_failure: hold", 3}, {"by itself", "on_failure: rollback", 6}} {
		t.Run(how.name, func(t *testing.T) {
			t.Parallel()
			s := undoStage(t)
			s.onSource("UPDATE visits SET cost = 999999.99 WHERE id = 77")
			s.onTarget("ALTER TABLE visits ADD CHECK (cost < 900000)")
			before, source := s.snapshot(), s.sourceSnapshot()
			s.worker()
			m := s.start("tables: [pets, visits]", "schema: existing", "existing_rows: replace", "retry: {rounds: 0}", how.line)
			a := m.wait()
			require.Equal(t, how.code, a.code, a.out)
			require.Contains(t, a.out, "id=77")
			if how.code == 3 {
				m.must("rollback", m.id, "--wait")
			}
			require.Equal(t, before, s.snapshot())
			require.Equal(t, source, s.sourceSnapshot())
			m.hasLetGo()
		})
	}
}
