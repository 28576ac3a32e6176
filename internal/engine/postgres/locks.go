package postgres

import (
	"context"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"godwit/internal/engine"
)

// Blockers are the sessions, and the prepared transactions, that have a lock on
// a table or on a part of it, or wait for one, the oldest transaction first. An
// autovacuum that the server ends by itself for whoever needs the table is none.
//
// Of sessions of other roles the server shows no more than that they are there,
// unless the user may read all statistics.
func (s *Server) Blockers(ctx context.Context, table engine.Name) ([]engine.Blocker, error) {
	oid, err := indexedOID(ctx, s.on, table)
	if err != nil {
		return nil, err
	}
	rows, err := s.on.Query(ctx, blockers, oid)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, scanBlocker)
}

func scanBlocker(row pgx.CollectableRow) (engine.Blocker, error) {
	b := engine.Blocker{Changed: -1}
	var seconds float64
	var text, program, backend string
	var prepared *string
	if err := row.Scan(&b.ID, &b.User, &seconds, &b.Waits, &text, &program, &backend, &prepared); err != nil {
		return b, err
	}
	b.Age = time.Duration(seconds * float64(time.Second))
	b.Statement = engine.ShortStatement(text)
	switch {
	case prepared != nil:
		b.Protected = "the prepared transaction " + engine.ShortStatement(*prepared)
	case program == "godwit":
		b.Protected = "it is one of Godwit's own"
	case backend != "client backend":
		b.Protected = "it is the server's own: " + backend
	}
	return b, nil
}

// WaitsFor are the sessions that the named one is waiting for just now, for a
// lock of a table or, while it builds an index, for the end of their transactions.
func (s *Server) WaitsFor(ctx context.Context, session string, _ engine.Name) ([]engine.Blocker, error) {
	pid, _, _ := strings.Cut(session, "@")
	rows, err := s.on.Query(ctx, `SELECT coalesce(`+sessionID+`, w.pid::text), coalesce(a.usename, ''), coalesce(extract(epoch FROM clock_timestamp() - a.xact_start), -1)::float8,
		false, coalesce(a.query, ''), coalesce(a.application_name, ''), coalesce(a.backend_type, 'client backend'), NULL::text
		FROM unnest(pg_blocking_pids($1::text::int)) w (pid) LEFT JOIN pg_stat_activity a ON a.pid = w.pid ORDER BY a.xact_start`, pid)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, scanBlocker)
}

// blockers looks for the locks on the table $1 and its parts. A session whose
// start is hidden has no name by which it could be ended.
const blockers = partsCTE + `, held AS (
	SELECT l.pid, l.virtualtransaction, bool_or(NOT l.granted) AS waits FROM pg_locks l JOIN parts p ON p.oid = l.relation
	WHERE l.locktype = 'relation' AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND l.pid IS DISTINCT FROM pg_backend_pid()
	GROUP BY l.pid, l.virtualtransaction)
SELECT coalesce(` + sessionID + `, h.pid::text, ''), coalesce(a.usename, x.owner, ''),
	coalesce(extract(epoch FROM clock_timestamp() - coalesce(a.xact_start, x.prepared)), -1)::float8, h.waits, coalesce(a.query, ''),
	coalesce(a.application_name, ''), coalesce(a.backend_type, 'client backend'), x.gid
FROM held h LEFT JOIN pg_stat_activity a ON a.pid = h.pid
LEFT JOIN pg_locks t ON h.pid IS NULL AND t.pid IS NULL AND t.locktype = 'transactionid' AND t.virtualtransaction = h.virtualtransaction
LEFT JOIN pg_prepared_xacts x ON x.transaction = t.transactionid
WHERE a.backend_type IS DISTINCT FROM 'autovacuum worker' OR a.query LIKE '%to prevent wraparound%'
ORDER BY coalesce(a.xact_start, x.prepared)`

// EndBlocker ends a session that Blockers has named, unless it is over by now,
// and returns when it is gone.
func (s *Server) EndBlocker(ctx context.Context, b engine.Blocker) error {
	return s.KillSession(ctx, b.ID)
}

// Uncertain says what a look at the locks cannot see; empty when it sees all.
func (s *Server) Uncertain(ctx context.Context, _ engine.Name) (string, error) {
	var sees bool
	err := s.on.QueryRow(ctx, "SELECT pg_has_role(current_user, 'pg_read_all_stats', 'USAGE')").Scan(&sees)
	if err != nil || sees {
		return "", err
	}
	return "what other roles' sessions do is not shown to this user: GRANT pg_read_all_stats to it, so that it can be told who is waited for", nil
}
