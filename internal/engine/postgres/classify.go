package postgres

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/puddle/v2"

	"godwit/internal/task"
)

// The SQLSTATEs that this package acts on.
const (
	insufficientPrivilege = "42501"
	queryCanceled         = "57014"
	lockNotAvailable      = "55P03"
)

// Classify tells the class of an error that came from this engine's driver,
// and whether it is one. The end of a context is not: only the caller knows
// why it ended.
func Classify(err error) (task.Class, bool) {
	var server *pgconn.PgError
	switch {
	case err == nil:
		return "", false
	case errors.As(err, &server):
		return classOf(server), true
	case errors.Is(err, puddle.ErrClosedPool):
		return task.Stopping, true
	case untrusted(err):
		return task.Config, true
	}
	var connect *pgconn.ConnectError
	if errors.As(err, &connect) && !errors.Is(err, context.Canceled) {
		return task.Transient, true
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return "", false
	}
	if lostConnection(err) {
		return task.Transient, true
	}
	return "", false
}

// lostConnection reports whether the client found the connection broken.
func lostConnection(err error) bool {
	var network net.Error
	return errors.As(err, &network) || errors.Is(err, net.ErrClosed) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) ||
		errors.Is(err, pgconn.ErrConnClosed)
}

// untrusted reports whether TLS refused the server, which no repetition mends.
func untrusted(err error) bool {
	var certificate *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	return errors.As(err, &certificate) || errors.As(err, &authority) || errors.As(err, &host)
}

func sqlState(err error) string {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

func classOf(e *pgconn.PgError) task.Class {
	switch {
	case e.Code == "XX000" && strings.HasPrefix(e.Message, "tuple concurrently"):
		return task.Busy // two GRANTs or ALTERs of the same thing at once
	case e.Code == "0A000" && e.Routine == "RevalidateCachedQuery":
		return task.Transient // a table has changed under a prepared statement, which the driver prepares anew
	}
	if class, known := states[e.Code]; known {
		return class
	}
	if len(e.Code) == 5 {
		if class, known := stateClasses[e.Code[:2]]; known {
			return class
		}
	}
	// A code that is not the server's own is one that a function on the
	// server raises, and it raises it about the row it was given.
	return task.Data
}

// stateClasses are the classes of SQLSTATEs by their first two characters.
var stateClasses = map[string]task.Class{
	"00": task.Internal, // not an error
	"01": task.Internal, // a warning
	"02": task.Internal, // no data
	"03": task.Internal, // statement not yet complete
	"08": task.Transient,
	"09": task.Data, // triggered action
	"0A": task.Config,
	"0B": task.Internal, // transaction initiation
	"0F": task.Data,     // locator
	"0L": task.Config,   // grantor
	"0P": task.Config,   // role
	"0Z": task.Data,     // diagnostics
	"10": task.Data,     // XQuery
	"20": task.Data,     // case not found, in a function
	"21": task.Data,     // cardinality
	"22": task.Data,
	"23": task.Data,
	"24": task.Internal, // cursor state
	"25": task.Internal, // transaction state
	"26": task.Config,   // prepared statement gone: a pooler is in between
	"27": task.Data,     // triggered data change
	"28": task.Config,
	"2B": task.Config,   // dependent privileges
	"2D": task.Internal, // transaction termination
	"2F": task.Data,     // SQL routine
	"34": task.Internal, // cursor name
	"38": task.Data,     // external routine
	"39": task.Data,     // external routine invocation
	"3B": task.Internal, // savepoint
	"3D": task.Config,   // database name
	"3F": task.Config,   // schema name
	"40": task.Busy,     // serialization, deadlock
	"42": task.Config,
	"44": task.Data, // WITH CHECK OPTION
	"53": task.Busy, // resources
	"54": task.Config,
	"55": task.Config,
	"57": task.Transient, // operator intervention
	"58": task.Human,     // the server's disk or files
	"72": task.Transient, // snapshot too old
	"F0": task.Config,    // configuration file
	"HV": task.Config,    // foreign data
	"P0": task.Data,      // raised by a function
	"XX": task.Human,     // internal error, corruption
}

// states are the exceptions from stateClasses.
var states = map[string]task.Class{
	"25006": task.Config,    // read-only: a standby, or set so
	"25P03": task.Transient, // idle in transaction for too long
	"25P04": task.Busy,      // transaction_timeout
	"40002": task.Data,      // a constraint at commit
	"40003": task.Transient, // outcome unknown
	"53100": task.Human,     // disk full: writing on would only hurt the server more
	"53400": task.Config,    // a configured limit
	"54000": task.Data,      // mostly a value too long for an index
	"55006": task.Busy,      // object in use
	"55P03": task.Busy,      // lock not available
	"57014": task.Busy,      // cancelled by statement_timeout or by a human
	"57P04": task.Config,    // the database was dropped
	"HV00N": task.Transient, // foreign server cannot be reached
}
