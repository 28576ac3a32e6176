// Package task is the vocabulary of a migration that everybody shares: states,
// phases, ids, progress, error classes, and the names, inputs and results of
// the activities, signals, updates and queries.
//
// It promises that a word means one thing in Temporal, the ledger, the CLI and
// JSON alike. It imports nothing of Godwit's, so that workflows can use it
// without pulling in a database driver.
//
// Units: rows and bytes are counts, rates are per second, durations in JSON
// are seconds where the name says so and Go durations (time.Duration, in
// nanoseconds) in payloads between workflow and activities. Times are UTC.
package task
