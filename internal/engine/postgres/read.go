package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgxpool"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/task"
)

// abortWait bounds how long a stream that is closed before its end waits for
// the server to let go of the query, so that the connection can be kept.
const abortWait = 2 * time.Second

// Stream reads rows on a session of its own, which it keeps until Close. The
// context holds for the whole stream.
func (s *Server) Stream(ctx context.Context, sel engine.Select) (engine.Stream, error) {
	query, err := selection(sel).text()
	if err != nil {
		return nil, err
	}
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	st := &stream{ctx: ctx, conn: conn, pg: conn.Conn().PgConn(), row: make([][]byte, len(sel.Exprs)), expired: make(chan struct{})}
	// The driver would start a watch of the context for every message.
	st.unwatch = context.AfterFunc(ctx, func() {
		defer close(st.expired)
		_ = st.pg.Conn().SetReadDeadline(time.Unix(1, 0)) // fails only when the connection is closed
	})
	if err := st.start("COPY (" + query + ") TO STDOUT (FORMAT text, ENCODING 'UTF8')"); err != nil {
		st.Close()
		return nil, err
	}
	return st, nil
}

// stream reads the messages of a COPY TO as they come. The server sends one
// message per row.
type stream struct {
	ctx     context.Context
	conn    *pgxpool.Conn
	pg      *pgconn.PgConn
	unwatch func() bool
	expired chan struct{} // closed when the context's end has reached the connection
	row     [][]byte
	rows    int64 // rows handed over
	sent    int64 // rows that the server says it sent
	failure error // what ended the stream, io.EOF included
	idle    bool  // the server waits for the next statement
	closed  bool
}

func (s *stream) start(query string) error {
	frontend := s.pg.Frontend()
	frontend.SendQuery(&pgproto3.Query{String: query})
	if err := frontend.Flush(); err != nil {
		return s.fail(err)
	}
	for {
		message, err := s.receive()
		if err != nil {
			return err
		}
		if _, ok := message.(*pgproto3.CopyOutResponse); ok {
			return nil
		}
	}
}

// Next returns the next row.
func (s *stream) Next() ([][]byte, error) {
	if s.failure != nil {
		return nil, s.failure
	}
	for {
		message, err := s.receive()
		if err != nil {
			return nil, err
		}
		switch m := message.(type) {
		case *pgproto3.CopyData:
			if !splitRow(m.Data, s.row) {
				return nil, s.fail(fault.New(task.Internal, "row %d of the stream does not have %d columns", s.rows+1, len(s.row)))
			}
			s.rows++
			return s.row, nil
		case *pgproto3.CommandComplete:
			if s.sent, err = copied(m.CommandTag); err != nil {
				return nil, s.fail(err)
			}
		case *pgproto3.ReadyForQuery:
			return nil, s.end()
		}
	}
}

// end is io.EOF when the server's count agrees.
func (s *stream) end() error {
	if s.failure == nil {
		s.failure = io.EOF
		if s.sent != s.rows {
			s.failure = fault.New(task.Transient, "the stream ended after %d rows, but the server sent %d", s.rows, s.sent)
		}
	}
	return s.failure
}

// receive returns the next message. An error of the statement is returned when
// the server is ready for another one.
func (s *stream) receive() (pgproto3.BackendMessage, error) {
	for {
		message, err := s.pg.ReceiveMessage(context.Background())
		if err != nil {
			return nil, s.fail(err)
		}
		switch m := message.(type) {
		case *pgproto3.ErrorResponse:
			s.failure = pgconn.ErrorResponseToPgError(m)
			continue
		case *pgproto3.ReadyForQuery:
			s.idle = true
		}
		if s.failure == nil {
			return message, nil
		}
		if s.idle {
			return nil, s.failure
		}
	}
}

// fail notes the first error, as the context's where that is what ended it.
func (s *stream) fail(err error) error {
	switch {
	case s.failure != nil:
	case s.ctx.Err() != nil:
		s.failure = context.Cause(s.ctx)
	case errors.Is(err, io.EOF): // the connection's, not the data's
		s.failure = io.ErrUnexpectedEOF
	default:
		s.failure = err
	}
	return s.failure
}

// Close ends the stream, also before its end, and gives the connection back
// when the server is through with it in time; otherwise it is closed. It never
// fails: what went wrong has been said by Next.
func (s *stream) Close() error {
	if s.closed {
		return nil
	}
	s.closed = true
	if s.failure == nil {
		s.failure = errors.New("the stream is closed")
	}
	if !s.unwatch() {
		<-s.expired
	}
	if !s.settle() {
		destroy(s.conn)
		return nil
	}
	s.conn.Release()
	return nil
}

// settle brings the connection back to where another statement can be run, and
// reports whether that was possible.
func (s *stream) settle() bool {
	if s.pg.IsClosed() {
		return false
	}
	socket := s.pg.Conn()
	if !s.idle {
		ctx, cancel := context.WithTimeout(context.Background(), abortWait)
		defer cancel()
		// The server acknowledges after it has told the session, and the
		// session is heard out below: the request cannot hit a later statement.
		if err := s.pg.CancelRequest(ctx); err != nil {
			return false
		}
		_ = socket.SetReadDeadline(time.Now().Add(abortWait)) // an error would show up below
		for !s.idle {
			message, err := s.pg.ReceiveMessage(context.Background())
			if err != nil {
				return false
			}
			_, s.idle = message.(*pgproto3.ReadyForQuery)
		}
	}
	return socket.SetReadDeadline(time.Time{}) == nil
}

// copied reads the number of rows from a command tag: COPY 42.
func copied(tag []byte) (int64, error) {
	digits, found := bytes.CutPrefix(tag, []byte("COPY "))
	n, err := strconv.ParseInt(string(digits), 10, 64)
	if !found || err != nil {
		return 0, fmt.Errorf("the server ended a COPY with %q", tag)
	}
	return n, nil
}
