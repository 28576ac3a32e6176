package chaos

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
)

// indexed gives the table orders two indexes besides its key, and an own
// definition of what there is before anything is done.
func (g *ground) indexed() (before []string) {
	g.t.Helper()
	g.exec("CREATE INDEX orders_country ON orders (country)", "CREATE INDEX orders_note ON orders (note, country)")
	return g.indexes()
}

// indexes are those of the table orders as the server has them, and what is
// wrong with them.
func (g *ground) indexes() []string {
	g.t.Helper()
	if g.postgres() {
		return g.texts(`SELECT pg_get_indexdef(indexrelid) || CASE WHEN indisvalid AND indisready AND indislive THEN '' ELSE ' INVALID' END
			FROM pg_index WHERE indrelid = 'orders'::regclass ORDER BY 1`)
	}
	return g.texts(`SELECT CONCAT(INDEX_NAME, ' ', MIN(NON_UNIQUE), ' ', GROUP_CONCAT(COLUMN_NAME ORDER BY SEQ_IN_INDEX)) FROM information_schema.STATISTICS
		WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'orders' GROUP BY INDEX_NAME ORDER BY 1`)
}

// reindex starts an index rebuild from a spec's lines and returns at once.
func (g *ground) reindex(lines ...string) *backfill {
	g.t.Helper()
	file := filepath.Join(g.t.TempDir(), "reindex.yaml")
	text := "kind: reindex\ndatabase: " + g.connection() + "\ntable: orders\n" + strings.Join(lines, "\n") + "\n"
	require.NoError(g.t, os.WriteFile(file, []byte(text), 0o600))
	g.stage.count++
	m := &backfill{&migration{g.stage, fmt.Sprintf("reindex-%s-%d", g.name, g.stage.count)}, g}
	g.must("run", file, "--id", m.id)
	return m
}

// isOver waits until nothing of a rebuild is kept any more.
func (m *backfill) isOver() {
	m.t.Helper()
	await(m.t, limit, "the cleanup", func() bool { return m.describe().Status == enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED })
	require.Zero(m.t, m.ground.number("SELECT count(*) FROM "+m.ground.ledger("claim")+" WHERE migration = '"+m.id+"'"))
}

// transaction is one of the application's that has changed a row of orders, and
// lasts until end is called.
func (g *ground) transaction() (end func()) {
	g.t.Helper()
	tx, err := g.sql.BeginTx(context.Background(), nil)
	require.NoError(g.t, err)
	_, err = tx.ExecContext(context.Background(), "UPDATE orders SET visits = visits + 1 WHERE id = 10")
	require.NoError(g.t, err)
	var once sync.Once
	end = func() { once.Do(func() { _ = tx.Rollback() }) }
	g.t.Cleanup(end)
	return end
}

// killBuilders ends the sessions that the ledger says a migration works in.
func (m *backfill) killBuilders() {
	m.t.Helper()
	for _, session := range m.ground.texts("SELECT session_id FROM " + m.ground.ledger("shard") + " WHERE migration = '" + m.id + "' AND session_id IS NOT NULL AND session_id <> ''") {
		number, _, _ := strings.Cut(session, "@")
		statement := "KILL CONNECTION " + number
		if m.ground.postgres() {
			statement = "SELECT pg_terminate_backend(" + number + ")"
		}
		m.ground.exec(statement)
	}
}
