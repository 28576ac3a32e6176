// Package sandboxtest gives a test a database server of its own.
package sandboxtest

import (
	"testing"

	"godwit/internal/sandbox"
)

// Start starts a server that is stopped and removed with the test. A server that cannot be started fails the test, and
// never skips it: the error of an engine that is not installed says how to install it.
func Start(t testing.TB, kind sandbox.Kind, o sandbox.Options) *sandbox.Server {
	t.Helper()
	server, err := sandbox.Start(t.Context(), kind, o)
	if err != nil {
		t.Fatalf("a test needs a %s server: %v", kind, err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Errorf("stop the %s server: %v", kind, err)
		}
	})
	return server
}
