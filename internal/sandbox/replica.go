package sandbox

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"strconv"

	"godwit/internal/process"
)

// Replica starts a server that follows this one: a streaming standby of PostgreSQL, a replica of MariaDB or MySQL, which
// needs log_bin among the settings of this server. It has everything that this server has had since it was made. Its
// superuser is this server's on PostgreSQL, and its own on the others.
func (s *Server) Replica(ctx context.Context, o Options) (*Server, error) {
	o.primary = s
	o.Settings = maps.Clone(o.Settings)
	if s.Kind == Postgres {
		// A standby must not have less of some things than its primary.
		inherited := maps.Clone(s.options.Settings)
		if inherited == nil {
			inherited = map[string]string{}
		}
		maps.Copy(inherited, o.Settings)
		o.Settings = inherited
		return Start(ctx, s.Kind, o)
	}
	if o.Settings == nil {
		o.Settings = map[string]string{}
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	o.Durable = true                             // after Kill it goes on where it was only when it knows where that is
	o.Settings["server_id"] = strconv.Itoa(port) // unlike those of the others
	o.Settings["relay_log"], o.Settings["relay_log_recovery"] = "relay", "ON"
	replica, err := Start(ctx, s.Kind, o)
	if err != nil {
		return nil, err
	}
	for _, statement := range s.follow() {
		if err := replica.Exec(ctx, "", statement); err != nil {
			return nil, errors.Join(err, replica.Stop())
		}
	}
	return replica, nil
}

// follow are the statements that make a fresh server read everything that this one has logged.
func (s *Server) follow() []string {
	if s.Kind == MariaDB {
		return []string{fmt.Sprintf("CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = %d, MASTER_USER = '%s', MASTER_PASSWORD = '%s', MASTER_CONNECT_RETRY = 1, MASTER_USE_GTID = slave_pos",
			s.Port, superuser, s.password), "START SLAVE"}
	}
	return []string{fmt.Sprintf("CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = %d, SOURCE_USER = '%s', SOURCE_PASSWORD = '%s', SOURCE_CONNECT_RETRY = 1, GET_SOURCE_PUBLIC_KEY = 1",
		s.Port, superuser, s.password), "START REPLICA"}
}

// copyPrimary makes the data directory of a standby.
func (e *postgresEngine) copyPrimary(ctx context.Context, s *Server) error {
	log, err := s.openLog()
	if err != nil {
		return err
	}
	defer log.Close()
	primary := s.options.primary
	cmd := e.program("pg_basebackup", "--pgdata="+s.data(), "--write-recovery-conf", "--checkpoint=fast", "--no-sync",
		fmt.Sprintf("--dbname=host=127.0.0.1 port=%d user=%s application_name=standby_%d", primary.Port, superuser, s.Port))
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = s.Dir, append(serverEnvironment(), "PGPASSWORD="+primary.password), log, log
	if err := os.Mkdir(s.data(), 0o700); err != nil {
		return err
	}
	if err := e.account.own(s.data()); err != nil {
		return err
	}
	return process.RunGently(ctx, cmd)
}
