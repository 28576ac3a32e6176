package postgres

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"godwit/internal/fault"
	"godwit/internal/task"
)

// sessionID is the name of the session a of pg_stat_activity. Process ids are
// used again, so the start time is part of it.
const sessionID = `a.pid || '@' || to_char(a.backend_start AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`

const (
	killWait  = 10 * time.Second // for a terminated session to end its transaction
	killCheck = 20 * time.Millisecond
)

// KillSession ends a session by the name that Conn.Session gave and returns
// when it is gone, its transaction rolled back or committed for good. A
// session that is gone already is no error, even when its process id belongs
// to another one by now.
func (s *Server) KillSession(ctx context.Context, session string) error {
	digits, _, _ := strings.Cut(session, "@")
	pid, err := strconv.ParseInt(digits, 10, 32)
	if err != nil {
		return fault.New(task.Internal, "%q does not name a session", session)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, killWait,
		fault.New(task.Busy, "session %s is still there %s after it was told to end", session, killWait))
	defer cancel()
	for {
		alive, err := s.terminate(ctx, int32(pid), session)
		if err != nil && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil || !alive {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(killCheck):
		}
	}
}

// terminate tells the session to end and reports whether it was still there.
func (s *Server) terminate(ctx context.Context, pid int32, session string) (alive bool, err error) {
	var role, me string
	var found *string
	// The start of another role's session may be hidden, but not its database.
	err = s.on.QueryRow(ctx, `SELECT coalesce(a.usename, ''), current_user, `+sessionID+`
		FROM pg_stat_activity a WHERE a.pid = $1 AND a.datname = current_database()`, pid).Scan(&role, &me, &found)
	if noRows(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("cannot look for session %s: %w", session, err)
	}
	if found == nil {
		return true, fault.New(task.Config, "cannot tell whether session %s is still there: its process belongs to %s; "+
			"GRANT pg_read_all_stats, pg_signal_backend TO %s, or end it as its owner", session, Quote(role), Quote(me))
	}
	if *found != session {
		return false, nil
	}
	_, err = s.on.Exec(ctx, `SELECT pg_terminate_backend(a.pid) FROM pg_stat_activity a WHERE a.pid = $1 AND `+sessionID+` = $2`,
		pid, session)
	if sqlState(err) == insufficientPrivilege {
		return true, fault.New(task.Config, "cannot end session %s of %s, which an earlier attempt left behind: GRANT pg_signal_backend TO %s, or end it as its owner: %w",
			session, Quote(role), Quote(me), err)
	}
	return true, err
}
