package throttle

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"godwit/internal/connection"
	"godwit/internal/engine/mysql"
	"godwit/internal/engine/postgres"
	"godwit/internal/fault"
	"godwit/internal/task"
)

// answerAge is how old an answer may be that several governors share. It is
// shorter than the time between two looks of one of them.
const answerAge = 800 * time.Millisecond

// Watch is a worker's eyes: what the governors of all its migrations ask a
// server at the same time, it asks once. It may be used by many of them.
type Watch struct {
	connections *connection.Registry
	flights     singleflight.Group

	mu      sync.Mutex
	answers map[string]answer
	doors   map[string]chan struct{} // by connection
}

type answer struct {
	value any
	err   error
	at    time.Time
}

// NewWatch returns a Watch over named connections.
func NewWatch(connections *connection.Registry) *Watch {
	return &Watch{connections: connections, answers: map[string]answer{}, doors: map[string]chan struct{}{}}
}

// alone runs f when no other governor of the worker reads its ledger on that
// connection: when the ledger's tables are locked, they do not take a session
// of the server each, one for every migration.
func (w *Watch) alone(ctx context.Context, name string, f func(ctx context.Context) error) error {
	w.mu.Lock()
	door := w.doors[name]
	if door == nil {
		door = make(chan struct{}, 1)
		w.doors[name] = door
	}
	w.mu.Unlock()
	select {
	case door <- struct{}{}:
	case <-ctx.Done():
		return fault.New(task.Transient, "the ledger on connection %s is waited for: %w", name, context.Cause(ctx))
	}
	defer func() { <-door }()
	return f(ctx)
}

// server is what both engines tell about a server.
type server interface {
	Lag(ctx context.Context) (time.Duration, error)
	Active(ctx context.Context) (int64, error)
	IOWaits(ctx context.Context) (int64, error)
	LogBytes(ctx context.Context) (int64, error)
	Oldest(ctx context.Context) (age time.Duration, holder string, err error)
	Number(ctx context.Context, query string) (float64, error)
}

var (
	_ server = (*mysql.Server)(nil)
	_ server = (*postgres.Server)(nil)
)

// server opens a connection's server.
func (w *Watch) server(ctx context.Context, name string) (server, error) {
	c, err := w.connections.Get(name)
	if err != nil {
		return nil, err
	}
	if c.Engine == connection.PostgresEngine {
		pool, err := c.Postgres(ctx)
		if err != nil {
			return nil, err
		}
		return postgres.New(pool), nil
	}
	pool, err := c.MySQL(ctx)
	if err != nil {
		return nil, err
	}
	return mysql.New(pool), nil
}

// engine is the engine of a connection, empty when there is no such connection.
func (w *Watch) engine(name string) string {
	c, err := w.connections.Get(name)
	if err != nil {
		return ""
	}
	return c.Engine
}

// asked asks a question of a connection's server, or takes the answer that
// somebody else has just got. It returns when the context ends, whatever the
// server does.
func asked[T any](ctx context.Context, w *Watch, connection, question string, ask func(context.Context, server) (T, error)) (T, error) {
	var none T
	key := connection + "\x00" + question
	if a, fresh := w.known(key); fresh {
		if a.err != nil {
			return none, a.err
		}
		return a.value.(T), nil
	}
	flight := w.flights.DoChan(key, func() (any, error) {
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), probeTime)
		defer cancel()
		s, err := w.server(limited, connection)
		var value T
		if err == nil {
			value, err = ask(limited, s)
		}
		if err != nil && limited.Err() != nil {
			err = fault.New(task.Transient, "it does not answer within %s", probeTime)
		}
		w.keep(key, answer{value: value, err: err, at: time.Now()})
		return value, err
	})
	select {
	case <-ctx.Done():
		return none, fault.New(task.Transient, "it does not answer within %s", probeTime)
	case r := <-flight:
		if r.Err != nil {
			return none, r.Err
		}
		return r.Val.(T), nil
	}
}

