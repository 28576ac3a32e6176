package connection

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"time"

	"github.com/go-sql-driver/mysql"

	"godwit/internal/mysqlwire"
)

func (c *Connection) openMySQL(ctx context.Context) (*sql.DB, error) {
	config, err := c.mysqlConfig()
	if err != nil {
		return nil, err
	}
	connector, err := mysqlwire.NewConnector(config)
	if err != nil {
		return nil, err
	}
	pool := sql.OpenDB(&preparedConnector{Connector: connector, statements: mysqlSession})
	pool.SetMaxOpenConns(c.Pool)
	pool.SetMaxIdleConns(c.Pool)
	pool.SetConnMaxIdleTime(maxIdle)
	ctx, cancel := context.WithTimeout(ctx, openLimit)
	defer cancel()
	if err := pool.PingContext(ctx); err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	return pool, nil
}

// mysqlConfig sets the driver up.
//
// InterpolateParams puts parameters into the statement, which keeps the text
// protocol and saves a round trip. There is no time limit on reading: see dial.
// ParseTime is off, since values are passed on as the server writes them.
// ClientFoundRows makes an UPDATE count the rows that it found, as PostgreSQL
// does, and not only those that it had to change: whether a row was there is
// what fencing goes by.
func (c *Connection) mysqlConfig() (*mysql.Config, error) {
	encryption, err := c.tls.config(c.address.host)
	if err != nil {
		return nil, misconfigured(err)
	}
	config := mysql.NewConfig()
	config.User, config.DBName = c.address.user, c.address.database
	config.Net, config.Addr = "tcp", c.address.server()
	if c.address.socket != "" {
		config.Net = "unix"
	}
	config.DialFunc, config.Timeout = dial, openLimit
	config.TLS, config.AllowFallbackToPlaintext = encryption, c.tls.Mode == tlsPreferred
	// A password in the clear, as LDAP and PAM want it, goes to a server that
	// has proved who it is, and to no other.
	config.AllowCleartextPasswords = c.tls.Mode == tlsVerifyCA || c.tls.Mode == tlsVerifyFull
	config.Collation = "utf8mb4_bin"
	config.MaxAllowedPacket = 0 // as the server has it
	config.InterpolateParams, config.ParseTime, config.Loc = true, false, time.UTC
	config.MultiStatements, config.AllowAllFiles, config.ClientFoundRows = false, false, true
	config.CheckConnLiveness = true
	config.ConnectionAttributes = "program_name:godwit"
	config.Logger = &mysql.NopLogger{} // what it has to say comes as an error, too
	return config, config.Apply(mysql.Charset("utf8mb4", "utf8mb4_bin"), mysql.BeforeConnect(
		func(_ context.Context, config *mysql.Config) (err error) {
			config.Passwd, err = c.password()
			return err
		}))
}

// preparedConnector runs statements in every new session before it is used.
type preparedConnector struct {
	driver.Connector
	statements []string
}

// Connect makes a session within openLimit.
func (p *preparedConnector) Connect(ctx context.Context) (driver.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, openLimit)
	defer cancel()
	conn, err := p.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	for _, statement := range p.statements {
		if _, err := conn.(driver.ExecerContext).ExecContext(ctx, statement, nil); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
	}
	return conn, nil
}
