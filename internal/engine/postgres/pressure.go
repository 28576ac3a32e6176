package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"godwit/internal/fault"
	"godwit/internal/task"
)

// Follower is a standby, or a slot, that gets this server's WAL.
type Follower struct {
	Name string
	// Behind is how many bytes of WAL it has not applied (a slot: confirmed) yet,
	// and Position what it has.
	Behind, Position int64
	// Lag is how far it is behind by the server's own account; 0 where it does
	// not tell, as for one that stands still.
	Lag time.Duration
	// Attached tells whether anybody reads.
	Attached bool
}

// Followers lists the standbys that stream from this server, the logical slots,
// and the physical slots that nobody reads, with the server's own position.
// Slots of which WAL is lost already hold nothing back and are left out.
func (s *Server) Followers(ctx context.Context) (followers []Follower, position int64, err error) {
	if err := s.mayMonitor(ctx, "see its standbys"); err != nil {
		return nil, 0, err
	}
	if err := s.on.QueryRow(ctx, "SELECT (pg_current_wal_lsn() - '0/0')::bigint").Scan(&position); err != nil {
		return nil, 0, err
	}
	rows, err := s.on.Query(ctx, `SELECT coalesce(nullif(application_name, ''), 'standby') || coalesce('@' || host(client_addr), ''), (coalesce(replay_lsn, flush_lsn, write_lsn, sent_lsn, '0/0') - '0/0')::bigint,
			coalesce(extract(epoch FROM replay_lag), 0)::float8, true
		FROM pg_stat_replication r WHERE state IN ('catchup', 'streaming') AND NOT EXISTS (SELECT FROM pg_replication_slots s WHERE s.active_pid = r.pid AND s.slot_type = 'logical')
		UNION ALL SELECT 'slot ' || slot_name, (coalesce(confirmed_flush_lsn, restart_lsn) - '0/0')::bigint, 0, active
		FROM pg_replication_slots WHERE (slot_type = 'logical' OR NOT active) AND NOT temporary
			AND coalesce(confirmed_flush_lsn, restart_lsn) IS NOT NULL AND coalesce(wal_status, '') <> 'lost'`)
	if err != nil {
		return nil, 0, err
	}
	defer rows.Close()
	for rows.Next() {
		var f Follower
		var lag float64
		if err := rows.Scan(&f.Name, &f.Position, &lag, &f.Attached); err != nil {
			return nil, 0, err
		}
		f.Behind, f.Lag = max(0, position-f.Position), time.Duration(lag*float64(time.Second))
		followers = append(followers, f)
	}
	return followers, position, rows.Err()
}

// Lag is how far this server, a standby, is behind what it has received, by
// the commit times of its primary: since its own start, when it has applied
// nothing since. One that receives nothing is an error.
func (s *Server) Lag(ctx context.Context) (time.Duration, error) {
	var standby, receives bool
	var seconds float64
	err := s.on.QueryRow(ctx, `SELECT pg_is_in_recovery(), EXISTS (SELECT FROM pg_stat_wal_receiver WHERE pid IS NOT NULL),
		CASE WHEN NOT pg_is_in_recovery() OR pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn() THEN 0
			ELSE coalesce(extract(epoch FROM clock_timestamp() - coalesce(pg_last_xact_replay_timestamp(), pg_postmaster_start_time())), 0) END::float8`).Scan(&standby, &receives, &seconds)
	switch {
	case err != nil:
		return 0, err
	case !standby:
		return 0, fault.New(task.Config, "it is not a standby: it follows no server")
	case !receives:
		return 0, fault.New(task.Transient, "it receives no WAL from its primary")
	}
	return time.Duration(max(0, seconds) * float64(time.Second)), nil
}

// Active is how many backends run a statement, without the one that asks.
func (s *Server) Active(ctx context.Context) (count int64, err error) {
	if err := s.mayMonitor(ctx, "see what others run"); err != nil {
		return 0, err
	}
	err = s.on.QueryRow(ctx, `SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND backend_type = 'client backend' AND pid <> pg_backend_pid()`).Scan(&count)
	return count, err
}

