package mysqlwire

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/go-sql-driver/mysql"
)

// session is what database/sql makes use of in a driver's connection. The
// driver's connection has all of it, and Conn has to pass all of it on.
type session interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.NamedValueChecker
	driver.Pinger
	driver.QueryerContext
	driver.SessionResetter
	driver.Validator
}

// Conn is a connection of the driver whose network connection is known.
type Conn struct {
	session
	wire        net.Conn // nil when it cannot be read directly
	readTimeout time.Duration
	renewals    *atomic.Int64 // of the connector
	made        int64         // how many there were when this was made
}

// ResetSession is called before a connection is used again. One that was made
// before the last Renew is not.
func (c *Conn) ResetSession(ctx context.Context) error {
	if c.made != c.renewals.Load() {
		return driver.ErrBadConn
	}
	return c.session.ResetSession(ctx)
}

type connector struct {
	driver.Connector
	readTimeout time.Duration
	renewals    atomic.Int64
}

// Driver is the driver's own, and knows the connector.
func (c *connector) Driver() driver.Driver { return renewable{c.Connector.Driver(), c} }

type renewable struct {
	driver.Driver
	connector *connector
}

// Renew makes a pool use none of its connections again that there are at the
// moment: each is replaced when it would be. A session goes by some of what the
// server knows, such as privileges on databases, as it was when it began. Of a
// pool that was not made with NewConnector nothing is replaced.
func Renew(pool *sql.DB) {
	if r, ok := pool.Driver().(renewable); ok {
		r.connector.renewals.Add(1)
	}
}

// NewConnector is mysql.NewConnector for pools that Query can read from.
// Connections with TLS or compression, or over a network that is registered
// with the driver, work as ever, but Query refuses them.
func NewConnector(config *mysql.Config) (driver.Connector, error) {
	config = config.Clone()
	if config.DialFunc != nil || config.Net == "" || config.Net == "unix" || strings.HasPrefix(config.Net, "tcp") {
		config.DialFunc = observe(config.DialFunc)
	}
	inner, err := mysql.NewConnector(config)
	if err != nil {
		return nil, err
	}
	return &connector{Connector: inner, readTimeout: config.ReadTimeout}, nil
}

// Connect makes a connection, a *Conn.
func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	made := c.renewals.Load()
	var dialled *observed
	conn, err := c.Connector.Connect(context.WithValue(ctx, dialledKey{}, &dialled))
	if err != nil {
		return nil, err
	}
	s, ok := conn.(session)
	if !ok {
		return nil, errors.Join(fmt.Errorf("the driver's connection %T lacks something that database/sql needs", conn), conn.Close())
	}
	result := &Conn{session: s, readTimeout: c.readTimeout, renewals: &c.renewals, made: made}
	if dialled != nil && dialled.plain {
		result.wire = dialled
	}
	return result, nil
}

type dialFunc = func(ctx context.Context, network, address string) (net.Conn, error)

type dialledKey struct{}

// observe tells connector.Connect, by way of the context that the driver
// passes on, which network connection was dialled for it.
func observe(dial dialFunc) dialFunc {
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		o := &observed{Conn: conn}
		if dialled, ok := ctx.Value(dialledKey{}).(**observed); ok {
			*dialled = o
		}
		if socket, ok := conn.(syscall.Conn); ok {
			return observedSocket{o, socket}, nil
		}
		return o, nil
	}
}

// observed is a network connection that notes what the client asks for in the
// first thing that it writes: its answer to the server's greeting, or the
// request for TLS that comes before that and begins alike.
type observed struct {
	net.Conn
	answered bool
	plain    bool // neither compressed nor encrypted
}

// Flags of a client.
const (
	compressFlag = 0x0020
	tlsFlag      = 0x0800
)

func (o *observed) Write(p []byte) (int, error) {
	if !o.answered {
		o.answered = true
		o.plain = len(p) >= headerSize+4 && binary.LittleEndian.Uint32(p[headerSize:])&(compressFlag|tlsFlag) == 0
	}
	return o.Conn.Write(p)
}

// observedSocket lets the driver look, too, whether the server has closed the
// connection meanwhile.
type observedSocket struct {
	*observed
	syscall.Conn
}
