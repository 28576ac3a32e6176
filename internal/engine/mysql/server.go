// Package mysql is the engine of MySQL (8.0.16 or newer) and MariaDB (10.6 or
// newer): how their tables look, how ranges of them are cut and read, and what
// their errors mean; and what it takes to write to them and to keep a ledger
// there: sessions, transactions, locks, privileges, plans.
//
// It promises that a table is described completely and exactly, that the rows
// of ranges that follow each other are together all the rows of the table,
// each once, whatever the type of the key, and that a stream ends either after
// the last row or with an error. Keys are compared by the server alone. A
// transaction in which a statement has failed commits nothing, a broken session
// is not used again, and one that is killed is over when KillSession returns.
//
// It works on a pool that is made elsewhere, and relies on its settings: client
// side interpolation, utf8mb4, time zone +00:00, READ COMMITTED, rows counted
// that were found. Streams are fastest on a pool made with mysqlwire, and only
// such a pool hears of new privileges (Renew). What a value becomes on another
// engine is not known here.
//
// Errors are the driver's, wrapped with what was being done; Classify tells
// their classes. What is found wrong without the server saying so is a fault.
package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"time"
)

// The flavors of a server.
const (
	mysqlFlavor   = "mysql"
	mariadbFlavor = "mariadb"
)

// Server is a MySQL or MariaDB server. Its methods may be called from several
// goroutines at once.
type Server struct {
	db *sql.DB
	// idle is how long a transaction in which nothing happens is kept.
	idle time.Duration

	lock    sync.Mutex
	flavor  string // empty until it is asked for
	version string
}

// New returns the server that a pool reaches. The pool remains the caller's.
func New(db *sql.DB) *Server { return &Server{db: db, idle: idleLimit} }

// learn finds out the flavor and the version, once.
func (s *Server) learn(ctx context.Context) (flavor, version string, err error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.flavor != "" {
		return s.flavor, s.version, nil
	}
	if err := s.db.QueryRowContext(ctx, "SELECT VERSION()").Scan(&version); err != nil {
		return "", "", fmt.Errorf("ask the server for its version: %w", err)
	}
	s.version, s.flavor = version, mysqlFlavor
	if strings.Contains(strings.ToLower(version), mariadbFlavor) {
		s.flavor = mariadbFlavor
	}
	return s.flavor, s.version, nil
}

// querier is a pool or one of its connections.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// collect runs a query and scans every row of its result.
func collect(ctx context.Context, db querier, scan func(*sql.Rows) error, query string, args ...any) error {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
