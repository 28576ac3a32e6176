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

// needsPrivilege is the number of the error that names a global privilege.
const needsPrivilege = 1227

// noBinaryLog is the number of the error of a server that has none.
const noBinaryLog = 1381

// Lag is how far this server, a replica, is behind, by its own account: the
// slowest of its sources. One that does not replicate is an error.
func (s *Server) Lag(ctx context.Context) (time.Duration, error) {
	flavor, _, err := s.learn(ctx)
	if err != nil {
		return 0, err
	}
	query, privilege := "SHOW REPLICA STATUS", "REPLICATION CLIENT"
	if flavor == mariadbFlavor {
		query, privilege = "SHOW ALL REPLICAS STATUS", "REPLICA MONITOR"
	}
	sources, err := s.records(ctx, query)
	if err != nil {
		return 0, s.privileged(ctx, "see how far replication is", privilege, err)
	}
	if len(sources) == 0 {
		return 0, fault.New(task.Config, "it is not a replica: it follows no server")
	}
	var lag time.Duration
	for _, source := range sources {
		behind, err := behindBy(source)
		if err != nil {
			return 0, err
		}
		lag = max(lag, behind)
	}
	return lag, nil
}

// behindBy reads the state of one source, whose columns MariaDB and MySQL name
// differently.
func behindBy(source map[string]string) (time.Duration, error) {
	one := func(names ...string) string {
		for _, name := range names {
			if value, there := source[name]; there {
				return value
			}
		}
		return ""
	}
	if text := one("Seconds_Behind_Source", "Seconds_Behind_Master"); text != "" {
		seconds, err := strconv.ParseInt(text, 10, 64)
		return time.Duration(seconds) * time.Second, err
	}
	why := ""
	for _, name := range []string{"Last_IO_Error", "Last_SQL_Error"} {
		if source[name] != "" {
			why += ": " + source[name]
		}
	}
	return 0, fault.New(task.Transient, "it does not replicate (receiving: %s, applying: %s)%s",
		one("Replica_IO_Running", "Slave_IO_Running"), one("Replica_SQL_Running", "Slave_SQL_Running"), why)
}

// Active is how many threads run a statement, without the one that asks.
func (s *Server) Active(ctx context.Context) (int64, error) {
	sum, err := s.globalStatus(ctx, "Threads_running")
	return max(0, sum-1), err
}

// IOWaits is how many reads, writes and syncs of InnoDB are waiting for the disk.
func (s *Server) IOWaits(ctx context.Context) (int64, error) {
	return s.globalStatus(ctx, "Innodb_data_pending_reads", "Innodb_data_pending_writes", "Innodb_data_pending_fsyncs",
		"Innodb_os_log_pending_writes", "Innodb_os_log_pending_fsyncs")
}

// globalStatus adds up counters of the server; one that it does not have is 0.
func (s *Server) globalStatus(ctx context.Context, names ...string) (sum int64, err error) {
	list := make([]string, len(names))
	for i, name := range names {
		list[i] = quoteText(name)
	}
	err = collect(ctx, s.db, func(rows *sql.Rows) error {
		var name string
		var value int64
		if err := rows.Scan(&name, &value); err != nil {
			return err
		}
		sum += value
		return nil
	}, "SHOW GLOBAL STATUS WHERE Variable_name IN ("+strings.Join(list, ", ")+")")
	return sum, err
}

// LogBytes is the size of the binary log and of the undo files, as they are on
// the disk now. Where undo has no files of its own (MariaDB's default until
// 10.11) it is in the system tablespace.
func (s *Server) LogBytes(ctx context.Context) (int64, error) {
	flavor, _, err := s.learn(ctx)
	if err != nil {
		return 0, err
	}
	undo, privilege := "SELECT COALESCE(SUM(FILE_SIZE), 0) FROM information_schema.INNODB_TABLESPACES WHERE SPACE_TYPE = 'Undo'", "REPLICATION CLIENT"
	if flavor == mariadbFlavor {
		undo, privilege = "SELECT COALESCE(SUM(FILE_SIZE), 0) FROM information_schema.INNODB_SYS_TABLESPACES WHERE NAME = 'innodb_system' OR NAME LIKE 'innodb\\_undo%'", "BINLOG MONITOR"
	}
	var sum int64
	if err := s.db.QueryRowContext(ctx, undo).Scan(&sum); err != nil {
		return 0, s.privileged(ctx, "see the size of the undo files", "PROCESS", err)
	}
	logs, err := s.records(ctx, "SHOW BINARY LOGS")
	if number(err) == noBinaryLog {
		return sum, nil
	}
	if err != nil {
		return 0, s.privileged(ctx, "see the size of the binary log", privilege, err)
	}
	for _, log := range logs {
		size, err := strconv.ParseInt(log["File_size"], 10, 64)
		if err != nil {
			return 0, fmt.Errorf("the size of binary log %s: %w", log["Log_name"], err)
		}
		sum += size
	}
	return sum, nil
}

// Oldest is the age of the oldest transaction and what has it; 0 for none.
// Those of Godwit itself are among them. The server tells their beginnings in
// the time zone of its machine.
func (s *Server) Oldest(ctx context.Context) (age time.Duration, holder string, err error) {
	err = collect(ctx, s.db, func(rows *sql.Rows) error {
		var seconds float64
		var thread int64
		if err := rows.Scan(&seconds, &thread); err != nil {
			return err
		}
		age, holder = time.Duration(seconds*float64(time.Second)), fmt.Sprintf("thread %d", thread)
		return nil
	}, "SELECT TIMESTAMPDIFF(SECOND, trx_started, CONVERT_TZ(UTC_TIMESTAMP(), '+00:00', 'SYSTEM')), trx_mysql_thread_id FROM information_schema.INNODB_TRX ORDER BY trx_started LIMIT 1")
	if err != nil {
		return 0, "", s.privileged(ctx, "see the transactions of others", "PROCESS", err)
	}
	return age, holder, nil
}

// Number is the result of a query of a user's: one row with one number.
func (s *Server) Number(ctx context.Context, query string) (value float64, err error) {
	rows, err := s.records(ctx, query)
	if err != nil {
		return 0, err
	}
	if len(rows) != 1 || len(rows[0]) != 1 {
		return 0, fault.New(task.Config, "the query returns %d rows, and must return one row with one number", len(rows))
	}
	for _, text := range rows[0] {
		if value, err = strconv.ParseFloat(text, 64); err != nil {
			return 0, fault.New(task.Config, "the query returns %q, and must return a number", text)
		}
	}
	return value, nil
}

// records reads a result whose columns are only known by name; NULL is empty.
func (s *Server) records(ctx context.Context, query string) (found []map[string]string, err error) {
	err = collect(ctx, s.db, func(rows *sql.Rows) error {
		names, err := rows.Columns()
		if err != nil {
			return err
		}
		values, into := make([]sql.NullString, len(names)), make([]any, len(names))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			return err
		}
		record := make(map[string]string, len(names))
		for i, name := range names {
			record[name] = values[i].String
		}
		found = append(found, record)
		return nil
	}, query)
	return found, err
}

// privileged explains the error of somebody who may not look.
func (s *Server) privileged(ctx context.Context, what, privilege string, cause error) error {
	if number(cause) != needsPrivilege {
		return cause
	}
	var user string
	if err := s.db.QueryRowContext(ctx, "SELECT CURRENT_USER()").Scan(&user); err != nil {
		return cause
	}
	account, host, _ := strings.Cut(user, "@")
	return fault.New(task.Config, "user %s may not %s: GRANT %s ON *.* TO %s@%s", user, what, privilege, quoteText(account), quoteText(host))
}
