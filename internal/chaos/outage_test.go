package chaos

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/sandbox"
	"godwit/internal/task"
)

func TestAMigrationOutlivesAKilledTemporalServer(t *testing.T) {
	t.Parallel()
	s := newStage(t, withOwnTemporal(t))
	s.worker()
	m := startSlower(s, *rounds)
	for range *rounds {
		m.awaitMoreRows()
		s.restartTemporal(2 * time.Second)
		m.awaitMoreRows()
		s.restartTemporal(15 * time.Second) // longer than heartbeats may be missed
	}
	m.signal(task.PauseSignal)
	m.awaitState(task.Paused)
	s.restartTemporal(0)
	require.Equal(t, task.Paused, m.state())
	m.signal(task.ResumeSignal)
	m.awaitMoreRows()
	m.must("throttle", m.id, "--rows-per-second", "0")
	m.succeeds()
	s.arrived(shopTables...)
	m.adds(shopTables...)
	m.usedUpNothing()
}

// restartTemporal kills the Temporal server, leaves it dead for a while, and starts it again.
func (r *rig) restartTemporal(dead time.Duration) {
	if err := r.temporal.kill(); err != nil {
		panic(err)
	}
	time.Sleep(dead) // an outage takes its time
	if err := r.temporal.start(context.Background()); err != nil {
		panic(err)
	}
}

func TestAMigrationOutlivesDatabasesThatGoDown(t *testing.T) {
	t.Parallel()
	s := newStage(t, fragileRig(t))
	s.worker()
	m := startSlower(s, *rounds)
	ctx := t.Context()
	outages := []struct {
		what string
		do   func() error
	}{
		{"PostgreSQL is restarted", func() error { return s.target.Restart(ctx) }},
		{"MariaDB is restarted", func() error { return s.source.Restart(ctx) }},
		{"PostgreSQL is killed", func() error { return crash(ctx, s.target) }},
		{"MariaDB is killed", func() error { return crash(ctx, s.source) }},
	}
	for range *rounds {
		for _, outage := range outages {
			m.awaitMoreRows()
			require.NoError(t, outage.do(), outage.what)
		}
	}
	m.awaitMoreRows()
	m.must("throttle", m.id, "--rows-per-second", "0")
	m.succeeds()
	s.arrived(shopTables...)
	m.adds(shopTables...)
}

func crash(ctx context.Context, server *sandbox.Server) error {
	if err := server.Kill(); err != nil {
		return err
	}
	return server.Resume(ctx)
}

func TestAMigrationOutlivesConnectionsThatAreDropped(t *testing.T) {
	t.Parallel()
	s, random := newStage(t, sturdyRig(t)), dice(t)
	// A database of its own, so that no other test's sessions are dropped.
	s.ownSource(fmt.Sprintf("CREATE TABLE orders LIKE %[1]s.orders; INSERT INTO orders SELECT * FROM %[1]s.orders; ANALYZE TABLE orders", sourceDatabase))
	s.worker()
	m := s.start("tables: [orders]", "shards: {rows: 10000, parallel: 4}", fmt.Sprintf("throttle: {rows_per_second: %d}", orderCount()/(20**rounds)))
	for range 10 * *rounds {
		m.awaitMoreRows()
		time.Sleep(time.Duration(random.IntN(500)) * time.Millisecond) // the moment is what is random
		s.dropTargetSessions()
		s.dropSourceSessions()
	}
	require.Equal(t, task.Transform, m.status().Phase, "the last drop came before the end of the copy")
	require.Positive(t, m.countEvents("attempt failed"), "the worker has felt it")
	m.must("throttle", m.id, "--rows-per-second", "0")
	for range 5 * *rounds { // at full speed, and into the comparison
		time.Sleep(time.Duration(random.IntN(1000)) * time.Millisecond)
		s.dropSourceSessions()
	}
	m.succeeds()
	s.arrived("orders")
	m.adds("orders")
}

// dropTargetSessions ends every session that Godwit has with the target.
func (s *stage) dropTargetSessions() {
	s.t.Helper()
	one[int](s, `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'godwit%'`)
}

// dropSourceSessions ends every other session with the source's database.
func (s *stage) dropSourceSessions() {
	s.t.Helper()
	s.onSource(`FOR session IN (SELECT id FROM information_schema.processlist WHERE db = DATABASE() AND id <> CONNECTION_ID()) DO
	BEGIN NOT ATOMIC DECLARE CONTINUE HANDLER FOR SQLEXCEPTION BEGIN END; KILL session.id; END; END FOR`)
}
