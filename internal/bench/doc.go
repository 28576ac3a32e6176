// Package bench measures Godwit against a raw pipe and against the peers that
// are installed, in one run on one machine: only ratios mean anything, since
// machines differ and are never quiet.
//
//	make bench
//	go test -run '^$' -bench Copy -benchtime 1x ./internal/bench -bench.rows 10000000
//
// It uses the real binaries in bin/ and throw-away servers. It has no tests: a
// timed test fails on a busy machine for nothing.
package bench
