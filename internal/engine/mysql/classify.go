package mysql

import (
	"crypto/tls"
	"database/sql"
	"database/sql/driver"
	"errors"
	"net"
	"slices"

	"github.com/go-sql-driver/mysql"

	"godwit/internal/task"
)

// Classify says what is to be done about an error of the server, the driver or
// the connection; false when it is none of these.
func Classify(err error) (task.Class, bool) {
	if e, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return classifyServer(e), true
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return task.Config, true
	}
	for _, known := range driverErrors {
		if errors.Is(err, known.err) {
			return known.class, true
		}
	}
	if _, ok := errors.AsType[*net.OpError](err); ok {
		return task.Transient, true
	}
	return "", false
}

// classifyServer goes by the number, else by the class of the SQLSTATE. What
// says nothing of itself is tried again: there is an end to that, and a
// migration of days is not to fail over a hiccup.
func classifyServer(e *mysql.MySQLError) task.Class {
	if class, known := serverErrors[e.Number]; known {
		return class
	}
	switch string(e.SQLState[:2]) {
	case "08":
		return task.Transient
	case "40":
		return task.Busy
	case "21", "22", "23":
		return task.Data
	case "0A", "28", "2F", "3D", "42", "44":
		return task.Config
	}
	return task.Transient
}

// driverErrors are those of the driver and of database/sql.
var driverErrors = []struct {
	err   error
	class task.Class
}{
	{poolClosed, task.Stopping},
	{driver.ErrBadConn, task.Transient},
	{sql.ErrConnDone, task.Transient},
	{mysql.ErrInvalidConn, task.Transient},
	{mysql.ErrMalformPkt, task.Transient},
	{mysql.ErrPktSync, task.Transient},
	{mysql.ErrPktSyncMul, task.Transient},
	{mysql.ErrBusyBuffer, task.Transient},
	{mysql.ErrPktTooLarge, task.Config}, // max_allowed_packet
	{mysql.ErrNoTLS, task.Config},
	{mysql.ErrCleartextPassword, task.Config},
	{mysql.ErrNativePassword, task.Config},
	{mysql.ErrOldPassword, task.Config},
	{mysql.ErrUnknownPlugin, task.Config},
	{mysql.ErrOldProtocol, task.Config},
}

// poolClosed is the error of a pool that is closed, which a worker does when it
// stops. It has no name, so a closed pool is asked for it.
var poolClosed = func() error {
	connector, err := mysql.NewConnector(mysql.NewConfig())
	if err != nil {
		return err
	}
	pool := sql.OpenDB(connector)
	_ = pool.Close() // there is nothing to be closed
	return pool.Ping()
}()

// The numbers that are used elsewhere.
const noSuchTable = 1146

// AlreadyThere reports whether a statement was refused because what it makes
// (a table, a column, an index) is there already.
func AlreadyThere(err error) bool {
	switch number(err) {
	case 1050, 1060, 1061:
		return true
	}
	return false
}

// denied are the numbers by which a server refuses to show a table or a column.
var denied = []uint16{1044, 1142, 1143, 1227}

func isDenied(err error) bool { return slices.Contains(denied, number(err)) }

