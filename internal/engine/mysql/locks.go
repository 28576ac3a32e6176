package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/task"
)

// Blockers are the sessions that have a lock on a table's definition, or wait
// for one, the oldest transaction first. Where the server does not tell whose
// the locks are (see Uncertain), they are all that are in a transaction, as a guess.
func (s *Server) Blockers(ctx context.Context, table engine.Name) ([]engine.Blocker, error) {
	way, err := s.lockView(ctx)
	if err != nil {
		return nil, err
	}
	switch way {
	case metadataLocks:
		return s.blockers(ctx, false, metadataLocksQuery, table.Schema, table.Table)
	case metadataPlugin:
		return s.blockers(ctx, false, metadataPluginQuery, table.Schema, table.Table)
	}
	return s.blockers(ctx, true, transactionsQuery)
}

// WaitsFor are the sessions that the named one is waiting for just now, for a
// lock of the table.
func (s *Server) WaitsFor(ctx context.Context, session string, table engine.Name) ([]engine.Blocker, error) {
	id, _, _ := strings.Cut(session, "@")
	var waits int
	err := s.db.QueryRowContext(ctx, "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = ? AND STATE LIKE 'Waiting for table metadata lock%'", id).Scan(&waits)
	if err != nil || waits == 0 {
		return nil, err
	}
	all, err := s.Blockers(ctx, table)
	return slices.DeleteFunc(all, func(b engine.Blocker) bool { return b.ID == id }), err
}

// Uncertain says what a look at the locks cannot see; empty when it sees all.
func (s *Server) Uncertain(ctx context.Context, table engine.Name) (string, error) {
	way, err := s.lockView(ctx)
	if err != nil || way != transactions {
		return "", err
	}
	remedy := "GRANT PROCESS ON *.* and SELECT ON performance_schema.* to this user, and let its instrument wait/lock/metadata/sql/mdl be on"
	if s.known() == mariadbFlavor {
		remedy = "INSTALL SONAME 'metadata_lock_info', and GRANT PROCESS ON *.* to this user"
	}
	if _, err := s.Blockers(ctx, table); err != nil && isDenied(err) {
		return "which transactions there are is not shown to this user, so no gap can be looked for: " + remedy, nil
	}
	return "the server does not tell whose the locks of a table are, so every old transaction counts as one that may be in the way: " + remedy, nil
}

// lockView is where the locks of tables can be seen.
type lockView int

const (
	transactions   lockView = iota // not at all: only transactions
	metadataLocks                  // performance_schema
	metadataPlugin                 // MariaDB's metadata_lock_info
)

// lockView is found out anew each time: plugins and instruments come and go.
func (s *Server) lockView(ctx context.Context) (lockView, error) {
	if _, _, err := s.learn(ctx); err != nil {
		return 0, err
	}
	count := func(query string) (n int, err error) {
		err = s.db.QueryRowContext(ctx, query).Scan(&n)
		if isDenied(err) || number(err) == noSuchTable {
			return 0, nil
		}
		return n, err
	}
	n, err := count("SELECT COUNT(*) FROM performance_schema.setup_instruments WHERE NAME = 'wait/lock/metadata/sql/mdl' AND ENABLED = 'YES' AND @@performance_schema")
	if err != nil {
		return 0, err
	}
	if n > 0 {
		if _, err := count("SELECT COUNT(*) FROM performance_schema.metadata_locks m JOIN performance_schema.threads t ON FALSE"); err == nil {
			return metadataLocks, nil
		}
	}
	if s.known() != mariadbFlavor {
		return transactions, nil
	}
	n, err = count("SELECT COUNT(*) FROM information_schema.PLUGINS WHERE PLUGIN_NAME = 'METADATA_LOCK_INFO' AND PLUGIN_STATUS = 'ACTIVE'")
	if n > 0 {
		return metadataPlugin, err
	}
	return transactions, err
}

