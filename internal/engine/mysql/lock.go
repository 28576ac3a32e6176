package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/zeebo/xxh3"

	"godwit/internal/fault"
	"godwit/internal/task"
)

// Bounds of the pause between two looks at a lock that somebody else holds.
const (
	lockPollFirst = 20 * time.Millisecond
	lockPollLast  = 500 * time.Millisecond
)

// WithLock runs f while it holds the lock of that name, which one session of
// the database can hold at a time; it waits for it until ctx is done. The lock
// ends with its session, so a dead worker keeps nobody out. When the session
// was lost while f ran, f may not have been alone and that is an error.
//
// It uses one connection of the pool besides those that f uses, but none while
// it waits: many that wait at once do not starve the one that has the lock.
func (s *Server) WithLock(ctx context.Context, name string, f func(ctx context.Context) error) (err error) {
	key, err := s.lockKey(ctx, name)
	if err != nil {
		return err
	}
	held, err := s.takeLock(ctx, key)
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, held.unlock(ctx, key, name))
	}()
	return f(ctx)
}

// lockKey names the lock to the server, for which such locks belong to no
// database and have at most 64 characters in their names.
func (s *Server) lockKey(ctx context.Context, name string) (string, error) {
	var database sql.NullString
	if err := s.db.QueryRowContext(ctx, "SELECT DATABASE()").Scan(&database); err != nil {
		return "", fmt.Errorf("ask the server for its database: %w", err)
	}
	return fmt.Sprintf("godwit lock %016x", xxh3.HashString(database.String+"\x00"+name)), nil
}

// lockHolder is a session that has a lock.
type lockHolder struct{ session }

func (s *Server) takeLock(ctx context.Context, key string) (*lockHolder, error) {
	for pause := lockPollFirst; ; pause = min(2*pause, lockPollLast) {
		conn, err := s.db.Conn(ctx)
		if err != nil {
			return nil, err
		}
		h := &lockHolder{session{conn: conn}}
		var locked sql.NullInt64
		if err := conn.QueryRowContext(ctx, "SELECT GET_LOCK(?, 0)", key).Scan(&locked); err != nil {
			h.cut() // it may have the lock
			return nil, err
		}
		if locked.Int64 == 1 {
			return h, nil
		}
		h.giveBack()
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(pause):
		}
	}
}

func (h *lockHolder) unlock(ctx context.Context, key, name string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	var released sql.NullInt64
	err := h.conn.QueryRowContext(ctx, "SELECT RELEASE_LOCK(?)", key).Scan(&released)
	if err == nil && released.Int64 == 1 {
		h.giveBack()
		return nil
	}
	h.cut()
	if err != nil {
		return fault.New(task.Transient, "the connection that held the lock %q was lost: %w", name, err)
	}
	return fault.New(task.Transient, "the lock %q was no longer held at the end of what it protects", name)
}
