package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"time"

	"godwit/internal/fault"
	"godwit/internal/task"
)

// sessionLock begins the names of the locks by which sessions are known. The
// numbers of sessions begin anew with every start of the server, so a session
// holds a user-level lock with a name of its own: only the session that has
// the lock is the one that is meant. The server lets go of such a lock after it
// has rolled back the session's transaction, and anybody can ask who has it.
const sessionLock = "godwit session "

const (
	killWait  = 10 * time.Second // for a killed session to end its transaction
	killCheck = 20 * time.Millisecond
)

// The errors of KILL.
const (
	noSuchThread   = 1094
	notOwnerOfIt   = 1095
	noPrivilegeFor = 1227
)

// sessionName is what Session gives: the number is for people.
func sessionName(id uint64, token string) string {
	return strconv.FormatUint(id, 10) + "@" + token
}

// KillSession ends a session by the name that Conn.Session gave and returns
// when it is gone, its transaction rolled back or committed for good. A
// session that is gone or released already is no error, even when its number
// belongs to another one by now. Sessions of the same user can be ended
// without any privilege.
func (s *Server) KillSession(ctx context.Context, session string) error {
	_, token, found := strings.Cut(session, "@")
	if !found || token == "" {
		return fault.New(task.Internal, "%q does not name a session", session)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, killWait,
		fault.New(task.Busy, "session %s is still there %s after it was told to end", session, killWait))
	defer cancel()
	// One connection for both, so that no restart comes between the look and the act.
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("cannot look for session %s: %w", session, err)
	}
	defer conn.Close()
	for {
		alive, err := terminate(ctx, conn, session, sessionLock+token)
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
func terminate(ctx context.Context, conn *sql.Conn, session, lock string) (alive bool, err error) {
	var holder sql.NullInt64
	if err := conn.QueryRowContext(ctx, "SELECT IS_USED_LOCK(?)", lock).Scan(&holder); err != nil {
		return false, fmt.Errorf("cannot look for session %s: %w", session, err)
	}
	if !holder.Valid {
		return false, nil
	}
	_, err = conn.ExecContext(ctx, "KILL CONNECTION "+strconv.FormatInt(holder.Int64, 10))
	switch number(err) {
	case noSuchThread: // it is ending
		return true, nil
	case notOwnerOfIt, noPrivilegeFor:
		return true, fault.New(task.Config, "cannot end session %s of another user, which an earlier attempt left behind: "+
			"GRANT CONNECTION_ADMIN (on MariaDB: CONNECTION ADMIN) ON *.* TO this user, or end it as its owner: %w", session, err)
	}
	return true, err
}