// The queries give: number of the session, user, command, age of its transaction
// in seconds, rows it has changed, whether it waits, statement, whether it is
// Godwit's own.
const (
	metadataLocksQuery = `SELECT t.PROCESSLIST_ID, COALESCE(t.PROCESSLIST_USER, ''), COALESCE(t.PROCESSLIST_COMMAND, ''),
		COALESCE(MAX(TIMESTAMPDIFF(MICROSECOND, x.trx_started, NOW(6))) / 1e6, MAX(t.PROCESSLIST_TIME), 0), COALESCE(MAX(x.trx_rows_modified), -1),
		MAX(m.LOCK_STATUS = 'PENDING'),
		COALESCE(MAX(t.PROCESSLIST_INFO), (SELECT MAX(e.SQL_TEXT) FROM performance_schema.events_statements_current e WHERE e.THREAD_ID = t.THREAD_ID), ''),
		EXISTS (SELECT 1 FROM performance_schema.session_connect_attrs a WHERE a.PROCESSLIST_ID = t.PROCESSLIST_ID AND a.ATTR_NAME = 'program_name' AND a.ATTR_VALUE = 'godwit')
		FROM performance_schema.metadata_locks m JOIN performance_schema.threads t ON t.THREAD_ID = m.OWNER_THREAD_ID
		LEFT JOIN information_schema.INNODB_TRX x ON x.trx_mysql_thread_id = t.PROCESSLIST_ID
		WHERE m.OBJECT_TYPE = 'TABLE' AND m.OBJECT_SCHEMA = ? AND m.OBJECT_NAME = ? AND t.PROCESSLIST_ID <> CONNECTION_ID()
		GROUP BY t.THREAD_ID, t.PROCESSLIST_ID, t.PROCESSLIST_USER, t.PROCESSLIST_COMMAND ORDER BY 4 DESC`

	metadataPluginQuery = `SELECT p.ID, COALESCE(p.USER, ''), COALESCE(p.COMMAND, ''),
		COALESCE(MAX(TIMESTAMPDIFF(MICROSECOND, x.trx_started, NOW(6))) / 1e6, MAX(p.TIME_MS) / 1e3, 0), COALESCE(MAX(x.trx_rows_modified), -1),
		MAX(p.STATE LIKE 'Waiting for table metadata lock%'), COALESCE(MAX(p.INFO), ''),
		EXISTS (SELECT 1 FROM information_schema.METADATA_LOCK_INFO l WHERE l.THREAD_ID = p.ID AND l.TABLE_SCHEMA LIKE 'godwit%' AND l.LOCK_TYPE LIKE 'User%')
		FROM information_schema.METADATA_LOCK_INFO m JOIN information_schema.PROCESSLIST p ON p.ID = m.THREAD_ID
		LEFT JOIN information_schema.INNODB_TRX x ON x.trx_mysql_thread_id = p.ID
		WHERE m.TABLE_SCHEMA = ? AND m.TABLE_NAME = ? AND m.LOCK_TYPE LIKE 'Table%' AND p.ID <> CONNECTION_ID()
		GROUP BY p.ID, p.USER, p.COMMAND ORDER BY 4 DESC`

	transactionsQuery = `SELECT p.ID, COALESCE(p.USER, ''), COALESCE(p.COMMAND, ''), TIMESTAMPDIFF(MICROSECOND, x.trx_started, NOW(6)) / 1e6, x.trx_rows_modified,
		COALESCE(p.STATE, '') LIKE 'Waiting for table metadata lock%', COALESCE(p.INFO, x.trx_query, ''), FALSE
		FROM information_schema.INNODB_TRX x JOIN information_schema.PROCESSLIST p ON p.ID = x.trx_mysql_thread_id
		WHERE p.ID <> CONNECTION_ID() ORDER BY 4 DESC`
)

func (s *Server) blockers(ctx context.Context, guessed bool, query string, args ...any) ([]engine.Blocker, error) {
	var found []engine.Blocker
	err := collect(ctx, s.db, func(rows *sql.Rows) error {
		b := engine.Blocker{Guessed: guessed}
		var id uint64
		var command string
		var seconds float64
		var own bool
		if err := rows.Scan(&id, &b.User, &command, &seconds, &b.Changed, &b.Waits, &b.Statement, &own); err != nil {
			return err
		}
		b.ID, b.Age, b.Statement = strconv.FormatUint(id, 10), time.Duration(seconds*float64(time.Second)), engine.ShortStatement(b.Statement)
		switch {
		case own:
			b.Protected = "it is one of Godwit's own"
		case b.User == "system user", b.User == "event_scheduler", command == "Daemon", strings.HasPrefix(command, "Binlog Dump"),
			strings.HasPrefix(command, "Slave_"), command == "Connect":
			b.Protected = "it is the server's own, or a replica's"
		}
		found = append(found, b)
		return nil
	}, query, args...)
	if err != nil {
		return nil, fmt.Errorf("look who has locks on the table: %w", err)
	}
	return found, nil
}

// EndBlocker ends a session that Blockers has named, unless it is over by now,
// and returns when it is gone.
func (s *Server) EndBlocker(ctx context.Context, b engine.Blocker) error {
	ctx, cancel := context.WithTimeoutCause(ctx, killWait, fault.New(task.Busy, "session %s is still there %s after it was told to end", b.ID, killWait))
	defer cancel()
	_, err := s.db.ExecContext(ctx, "KILL CONNECTION "+b.ID)
	switch number(err) {
	case noSuchThread:
		return nil
	case notOwnerOfIt, noPrivilegeFor:
		return fault.New(task.Config, "cannot end session %s of %s: GRANT CONNECTION ADMIN (on MySQL, CONNECTION_ADMIN) ON *.* to this user: %w", b.ID, b.User, err)
	}
	for err == nil {
		var there int
		if err = s.db.QueryRowContext(ctx, "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = ?", b.ID).Scan(&there); err != nil || there == 0 {
			break
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(killCheck):
		}
	}
	return err
}
