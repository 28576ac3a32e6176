// Package throttle holds work back so that the databases keep serving their
// applications.
//
// A Governor watches one migration in one worker; the shards of the migration
// in that worker share it, so that every probe runs once a second however many
// shards there are. A Share is one shard's part of it: it waits before a chunk
// while a guard holds, and for its part of the rows and bytes per second.
//
// It promises that waiting ends at once when the context does, that a reading
// that failed, hangs or is old holds and says so (it fails closed), that one
// probe never waits for another one, and that nothing of a database stays in
// use while a shard waits: no session, transaction or snapshot of the package's
// own. What is to be limited, and by how much, is the spec's and the operator's
// to say; that no transaction is open when Wait is called is the caller's.
//
// Errors of Wait are faults: stopping, when the call was asked to end, human,
// when a guard says stop, and those of the ledger as they are.
package throttle
