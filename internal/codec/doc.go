// Package codec carries column values from one engine to another: for each
// pair of columns it chooses, once, how the value is selected on the source,
// how its bytes are written in the target's load format, and how it is read
// back, so that both sides can be compared. It also says what a source table
// looks like on the target (MapTable).
//
// It promises that a value arrives as the same value or not at all. A pair of
// types that is not certain is refused by name before anything is copied (New,
// MapTable: errors of class config), and a value that the target cannot hold
// is a *ValueError that names column and value. Nothing is rounded, cut,
// clamped or replaced. Canonical bytes of a column are equal exactly when the
// values are, whichever side they come from.
//
// The bytes are those of the servers' text protocols. It leaves it to the
// engines to pin the sessions that they come from:
//
//   - MySQL and MariaDB: time_zone '+00:00', character set utf8mb4, an sql_mode
//     without PAD_CHAR_TO_FULL_LENGTH and ANSI_QUOTES;
//   - PostgreSQL: DateStyle 'ISO', IntervalStyle 'postgres', bytea_output 'hex',
//     extra_float_digits 1 (or more), client_encoding UTF8.
//
// Two zeros of a floating point number are different values (-0 and 0), two
// JSON documents are equal when jsonb says so: order of keys, repeated keys but
// the last, white space and the way a number is written do not count.
//
// A pair of engines is a family of files (mysql_postgres*.go); what a value
// looks like is in a file for each kind of type. A Row is plain JSON: it names
// its codecs, so that a newer version continues with an older one's plan.
// Lengths are in bytes unless a name says otherwise.
package codec
