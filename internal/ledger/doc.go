// Package ledger keeps a migration's checkpoint of record: Godwit's own tables
// in the database that is being written.
//
// It promises
//   - that a chunk counts exactly once: its rows and its checkpoint are written
//     in one transaction, which fails with class superseded when another
//     attempt has claimed the shard since (Lease.Advance);
//   - that a table is migrated by one migration at a time (Claim);
//   - that anybody can read it with plain SQL, and that it is upgraded in place
//     by a newer Godwit.
//
// It leaves to others what a shard, a plan or a backup means: their
// definitions are kept as JSON that the kind of migration reads back.
//
// On PostgreSQL the tables are in the schema godwit, on MySQL and MariaDB they
// are called _godwit_<name> and stand in the migrated database. Times are UTC.
//
// The queries are written once: ? is a placeholder, {shard} the shard table,
// "no" a quoted name, and {now} the server's clock; a dialect rewrites them.
package ledger
