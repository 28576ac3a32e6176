package chaos

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
)

// alteration is an online copy of a bank's table accounts.
type alteration struct{ *backfill }

// forms take the table back and forth: after all of them it is as it was.
func (b *bank) forms() []string {
	if b.postgres() {
		return []string{"ALTER n TYPE bigint", "ADD COLUMN extra varchar(20) NOT NULL DEFAULT 'x'", "ALTER n TYPE integer", "DROP COLUMN extra"}
	}
	return []string{"MODIFY n bigint NOT NULL", "ADD COLUMN extra varchar(20) NOT NULL DEFAULT 'x'", "MODIFY n int NOT NULL", "DROP COLUMN extra"}
}

// alter starts the next change of the form and returns at once; the lines are
// what the spec has besides.
func (b *bank) alter(lines ...string) *alteration {
	b.t.Helper()
	forms := b.forms()
	file := filepath.Join(b.t.TempDir(), "ddl.yaml")
	text := fmt.Sprintf("kind: ddl\ndatabase: %s\ntable: accounts\nalter: %q\nstrategy: shadow\n%s\n", b.connection(), forms[b.stage.count%len(forms)], strings.Join(lines, "\n"))
	require.NoError(b.t, os.WriteFile(file, []byte(text), 0o600))
	b.stage.count++
	m := &alteration{&backfill{&migration{b.stage, fmt.Sprintf("ddl-%s-%d", b.name, b.stage.count)}, b.ground}}
	b.must("run", file, "--id", m.id)
	return m
}

// awaitOver waits until an alteration has ended and nothing of it is kept.
func (m *alteration) awaitOver() {
	m.t.Helper()
	await(m.t, limit, "the cleanup", func() bool { return m.describe().Status == enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED })
	m.hasLetGo()
}

// altered makes an alteration from its beginning to its end.
func (b *bank) altered(lines ...string) *alteration {
	b.t.Helper()
	m := b.alter(lines...)
	m.succeeds()
	m.awaitOver()
	return m
}

// things are all that an alteration could have left or taken away: tables,
// triggers, functions, and the form of the table.
func (b *bank) things() []string {
	b.t.Helper()
	if b.postgres() {
		return b.texts(catalog)
	}
	found := b.texts(`SELECT CONCAT(TABLE_TYPE, ' ', TABLE_NAME) FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME NOT LIKE '|_godwit|_%' ESCAPE '|'
		UNION ALL SELECT CONCAT('trigger ', TRIGGER_NAME) FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = DATABASE()
		UNION ALL SELECT CONCAT('routine ', ROUTINE_NAME) FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = DATABASE() ORDER BY 1`)
	var name, text string
	require.NoError(b.t, b.sql.QueryRow("SHOW CREATE TABLE accounts").Scan(&name, &text))
	return append(found, text)
}

// beside are the things that have Godwit's mark in their name.
func (b *bank) beside() []string {
	b.t.Helper()
	return slices.DeleteFunc(b.things(), func(thing string) bool { return !strings.Contains(thing, "__gw") })
}

// isUnlocked makes sure that nobody has a lock on the table when nobody works with it.
func (b *bank) isUnlocked() {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := b.sql.Conn(ctx)
	require.NoError(b.t, err)
	defer conn.Close() //nolint:errcheck // says only that it is closed already
	statements := []string{"SET SESSION lock_wait_timeout = 2", "LOCK TABLES accounts WRITE", "UNLOCK TABLES"}
	if b.postgres() {
		statements = []string{"BEGIN", "SET LOCAL lock_timeout = '2s'", "LOCK TABLE accounts IN ACCESS EXCLUSIVE MODE", "ROLLBACK"}
	}
	for _, statement := range statements {
		_, err := conn.ExecContext(ctx, statement)
		require.NoError(b.t, err, "somebody has the table locked")
	}
}

// session is the one that the ledger says an alteration's cut-over has its lock
// in, by the number that the server knows it by; 0 when there is none.
func (m *alteration) session() (number int64) {
	m.t.Helper()
	var text sql.NullString
	query := fmt.Sprintf("SELECT session_id FROM %s WHERE migration = '%s' AND phase = 'cutover'", m.ground.ledger("shard"), m.id)
	require.NoError(m.t, m.ground.sql.QueryRow(query).Scan(&text))
	before, _, _ := strings.Cut(text.String, "@")
	if before == "" {
		return 0
	}
	_, err := fmt.Sscan(before, &number)
	require.NoError(m.t, err, text.String)
	return number
}

// renamer is the session that waits with the RENAME on MySQL and MariaDB.
func (m *alteration) renamer() int64 {
	m.t.Helper()
	return m.ground.number("SELECT COALESCE(MAX(ID), 0) FROM information_schema.PROCESSLIST WHERE INFO LIKE 'RENAME TABLE%accounts%' AND INFO LIKE '%" + m.ground.name + "%'")
}

// end ends a session at the server.
func (b *bank) end(session int64) {
	b.t.Helper()
	require.Positive(b.t, session, "a session to be ended")
	if b.postgres() {
		b.exec(fmt.Sprintf("SELECT pg_terminate_backend(%d)", session))
		return
	}
	b.exec(fmt.Sprintf("KILL %d", session))
}
