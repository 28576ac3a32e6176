package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"

	"github.com/dustin/go-humanize"

	"godwit/internal/engine"
)

// CopyTerms are what a server allows to be copied without its other writers'
// commits waiting for it.
func (s *Server) CopyTerms(ctx context.Context, t *engine.Table) (engine.CopyTerms, error) {
	terms := engine.CopyTerms{Rows: gentleRows}
	flavor, _, err := s.learn(ctx)
	if err != nil {
		return terms, err
	}
	if flavor != mariadbFlavor {
		threads, err := s.variable(ctx, "innodb_log_writer_threads")
		if err != nil {
			return terms, err
		}
		if threads == "OFF" { // unknown before 8.0.22, where they are always there
			terms.Streams = 1
			terms.Notes = append(terms.Notes, oneStream)
		}
	}
	note, err := s.redoNote(ctx, t.Bytes)
	if note != "" {
		terms.Notes = append(terms.Notes, note)
	}
	return terms, err
}

// gentleRows is how many rows a chunk has: a bigger one is hardly any faster, and
// what the server does at its end (a binary log of so many rows, purge) is felt.
const gentleRows = 10_000

// oneStream is why there is one stream where InnoDB has no threads of its own
// that write the redo log, which is MySQL's default on machines with fewer than
// 32 processors.
//
// Whoever commits there writes the log himself, and before that waits for what
// others are about to put into the log buffer: in
// log_buffer_wait_for_ready_for_write_lsn, in steps of 100 ms, with the binary
// log's lock held, so that all commits wait behind him. Measured on MySQL 9.7
// with two processors and 500 updates a second: two streams of INSERT … SELECT
// make about two such stalls a second, one stream makes one in several seconds,
// and with the threads there is none with two.
const oneStream = "rows are copied by one stream, since innodb_log_writer_threads is off: with more of them the application's commits wait for 100 ms now and then. " +
	"`SET GLOBAL innodb_log_writer_threads = ON` lets several run; throttle.parallel has the last word"

// roomyRedo is a redo log that no copy of these machines' speed fills faster than
// its pages are written, and smallCopy a table that does not fill the smallest.
const (
	roomyRedo = 1 << 30
	smallCopy = 32 << 20
)

// redoNote says that the redo log is small for what is written: when it is full,
// the server writes pages as fast as it can, and everybody who commits feels it.
// Measured on MariaDB 10.11 with 500 updates a second: 99 % of them within 21 ms
// while 1,000,000 rows were copied with the 96 MB of the default, within 6.5 ms
// with 1 GB.
func (s *Server) redoNote(ctx context.Context, bytes int64) (string, error) {
	variable := "innodb_redo_log_capacity"
	capacity, err := s.variable(ctx, variable)
	if err == nil && capacity == "" { // MariaDB, and MySQL before 8.0.30
		variable = "innodb_log_file_size"
		capacity, err = s.variable(ctx, variable)
	}
	if err != nil || capacity == "" {
		return "", err
	}
	size, err := strconv.ParseInt(capacity, 10, 64)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", variable, err)
	}
	files, err := s.variable(ctx, "innodb_log_files_in_group") // of old servers
	if err != nil {
		return "", err
	}
	if n, err := strconv.ParseInt(files, 10, 64); err == nil && variable == "innodb_log_file_size" {
		size *= n
	}
	if size >= roomyRedo || bytes < smallCopy || bytes < size/4 {
		return "", nil
	}
	return fmt.Sprintf("the redo log has %s (%s), and the table %s: while it is copied the log is full time and again, and the application waits for its pages to be written. 1 GiB or more takes that away, "+
		"and most servers of today change it while they run", humanize.IBytes(uint64(size)), variable, humanize.IBytes(uint64(bytes))), nil
}

// variable is the value of a server's setting; empty when it does not know it.
func (s *Server) variable(ctx context.Context, name string) (string, error) {
	var value string
	err := s.db.QueryRowContext(ctx, "SHOW GLOBAL VARIABLES LIKE '"+name+"'").Scan(new(string), &value)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", fmt.Errorf("ask for %s: %w", name, err)
	}
	return value, nil
}
