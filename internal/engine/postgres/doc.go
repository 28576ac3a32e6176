// Package postgres is the PostgreSQL engine, from version 13 on: what a
// database looks like, how rows are loaded and read, the statements that make
// tables, how ranges of a table are cut, and the sessions and transactions that
// the ledger stands on.
//
// It promises that
//   - rows go through as PostgreSQL's own COPY text, with no value parsed, no
//     allocation per row and flat memory; a stream ends with io.EOF only after
//     the server has said how many rows there were and all have arrived;
//   - the rows of ranges that follow each other are together all the rows of a
//     table, each once, whatever the type of the key: keys are compared by the
//     server alone, and what it cannot compare exactly is no key;
//   - what a user wrote is tried without reading or changing a row;
//   - what a dead or frozen worker left behind can be ended: KillSession
//     returns only when the session's transaction is over;
//   - every Ensure function is check → act → check from the catalog, so that it
//     can be called again after any interruption, its own lost connection included;
//   - names are quoted and qualified, so that nothing depends on search_path,
//     and no value gets into an error that the server did not put there.
//
// It leaves to others what a pool looks like (package connection: UTC, ISO
// dates, an empty search_path), which type a column becomes (package codec),
// and when to try again: errors come as the driver made them, Classify tells
// their class and Describe what a failed COPY says about its row; what this
// package finds by itself is a fault.Error.
//
// Sizes are bytes, rows are counts. Sessions are named by process id and start
// time, so that a connection pooler that hands one server session to several
// clients cannot stand between a worker and the server.
package postgres