func (w *Watch) known(key string) (answer, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	a, there := w.answers[key]
	return a, there && time.Since(a.at) < answerAge
}

// keep also forgets what nobody asks any more.
func (w *Watch) keep(key string, a answer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for other, old := range w.answers {
		if a.at.Sub(old.at) > time.Minute {
			delete(w.answers, other)
		}
	}
	w.answers[key] = a
}

// number asks a question whose answer is a whole number.
func (w *Watch) number(connection, question string, ask func(context.Context, server) (int64, error)) probe {
	return func(ctx context.Context) (float64, string, error) {
		n, err := asked(ctx, w, connection, question, ask)
		return float64(n), "", err
	}
}

// held is an age with who has it.
type held struct {
	age time.Duration
	who string
}

// oldest asks for the oldest transaction.
func (w *Watch) oldest(connection string) probe {
	return func(ctx context.Context) (float64, string, error) {
		h, err := asked(ctx, w, connection, "oldest transaction", func(ctx context.Context, s server) (held, error) {
			age, who, err := s.Oldest(ctx)
			return held{age, who}, err
		})
		return h.age.Seconds(), h.who, err
	}
}

// query asks a question of a user's.
func (w *Watch) query(connection, sql string) probe {
	return func(ctx context.Context) (float64, string, error) {
		value, err := asked(ctx, w, connection, "query "+sql, func(ctx context.Context, s server) (float64, error) { return s.Number(ctx, sql) })
		return value, "", err
	}
}

// lag asks a replica.
func (w *Watch) lag(connection string) probe {
	return func(ctx context.Context) (float64, string, error) {
		lag, err := asked(ctx, w, connection, "lag", func(ctx context.Context, s server) (time.Duration, error) { return s.Lag(ctx) })
		return lag.Seconds(), "", err
	}
}

// following is what a primary says of those that follow it.
type following struct {
	followers []postgres.Follower
	position  int64
}

// standbys asks a PostgreSQL primary.
func (w *Watch) standbys(connection string) probe {
	behind := newFollowers()
	return func(ctx context.Context) (float64, string, error) {
		f, err := asked(ctx, w, connection, "followers", func(ctx context.Context, s server) (following, error) {
			primary, ok := s.(*postgres.Server)
			if !ok {
				return following{}, fault.New(task.Config, "connection %s is not a PostgreSQL database", connection)
			}
			followers, position, err := primary.Followers(ctx)
			return following{followers, position}, err
		})
		if err != nil {
			return 0, "", err
		}
		lag, who, err := behind.look(time.Now(), f.followers, f.position)
		return lag.Seconds(), who, err
	}
}

// archive asks a PostgreSQL server for the queue of its archiver.
func (w *Watch) archive(connection string) probe {
	return w.number(connection, "archive queue", func(ctx context.Context, s server) (int64, error) {
		primary, ok := s.(*postgres.Server)
		if !ok {
			return 0, fault.New(task.Config, "only PostgreSQL archives, and connection %s is not a PostgreSQL database", connection)
		}
		return primary.ArchiveQueue(ctx)
	})
}

// growth is how much the logs have grown since the first reading.
func (w *Watch) growth(connection string, first func(ctx context.Context, reading string, now int64) (int64, error)) probe {
	size := w.number(connection, "log bytes", func(ctx context.Context, s server) (int64, error) { return s.LogBytes(ctx) })
	return func(ctx context.Context) (float64, string, error) {
		now, _, err := size(ctx)
		if err != nil {
			return 0, "", err
		}
		before, err := first(ctx, fmt.Sprintf("log %s", connection), int64(now))
		return max(0, now-float64(before)), "", err
	}
}

// refusedByServer reports whether a server's error is one that somebody has to
// mend.
func refusedByServer(err error) bool {
	if class, known := mysql.Classify(err); known {
		return class == task.Config
	}
	class, known := postgres.Classify(err)
	return known && (class == task.Config || class == task.Data)
}
