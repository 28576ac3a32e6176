package chaos

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/task"
)

// inShards make a copy of some steps.
const inShards = "shards: {rows: 1000, parallel: 2}"

// isUntouched checks that nothing of an alteration that was taken back is left,
// and that the table is what the application has made of it.
func (b *bank) isUntouched(m *alteration, things []string) {
	b.t.Helper()
	b.balance()
	require.Equal(b.t, things, b.things())
	b.isUnlocked()
	m.hasLetGo()
}

func TestAnOnlineCopyThatIsCancelledLeavesNothingButTheApplicationsChanges(t *testing.T) {
	t.Parallel()
	for phase, place := range map[string]string{"while it is copied": "after commit", "while it is compared": "shard compared", "before the cut-over": "cut-over begins"} {
		t.Run(phase, func(t *testing.T) {
			t.Parallel()
			onEveryBank(t, 4000, gently, func(b *bank) {
				things := b.things()
				g := newGate(b.t)
				b.worker(g.at(place))
				b.open()
				m := b.alter(inShards)
				g.reached()
				m.ask("cancel")
				time.Sleep(2 * time.Second) // for the worker to hear of it
				g.open()
				require.Equal(b.t, 5, m.wait().code)
				b.isUntouched(m, things)
			})
		})
	}
}

func TestAnOnlineCopyThatIsRolledBackBeforeItsCutoverLeavesNothing(t *testing.T) {
	t.Parallel()
	onEveryBank(t, 4000, gently, func(b *bank) {
		things := b.things()
		b.worker()
		b.open()
		m := b.alter(inShards, "cutover: {mode: manual}")
		await(b.t, limit, "the cut-over to wait", func() bool { return m.status().Attention })
		m.must("rollback", m.id, "--wait")
		require.Equal(b.t, 6, m.wait().code)
		b.isUntouched(m, things)
	})
}

func TestAnOnlineCopyThatIsRolledBackAfterItsCutoverKeepsTheChangesMadeSince(t *testing.T) {
	t.Parallel()
	onEveryBank(t, 4000, gently, func(b *bank) {
		for range 2 { // a column that becomes wider, and one that is added
			things := b.things()
			w := b.worker()
			b.open()
			m := b.alter(inShards, "keep_old: 1h")
			m.succeeds()
			require.NotEqual(b.t, things, b.things())
			cut := b.done()
			await(b.t, limit, "changes since the cut-over", func() bool { return b.done() > cut+200 })
			m.must("rollback", m.id, "--wait")
			require.Equal(b.t, task.RolledBack, m.status().State)
			back := b.done()
			await(b.t, limit, "changes since the rollback", func() bool { return b.done() > back+200 })
			longest := b.longest()
			b.isUntouched(m, things)
			b.t.Logf("the longest statement %s", longest)
			w.stop()
		}
	})
}

func TestAnOnlineCopyThatIsPausedLosesNoChange(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"resumed", "cancelled"} {
		t.Run("and "+end, func(t *testing.T) {
			t.Parallel()
			onEveryBank(t, 4000, gently, func(b *bank) {
				things := b.things()
				b.worker()
				b.open()
				m := b.alter(inShards, "keep_old: 0s", "throttle: {rows_per_second: 500}")
				m.awaitMoreRows()
				m.must("pause", m.id)
				m.awaitState(task.Paused)
				paused := b.done()
				time.Sleep(5 * time.Second) // the application goes on meanwhile
				require.Greater(b.t, b.done(), paused+100)
				require.Zero(b.t, m.countShards(task.Transform, "state = 'running'"))
				if end == "cancelled" {
					m.must("cancel", m.id)
					require.Equal(b.t, 5, m.wait().code)
					b.isUntouched(m, things)
					return
				}
				m.must("throttle", m.id, "--rows-per-second", "0")
				m.must("resume", m.id)
				m.succeeds()
				m.awaitOver()
				b.balance()
				require.Empty(b.t, b.beside())
				require.NotEqual(b.t, things, b.things())
				b.isUnlocked()
			})
		})
	}
}
