package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// CopyStreams is one where InnoDB has no threads of its own that write the redo
// log, which is MySQL's default on machines with fewer than 32 processors.
//
// Whoever commits there writes the log himself, and before that waits for what
// others are about to put into the log buffer: in
// log_buffer_wait_for_ready_for_write_lsn, in steps of 100 ms, with the binary
// log's lock held, so that all commits wait behind him. Measured on MySQL 9.7
// with two processors and 500 updates a second: two streams of INSERT … SELECT
// make about two such stalls a second, one stream makes one in several seconds,
// and with the threads there is none with two.
func (s *Server) CopyStreams(ctx context.Context) (streams int, why string, err error) {
	flavor, _, err := s.learn(ctx)
	if err != nil || flavor == mariadbFlavor {
		return 0, "", err
	}
	var threads string
	err = s.db.QueryRowContext(ctx, "SHOW GLOBAL VARIABLES LIKE 'innodb_log_writer_threads'").Scan(new(string), &threads)
	switch {
	case errors.Is(err, sql.ErrNoRows): // before 8.0.22 they are always there
		return 0, "", nil
	case err != nil:
		return 0, "", fmt.Errorf("ask for innodb_log_writer_threads: %w", err)
	case threads == "ON":
		return 0, "", nil
	}
	return 1, "rows are copied by one stream, since innodb_log_writer_threads is off: with more of them the application's commits wait for 100 ms now and then. " +
		"`SET GLOBAL innodb_log_writer_threads = ON` lets several run; throttle.parallel has the last word", nil
}
