package mysqlwire

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/go-sql-driver/mysql"
)

// ErrIndirect is returned by Query for a connection that cannot be read
// directly. It is as good as before.
var ErrIndirect = errors.New("this connection cannot be read directly")

const queryCommand = 0x03

// Rows is a result, one row at a time. It is used by one goroutine at a time.
type Rows struct {
	conn   *sql.Conn
	reader packetReader
	row    [][]byte
	begun  bool // a packet has been read after the columns
	// settle ends the watch over ctx; false when ctx has already ended.
	settle func() bool
	err    error // what Next returned last; io.EOF after the last row
}

// Query runs one statement that has a result. It takes conn over: unless it
// returns ErrIndirect, conn is closed by Rows.Close, or at once when there is
// an error. When ctx ends before the result does, Next returns ctx's error.
func Query(ctx context.Context, conn *sql.Conn, query string) (*Rows, error) {
	if err := ctx.Err(); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	var direct *Conn
	if err := conn.Raw(func(dc any) error {
		direct, _ = dc.(*Conn)
		return nil
	}); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	if direct == nil || direct.wire == nil {
		return nil, ErrIndirect
	}
	rows := &Rows{conn: conn}
	rows.reader = packetReader{
		ctx: ctx, conn: direct.wire, timeout: direct.readTimeout, buffer: make([]byte, bufferSize), sequence: 1,
	}
	rows.settle = context.AfterFunc(ctx, rows.reader.interrupt)
	if err := rows.start(query); err != nil {
		rows.err = rows.explain(err)
		return nil, errors.Join(rows.err, rows.Close())
	}
	return rows, nil
}

// start sends the query and reads up to the first row.
func (r *Rows) start(query string) error {
	size := 1 + len(query)
	if size >= maxPayload {
		return fmt.Errorf("the query has %d bytes, which is more than a packet holds", len(query))
	}
	packet := make([]byte, 0, headerSize+size)
	packet = append(packet, byte(size), byte(size>>8), byte(size>>16), 0, queryCommand)
	if _, err := r.reader.conn.Write(append(packet, query...)); err != nil {
		return err
	}
	columns, described, err := r.columnCount()
	if err != nil {
		return err
	}
	r.row = make([][]byte, columns)
	for i := 0; i < columns && described; i++ {
		if _, err := r.reader.next(); err != nil {
			return err
		}
	}
	return nil
}

// columnCount reads the head of a result: how many columns it has, and whether
// their descriptions follow.
func (r *Rows) columnCount() (count int, described bool, err error) {
	head, err := r.reader.next()
	if err != nil {
		return 0, false, err
	}
	switch head[0] {
	case errorMark:
		return 0, false, serverError(head)
	case okMark, localFileMark:
		return 0, false, errors.New("the statement has no result")
	}
	n, rest, ok := integer(head)
	if !ok || n > 1<<16 {
		return 0, false, errMalformed
	}
	return int(n), len(rest) == 0 || rest[0] != 0, nil
}

// Next returns the next row, a nil value for NULL. The slices are valid until
// the next call. After the last row it returns io.EOF; any other error is
// never the end of the result. It goes on returning the error that it returned.
func (r *Rows) Next() ([][]byte, error) {
	if r.err != nil {
		return nil, r.err
	}
	if err := r.advance(); err == io.EOF {
		r.err = io.EOF
	} else if err != nil {
		r.err = r.explain(err)
	}
	if r.err != nil {
		return nil, r.err
	}
	return r.row, nil
}

func (r *Rows) advance() error {
	packet, err := r.reader.next()
	if err == nil && !r.begun && isOldEnd(packet) {
		packet, err = r.reader.next() // that was the end of the columns
	}
	r.begun = true
	switch {
	case err != nil:
		return err
	case packet[0] == errorMark:
		return serverError(packet)
	case isEnd(packet):
		return r.finish(packet)
	}
	return splitRow(packet, r.row)
}

// finish deals with the marker after the last row.
func (r *Rows) finish(packet []byte) error {
	status, err := endStatus(packet)
	switch {
	case err != nil:
		return err
	case status&moreResults != 0 || !r.reader.drained():
		return errors.New("the server sends more than one result")
	}
	return io.EOF
}

// explain says in an error of the connection that it is one, and puts the
// reason first when it is that ctx has ended.
func (r *Rows) explain(err error) error {
	if cause := r.reader.ctx.Err(); cause != nil {
		return cause
	}
	if _, fromServer := errors.AsType[*mysql.MySQLError](err); fromServer {
		return err
	}
	return fmt.Errorf("%w: %w", mysql.ErrInvalidConn, err)
}

// Close ends the result and gives the connection back. A result that was not
// read to its end is cut off by closing the connection.
func (r *Rows) Close() error {
	if r.conn == nil {
		return nil
	}
	conn := r.conn
	r.conn = nil
	if r.settle() && r.err == io.EOF && r.reader.conn.SetReadDeadline(time.Time{}) == nil {
		return conn.Close()
	}
	if r.err == nil {
		r.err = errors.New("the result is closed")
	}
	if err := conn.Raw(func(any) error { return driver.ErrBadConn }); !errors.Is(err, driver.ErrBadConn) {
		return errors.Join(err, conn.Close())
	}
	return nil
}
