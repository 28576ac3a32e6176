// Package mysqlwire reads the result of a query straight from the connection
// of a go-sql-driver/mysql pool.
//
// The driver parses every number of a text result and boxes every value, which
// costs most of the time of reading a table that is only to be passed on. Here
// rows are slices of the read buffer: nothing is parsed, and nothing is
// allocated for a row or a value.
//
// It promises that the bytes are the server's own, that a result either ends
// with the server's own end marker or with an error, and that a connection is
// used again only when the result was read to that marker; after anything else
// it is closed. Packets are checked strictly: sequence numbers, lengths, and
// the number of values in a row.
//
// It leaves everything else to the driver: dialling, TLS, authentication,
// session settings, and every other statement. A connection that is encrypted or
// compressed cannot be read directly, since the driver keeps the plain side to
// itself: Query then returns ErrIndirect, and the caller reads through
// database/sql.
package mysqlwire
