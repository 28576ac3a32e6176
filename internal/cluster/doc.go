// Package cluster is the Temporal cluster that Godwit runs on: how both
// binaries connect to it, what they prepare in it, and where its Web UI is.
//
// It promises that the standard TEMPORAL_* variables and temporal.toml mean
// the same everywhere, and that whatever can be wrong with the connection
// (nothing listens, no such namespace, no permission) is said in a sentence
// that names the address and what to do. It knows nothing of migrations
// beyond the names of their search attributes.
package cluster
