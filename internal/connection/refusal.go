package connection

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"

	"godwit/internal/fault"
	"godwit/internal/task"
)

// misconfigured is an error before any server was asked.
func misconfigured(err error) *fault.Error { return fault.New(task.Config, "%w", err) }

// refusal says in one sentence why a pool could not be opened. The drivers'
// own errors are used where they are a server's words, and for nothing else: of
// some, the configuration is a part.
func (c *Connection) refusal(ctx context.Context, err error) *fault.Error {
	class, text, cause := c.explain(ctx, err)
	if cause == nil {
		return fault.New(class, "connection %q: %s", c.Name, text)
	}
	return fault.New(class, "connection %q: %s (%w)", c.Name, text, cause)
}

// explain is the class of an error, what it means, and the part of it that may
// be repeated.
func (c *Connection) explain(ctx context.Context, err error) (task.Class, string, error) {
	var (
		own         *fault.Error
		fromMySQL   *mysql.MySQLError
		fromPG      *pgconn.PgError
		certificate *tls.CertificateVerificationError
		name        *net.DNSError
		network     *net.OpError
	)
	server := c.address.server()
	switch {
	case errors.As(err, &own):
		return own.Class, own.Error(), nil
	case errors.As(err, &fromMySQL):
		class, text := c.explainMySQL(fromMySQL)
		return class, text, fromMySQL
	case errors.As(err, &fromPG):
		class, text := c.explainPostgres(fromPG)
		return class, text, fromPG
	case errors.As(err, &certificate):
		return task.Config, "the certificate of the server at " + server + " is not accepted: give its authority as tls ca, " +
			"or the name in it as server_name", certificate
	case errors.Is(err, mysql.ErrNoTLS), refusesTLS(err):
		return task.Config, "the server at " + server + " does not encrypt connections: set it up for TLS, or choose another TLS mode", nil
	case asksForMore(err):
		return task.Config, fmt.Sprintf("the server at %s wants to see user %q log in in a way that is not safe without "+
			"verified TLS, or not known: choose TLS mode verify-full, or another authentication plugin for the user", server, c.address.user), nil
	case ctx.Err() != nil && errors.Is(ctx.Err(), context.Canceled):
		return task.Transient, "opening it was cancelled", context.Cause(ctx)
	case errors.As(err, &name):
		return task.Transient, fmt.Sprintf("the host %q is not known", c.address.host), errors.New(name.Err)
	case errors.Is(err, context.DeadlineExceeded):
		return task.Transient, "the server at " + server + " does not answer in time", nil
	case errors.As(err, &network):
		return task.Transient, "the server at " + server + " cannot be reached", network.Err
	default:
		return task.Transient, "the server at " + server + " ended the conversation before the session was ready: " +
			"it is starting, stopping, or no " + c.Engine + " server", nil
	}
}

// refusesTLS tells whether a PostgreSQL server has no TLS; the driver has no
// better way to say so.
func refusesTLS(err error) bool {
	return strings.Contains(err.Error(), "server refused TLS connection")
}

func asksForMore(err error) bool {
	return errors.Is(err, mysql.ErrCleartextPassword) || errors.Is(err, mysql.ErrOldPassword) || errors.Is(err, mysql.ErrUnknownPlugin)
}

// explainMySQL reads the error numbers with which logging in can end.
func (c *Connection) explainMySQL(err *mysql.MySQLError) (task.Class, string) {
	server, user, database := c.address.server(), c.address.user, c.address.database
	switch err.Number {
	case 1045, 1251, 1524, 1698, 1820, 1862, 3118, 3955, 4151: // wrong, another plugin, expired, locked
		return task.Config, fmt.Sprintf("the server at %s does not let user %q in: check user and password", server, user)
	case 1044:
		return task.Config, fmt.Sprintf("user %q may not use database %q on %s: grant the privileges, or name another database", user, database, server)
	case 1049:
		return task.Config, fmt.Sprintf("there is no database %q on %s: create it, or name another one", database, server)
	case 1129, 1130:
		return task.Config, fmt.Sprintf("the server at %s lets nobody in from this host: create the user for it, or unblock it", server)
	case 1040, 1203, 1226:
		return task.Busy, fmt.Sprintf("the server at %s has no session left for user %q: raise its limit, or make the pool smaller", server, user)
	case 1227, 1231, 1232, 1193:
		return task.Config, fmt.Sprintf("the server at %s refuses the settings of a session", server)
	}
	return task.Transient, fmt.Sprintf("the server at %s is not ready", server)
}

// explainPostgres reads the SQLSTATEs with which logging in can end.
func (c *Connection) explainPostgres(err *pgconn.PgError) (task.Class, string) {
	server, user, database := c.address.server(), c.address.user, c.address.database
	switch err.Code {
	case "28P01", "28000":
		return task.Config, fmt.Sprintf("the server at %s does not let user %q in: check user, password and pg_hba.conf", server, user)
	case "3D000":
		return task.Config, fmt.Sprintf("there is no database %q on %s: create it, or name another one", database, server)
	case "42501":
		return task.Config, fmt.Sprintf("user %q may not use database %q on %s: grant CONNECT, or name another database", user, database, server)
	case "53300":
		return task.Busy, fmt.Sprintf("the server at %s has no session left for user %q: raise its limit, or make the pool smaller", server, user)
	case "08P01", "22023", "42704", "0A000":
		return task.Config, fmt.Sprintf("the server at %s refuses the settings of a session; a connection pooler must be in session mode", server)
	}
	return task.Transient, fmt.Sprintf("the server at %s is not ready", server)
}
