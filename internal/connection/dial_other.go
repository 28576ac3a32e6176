//go:build !linux

package connection

import "syscall"

// limitUnanswered needs Linux; elsewhere the system's own limit holds.
func limitUnanswered(_, _ string, _ syscall.RawConn) error { return nil }
