// Package live shows a migration while it runs: as bars on a terminal, as
// lines elsewhere.
//
// It promises to show whatever status it is given and to leave the terminal as
// it was; where the status comes from, and when to stop, is its caller's
// business.
package live