// serverErrors are the errors whose class is known. MySQL and MariaDB share the
// numbers up to about 1900; above that each has its own.
var serverErrors = map[uint16]task.Class{
	// The connection is lost, or the server is not there for the moment.
	1015: task.Transient, // cannot lock a file
	1030: task.Transient, // the storage engine's own error
	1043: task.Transient, // bad handshake
	1047: task.Transient, // a Galera node that has not joined yet
	1053: task.Transient, // the server is shutting down
	1077: task.Transient, // normal shutdown
	1079: task.Transient, // shutdown complete
	1080: task.Transient, // forcing the end of a thread
	1105: task.Transient, // unknown; proxies use it for anything
	1152: task.Transient, // aborted connection
	1156: task.Transient, // packets out of order
	1157: task.Transient, // packet cannot be uncompressed
	1158: task.Transient, // error reading from the network
	1159: task.Transient, // timeout reading from the network
	1160: task.Transient, // error writing to the network
	1161: task.Transient, // timeout writing to the network
	1184: task.Transient, // aborted connection
	1189: task.Transient, // network error reading from a primary
	1190: task.Transient, // network error writing to a primary
	1317: task.Transient, // query interrupted: KILL QUERY
	1615: task.Transient, // prepared statement is to be prepared again
	1927: task.Transient, // MariaDB: connection was killed
	2002: task.Transient, // cannot connect through a socket
	2003: task.Transient, // cannot connect
	2006: task.Transient, // server has gone away
	2013: task.Transient, // lost connection during a query
	2055: task.Transient, // lost connection, with the system's error
	3032: task.Transient, // the server is in offline mode
	3168: task.Transient, // the server is not available
	3169: task.Transient, // the session was killed
	4031: task.Transient, // disconnected for inactivity

	// Something is taken or full that will be free again.
	1020: task.Busy, // the row has changed since it was read
	1021: task.Busy, // disk full
	1040: task.Busy, // too many connections
	1041: task.Busy, // out of memory
	1114: task.Busy, // the table, or its disk, is full
	1135: task.Busy, // cannot create a thread
	1180: task.Busy, // error during commit: certification in a cluster
	1197: task.Busy, // the transaction is larger than max_binlog_cache_size
	1203: task.Busy, // too many connections of this user
	1205: task.Busy, // lock wait timeout
	1206: task.Busy, // the lock table is full
	1213: task.Busy, // deadlock
	1226: task.Busy, // the user's resources are used up
	1412: task.Busy, // the definition has changed, retry the transaction
	1613: task.Busy, // XA: rolled back, took too long
	1614: task.Busy, // XA: rolled back, deadlock
	1637: task.Busy, // too many transactions at once
	1705: task.Busy, // the statement is larger than max_binlog_stmt_cache_size
	1969: task.Busy, // MariaDB: max_statement_time exceeded
	3024: task.Busy, // MySQL: max_execution_time exceeded
	3058: task.Busy, // deadlock of user-level locks
	3101: task.Busy, // group replication rolled the transaction back
	3572: task.Busy, // NOWAIT

	// A value does not fit.
	1022: task.Data, // duplicate key on write
	1048: task.Data, // column cannot be null
	1062: task.Data, // duplicate entry
	1136: task.Data, // column count does not match
	1138: task.Data, // invalid use of NULL
	1169: task.Data, // unique constraint
	1216: task.Data, // foreign key: no parent
	1217: task.Data, // foreign key: has children
	1261: task.Data, // LOAD DATA: too few columns
	1262: task.Data, // LOAD DATA: too many columns
	1263: task.Data, // NULL for a NOT NULL column
	1264: task.Data, // out of range
	1265: task.Data, // truncated
	1292: task.Data, // truncated incorrect value
	1300: task.Data, // invalid character string
	1301: task.Data, // the result is larger than max_allowed_packet
	1365: task.Data, // division by zero
	1366: task.Data, // incorrect value for a column
	1367: task.Data, // illegal value found when parsing
	1406: task.Data, // too long
	1411: task.Data, // incorrect value for a function
	1416: task.Data, // not a geometry
	1441: task.Data, // datetime overflow
	1451: task.Data, // foreign key: has children
	1452: task.Data, // foreign key: no parent
	1525: task.Data, // incorrect value
	1526: task.Data, // no partition for the value
	1557: task.Data, // foreign key: duplicate
	1586: task.Data, // duplicate entry
	1644: task.Data, // SIGNAL of a trigger
	1690: task.Data, // value is out of range
	1748: task.Data, // row does not fit the partition
	1761: task.Data, // foreign key: duplicate in the child
	1762: task.Data, // foreign key: duplicate in the child
	1859: task.Data, // duplicate entry in an index
	1977: task.Data, // MariaDB: cannot convert a character
	3140: task.Data, // invalid JSON
	3141: task.Data, // invalid JSON in an argument
	3143: task.Data, // invalid JSON path
	3144: task.Data, // JSON in the wrong character set
	3146: task.Data, // invalid type for JSON
	3156: task.Data, // invalid JSON value for CAST
	3157: task.Data, // JSON is nested too deeply
	3751: task.Data, // truncated for a functional index
	3819: task.Data, // check constraint
	3854: task.Data, // cannot convert a string
	3903: task.Data, // invalid JSON value for a functional index
	4025: task.Data, // MariaDB: check constraint
	4038: task.Data, // MariaDB: invalid JSON

	// Somebody has to mend it: an account, a privilege, a setting, a definition.
	1044: task.Config, // access to the database denied
	1045: task.Config, // access denied: user or password
	1049: task.Config, // unknown database
	1050: task.Config, // table exists
	1051: task.Config, // unknown table
	1052: task.Config, // ambiguous column
	1054: task.Config, // unknown column
	1060: task.Config, // duplicate column
	1061: task.Config, // duplicate index
	1064: task.Config, // syntax
	1071: task.Config, // key too long
	1072: task.Config, // key column does not exist
	1091: task.Config, // cannot drop what is not there
	1093: task.Config, // the table that is changed is read in a subquery
	1095: task.Config, // not the owner of the thread
	1109: task.Config, // unknown table
	1111: task.Config, // invalid use of a group function
	1115: task.Config, // unknown character set
	1118: task.Config, // row too large
	1129: task.Config, // host is blocked
	1130: task.Config, // host is not allowed
	1133: task.Config, // no such user
	1142: task.Config, // command denied for the table
	1143: task.Config, // command denied for the column
	1146: task.Config, // no such table
	1148: task.Config, // command is not allowed: LOCAL INFILE
	1149: task.Config, // syntax
	1153: task.Config, // packet larger than max_allowed_packet
	1176: task.Config, // no such index
	1193: task.Config, // unknown system variable
	1194: task.Config, // the table is crashed
	1195: task.Config, // the table is crashed
	1210: task.Config, // wrong arguments
	1221: task.Config, // wrong usage
	1227: task.Config, // a privilege is missing
	1231: task.Config, // a variable cannot have the value
	1235: task.Config, // not supported by this version
	1251: task.Config, // authentication protocol
	1267: task.Config, // illegal mix of collations
	1270: task.Config, // illegal mix of collations
	1271: task.Config, // illegal mix of collations
	1273: task.Config, // unknown collation
	1286: task.Config, // unknown storage engine
	1288: task.Config, // not an updatable table
	1290: task.Config, // an option of the server prevents it: read-only
	1298: task.Config, // unknown time zone
	1305: task.Config, // no such function
	1347: task.Config, // not a table
	1348: task.Config, // not an updatable column
	1356: task.Config, // invalid view
	1364: task.Config, // no default for a column
	1370: task.Config, // command denied for the routine
	1396: task.Config, // account operation failed
	1419: task.Config, // binary log: SUPER or log_bin_trust_function_creators
	1442: task.Config, // a trigger changes the table that the statement is about
	1449: task.Config, // no such definer
	1524: task.Config, // plugin is not loaded
	1553: task.Config, // an index that a foreign key needs
	1698: task.Config, // access denied, without a password
	1709: task.Config, // index column too long
	1712: task.Config, // corrupt index
	1785: task.Config, // GTIDs: tables with and without transactions in one
	1786: task.Config, // GTIDs: CREATE TABLE … SELECT
	1787: task.Config, // GTIDs: a temporary table in a transaction
	1792: task.Config, // read-only transaction
	1812: task.Config, // tablespace is missing
	1820: task.Config, // password must be changed
	1828: task.Config, // a column that a foreign key needs
	1829: task.Config, // a column that another table's foreign key needs
	1836: task.Config, // read-only mode
	1845: task.Config, // ALTER is not supported this way
	1846: task.Config, // ALTER is not supported this way
	1862: task.Config, // password has expired
	1877: task.Config, // corrupt table
	1906: task.Config, // MariaDB: a generated column cannot be set
	1932: task.Config, // the table is not in the engine
	3105: task.Config, // a generated column cannot be set
	3118: task.Config, // account is locked
	3159: task.Config, // TLS is required
	3750: task.Config, // a table has to have a primary key
	3780: task.Config, // foreign key: columns are incompatible
	3948: task.Config, // LOCAL INFILE is off
	4151: task.Config, // MariaDB: account is locked
}
