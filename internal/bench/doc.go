// Package bench measures Godwit against a raw pipe and against the peers that
// are installed, in one run on one machine: only ratios mean anything, since
// machines differ and are never quiet.
//
//	make bench
//	go test -run '^$' -bench Copy -benchtime 1x ./internal/bench -bench.rows 10000000
//	go test -run '^$' -bench Alter/mysql -benchtime 1x ./internal/bench -bench.rounds 1
//
// Peers are found in PATH, and those of online copies also where
// GODWIT_BENCH_PT_OSC, GODWIT_BENCH_GH_OST, GODWIT_BENCH_SPIRIT and
// GODWIT_BENCH_PG_REPACK say; one that is not there is left out, with a line that
// says so, and of one that fails the end of its output is shown.
//
// It uses the real binaries in bin/ and throw-away servers. It has no tests: a
// timed test fails on a busy machine for nothing.
package bench
