// Package chaos tests Godwit as a whole: the real godwit and godwit-worker as
// processes, a real Temporal server, real MariaDB, MySQL and PostgreSQL
// servers, all of which are killed, frozen, restarted and cut off while
// migrations run.
//
// It promises that whatever is done to a migration, it ends as it should, and
// that an oracle finds every row where it belongs: its own SQL on both sides,
// every row, every column as exact text, independent of Godwit's codecs and
// digests, and the ledger's sums besides. It leaves to the packages' own tests
// what one package can show of itself.
//
// Online copies of tables have an oracle of another kind: a bank, whose tellers
// go on writing while the table is copied and swapped, and keep books of what
// was acknowledged to them.
//
// The parts: a rig is a set of servers, which most tests share; a stage is what
// one test has for itself (databases, task queue, workers); a migration is what
// it starts there. A worker is brought to an exact place in the code by package
// hook. Every wait has an end, and waits for something that can be seen.
//
//	go test ./internal/chaos                        # the short form
//	go test ./internal/chaos -chaos.rounds 20       # make chaos: more rows, more kills
//	go test ./internal/chaos -chaos.seed 4711       # the same random moments again
//	go test ./internal/chaos -run Histories -chaos.record ../../testdata/histories
package chaos
