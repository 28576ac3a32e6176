package shop

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/go-sql-driver/mysql"
)

// readerNumber makes names of readers, which all sessions of the process share.
var readerNumber atomic.Int64

// quickly spares the server checks that are true by construction, and makes timestamps mean the same everywhere.
const (
	quickly = "SET @shop_zone = @@time_zone, time_zone = '+00:00', @shop_foreign = @@foreign_key_checks, foreign_key_checks = 0, " +
		"@shop_unique = @@unique_checks, unique_checks = 0"
	asBefore = "SET time_zone = @shop_zone, foreign_key_checks = @shop_foreign, unique_checks = @shop_unique"
)

// load fills one table with the units after from up to to.
func (s *shop) load(ctx context.Context, db *sql.DB, t table, from, to int64, count func(rows int64)) error {
	if from == to {
		return nil
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, quickly); err != nil {
		return err
	}
	if err := s.loadData(ctx, conn, t, from, to, count); err != nil {
		return fmt.Errorf("fill %s: %w", t.name, err)
	}
	_, err = conn.ExecContext(ctx, asBefore)
	return err
}

func (s *shop) loadData(ctx context.Context, conn *sql.Conn, t table, from, to int64, count func(rows int64)) error {
	source := &reader{table: t, unit: from, to: to, count: count, lines: newLines(s.seed, t.name)}
	name := fmt.Sprintf("shop-%d", readerNumber.Add(1))
	mysql.RegisterReaderHandler(name, func() io.Reader { return source })
	defer mysql.DeregisterReaderHandler(name)
	result, err := conn.ExecContext(ctx, "LOAD DATA LOCAL INFILE 'Reader::"+name+"' INTO TABLE "+t.name+" CHARACTER SET utf8mb4 "+t.columns)
	if err != nil {
		return err
	}
	// LOCAL makes warnings of errors.
	var level, message string
	var code int
	switch err := conn.QueryRowContext(ctx, "SHOW WARNINGS LIMIT 1").Scan(&level, &code, &message); {
	case err == nil:
		return fmt.Errorf("%s %d: %s", level, code, message)
	case !errors.Is(err, sql.ErrNoRows):
		return err
	}
	if loaded, err := result.RowsAffected(); err != nil || loaded != source.lines.total {
		return fmt.Errorf("%d rows of %d arrived (%v)", loaded, source.lines.total, err)
	}
	return nil
}

// reader makes rows as the driver asks for bytes.
type reader struct {
	table    table
	unit, to int64 // made so far, and the last one
	count    func(rows int64)
	lines    *lines
	rest     []byte // made and not yet read
}

// batch is how many bytes are made at a time, at the least.
const batch = 64 << 10

// Read reads the rows in the format of LOAD DATA.
func (r *reader) Read(p []byte) (int, error) {
	if len(r.rest) == 0 && r.unit == r.to {
		return 0, io.EOF
	}
	if len(r.rest) == 0 {
		before := r.lines.total
		r.lines.buf = r.lines.buf[:0]
		for ; r.unit < r.to && len(r.lines.buf) < batch; r.unit++ {
			r.table.write(r.lines, r.unit+1)
		}
		r.rest = r.lines.buf
		r.count(r.lines.total - before)
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}
