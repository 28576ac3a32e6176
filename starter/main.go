// Command godwit starts long database migrations, shows how they stand, and
// steers them. The work itself is done by godwit-worker.
//
// It promises that data goes to standard output and everything else to
// standard error, that every error is a sentence with a remedy, and that
// interrupting it never touches a migration.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A second Ctrl-C ends the process at once.
	context.AfterFunc(ctx, stop)
	os.Exit(execute(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