// IOWaits is how many processes of the server wait for the disk.
func (s *Server) IOWaits(ctx context.Context) (count int64, err error) {
	if err := s.mayMonitor(ctx, "see what others wait for"); err != nil {
		return 0, err
	}
	err = s.on.QueryRow(ctx, `SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'IO' AND pid <> pg_backend_pid()`).Scan(&count)
	return count, err
}

// LogBytes is the size of the WAL as it is on the disk now, kept segments
// included.
func (s *Server) LogBytes(ctx context.Context) (size int64, err error) {
	err = s.on.QueryRow(ctx, `SELECT coalesce(sum(size), 0)::bigint FROM pg_ls_waldir()`).Scan(&size)
	return size, s.monitored(ctx, "see the size of the WAL", err)
}

// ArchiveQueue is how many WAL files wait to be archived.
func (s *Server) ArchiveQueue(ctx context.Context) (count int64, err error) {
	var mode string
	if err := s.on.QueryRow(ctx, `SELECT current_setting('archive_mode')`).Scan(&mode); err != nil {
		return 0, err
	}
	if mode == "off" {
		return 0, fault.New(task.Config, "archive_mode is off: nothing is archived that could queue up")
	}
	err = s.on.QueryRow(ctx, `SELECT count(*) FROM pg_ls_archive_statusdir() WHERE name LIKE '%.ready'`).Scan(&count)
	return count, s.monitored(ctx, "see the queue of the archiver", err)
}

// Oldest is the age of the oldest transaction in any database of the server
// and what has it; 0 for none. Sessions of Godwit are not looked at.
func (s *Server) Oldest(ctx context.Context) (age time.Duration, holder string, err error) {
	if err := s.mayMonitor(ctx, "see the transactions of others"); err != nil {
		return 0, "", err
	}
	var seconds float64
	err = s.on.QueryRow(ctx, `SELECT extract(epoch FROM clock_timestamp() - xact_start)::float8, 'pid ' || pid || coalesce(' of ' || usename, '')
		FROM pg_stat_activity WHERE xact_start IS NOT NULL AND backend_type = 'client backend' AND application_name <> 'godwit'
		ORDER BY xact_start LIMIT 1`).Scan(&seconds, &holder)
	if noRows(err) {
		return 0, "", nil
	}
	return time.Duration(seconds * float64(time.Second)), holder, err
}

// Number is the result of a query of a user's: one row with one number.
func (s *Server) Number(ctx context.Context, query string) (value float64, err error) {
	rows, err := s.on.Query(ctx, query)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	count := 0
	for ; rows.Next(); count++ {
		columns := rows.RawValues()
		if len(columns) != 1 {
			return 0, fault.New(task.Config, "the query returns %d columns, and must return one row with one number", len(columns))
		}
		if err := rows.Scan(&value); err != nil {
			return 0, fault.New(task.Config, "the query must return a number: %w", err)
		}
	}
	if err := rows.Err(); err != nil {
		return 0, err
	}
	if count != 1 {
		return 0, fault.New(task.Config, "the query returns %d rows, and must return one row with one number", count)
	}
	return value, nil
}

// mayMonitor refuses to count what the user cannot see: without the right, the
// server shows the sessions of others with nothing in them.
func (s *Server) mayMonitor(ctx context.Context, what string) error {
	var may bool
	var user string
	err := s.on.QueryRow(ctx, `SELECT pg_has_role(current_user, 'pg_read_all_stats', 'USAGE'), current_user`).Scan(&may, &user)
	if err == nil && !may {
		err = lacksMonitor(user, what)
	}
	return err
}

// monitored explains the error of somebody who may not look.
func (s *Server) monitored(ctx context.Context, what string, cause error) error {
	var refusal *pgconn.PgError
	if !errors.As(cause, &refusal) || refusal.Code != insufficientPrivilege {
		return cause
	}
	var user string
	if err := s.on.QueryRow(ctx, "SELECT current_user").Scan(&user); err != nil {
		return cause
	}
	return lacksMonitor(user, what)
}

func lacksMonitor(user, what string) error {
	return fault.New(task.Config, "user %s may not %s: GRANT pg_monitor TO %s", user, what, Quote(user))
}
