package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
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
	key := int64(xxh3.HashString(name))
	conn, err := s.lock(ctx, key)
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, unlock(ctx, conn, key, name))
	}()
	return f(ctx)
}

// lock polls instead of waiting in the server, because a session that waits
// for an advisory lock keeps every CREATE INDEX CONCURRENTLY waiting.
func (s *Server) lock(ctx context.Context, key int64) (*pgxpool.Conn, error) {
	for pause := lockPollFirst; ; pause = min(2*pause, lockPollLast) {
		conn, err := s.pool.Acquire(ctx)
		if err != nil {
			return nil, err
		}
		var locked bool
		if err := conn.QueryRow(ctx, "SELECT pg_try_advisory_lock($1)", key).Scan(&locked); err != nil {
			destroy(conn) // it may have the lock
			return nil, err
		}
		if locked {
			return conn, nil
		}
		conn.Release()
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(pause):
		}
	}
}

func unlock(ctx context.Context, conn *pgxpool.Conn, key int64, name string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	var held bool
	err := conn.QueryRow(ctx, "SELECT pg_advisory_unlock($1)", key).Scan(&held)
	if err == nil && held {
		conn.Release()
		return nil
	}
	destroy(conn)
	if err != nil {
		return fault.New(task.Transient, "the connection that held the lock %q was lost: %w", name, err)
	}
	return fault.New(task.Transient, "the lock %q was no longer held at the end of what it protects", name)
}
