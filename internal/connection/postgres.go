package connection

import (
	"context"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

func (c *Connection) openPostgres(ctx context.Context) (*pgxpool.Pool, error) {
	config, err := c.postgresConfig()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, openLimit)
	defer cancel()
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, err
	}
	return pool, nil
}

// postgresConfig sets the driver up. It keeps the driver's default of preparing
// and caching statements: sessions are long and statements few. A connection
// pooler in between must therefore be in session mode, which the session's
// settings need as well.
//
// PG* variables and files like ~/.pgpass have no part in it: everything that
// they could set is set here.
func (c *Connection) postgresConfig() (*pgxpool.Config, error) {
	encryption, err := c.tls.config(c.address.host)
	if err != nil {
		return nil, misconfigured(err)
	}
	config, err := pgxpool.ParseConfig(c.keywords())
	if err != nil {
		return nil, misconfigured(err)
	}
	conn := config.ConnConfig
	conn.Password = "" // BeforeConnect gives it to each new session alone
	conn.TLSConfig, conn.Fallbacks = encryption, nil
	if c.tls.Mode == tlsPreferred {
		conn.Fallbacks = []*pgconn.FallbackConfig{{Host: conn.Host, Port: conn.Port}}
	}
	conn.DialFunc, conn.ConnectTimeout, conn.ValidateConnect = dial, openLimit, nil
	conn.RuntimeParams = map[string]string{"application_name": "godwit", "client_encoding": "UTF8"}
	config.MaxConns, config.MinConns, config.MaxConnIdleTime, config.HealthCheckPeriod = int32(c.Pool), 0, maxIdle, maxIdle/3
	config.BeforeConnect = func(_ context.Context, conn *pgx.ConnConfig) (err error) {
		conn.Password, err = c.password()
		return err
	}
	config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.PgConn().Exec(ctx, postgresSession).ReadAll()
		return err
	}
	return config, nil
}

// keywords is the address in the form that overrides the environment.
func (c *Connection) keywords() string {
	host := c.address.host
	if c.address.socket != "" {
		host = c.address.socket
	}
	quote := func(text string) string {
		return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(text) + "'"
	}
	return "host=" + quote(host) + " port=" + strconv.Itoa(c.address.port) + " user=" + quote(c.address.user) +
		" dbname=" + quote(c.address.database) + " sslmode=disable target_session_attrs=any connect_timeout=10 passfile=''"
}
