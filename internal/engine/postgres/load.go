package postgres

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"

	"godwit/internal/engine"
)

// Load writes rows into a table, in the transaction, and returns how many
// there were. The reader hands over COPY's text format: columns separated by
// tabs, rows ended by newlines, \N for NULL, backslash escapes, UTF-8.
//
// An error of the reader ends the load and is returned as it is. After any
// error the transaction can only be rolled back. Load returns when the reader
// is no longer being read, so a reader has to return when ctx is done.
func (t *Tx) Load(ctx context.Context, table engine.Name, columns []string, r io.Reader) (int64, error) {
	source := &rowSource{from: r}
	tag, err := t.tx.Conn().PgConn().CopyFrom(ctx, source, copyInto(table, columns))
	failure := source.abandon()
	if failure != nil && !refused(err) {
		return 0, failure
	}
	if err != nil {
		return 0, err
	}
	return tag.RowsAffected(), nil
}

func copyInto(table engine.Name, columns []string) string {
	return "COPY " + QuoteName(table) + " (" + quoteList(columns) + ") FROM STDIN (FORMAT text, ENCODING 'UTF8')"
}

// refused reports whether the server itself found something wrong, as opposed
// to echoing that the client gave up.
func refused(err error) bool {
	var e *pgconn.PgError
	return errors.As(err, &e) && e.Code != queryCanceled
}

// errReading is what the server is told when the rows could not be read. The
// reason stays here: it may hold data, and the server writes it to its log.
var errReading = errors.New("the rows could not be read")

// rowSource stands between the driver and a reader. It fills every buffer,
// because the driver makes one message and one system call of each read, keeps
// the reader's error, and makes sure that the driver, which leaves its reading
// goroutine behind when a connection is lost, does not use the reader any more.
type rowSource struct {
	mu        sync.Mutex
	from      io.Reader
	failure   error
	abandoned bool
}

func (s *rowSource) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.abandoned || s.failure != nil {
		return 0, errReading
	}
	n, idle := 0, 0
	for n < len(p) {
		m, err := s.from.Read(p[n:])
		n += m
		if err == io.EOF {
			return n, io.EOF
		}
		if err == nil && m == 0 {
			if idle++; idle == 100 {
				err = io.ErrNoProgress
			}
		}
		if err != nil {
			s.failure = err
			return 0, errReading
		}
	}
	return n, nil
}

// abandon waits for a read that is under way, allows no more, and returns the
// reader's error.
func (s *rowSource) abandon() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.abandoned = true
	return s.failure
}
