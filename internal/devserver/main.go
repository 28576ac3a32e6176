// Command godwit-devserver is a Temporal server with its Web UI in one process and one SQLite file: what the demo and
// the tests of Godwit run against, with nothing to download or install.
//
// It promises that everything a client was told is in the file: killed at any moment and started again on the same
// file, it goes on where it was. It leaves to a real cluster what a development server has no use for:
// authentication, TLS, more than one host, an upgrade of the file by a newer server, and load.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/pflag"
	uiversion "github.com/temporalio/ui-server/v2/server/version"
	"go.temporal.io/server/common/headers"
)

// stopLimit bounds a clean stop. Passing it loses nothing: the file is safe against a kill.
const stopLimit = 8 * time.Second

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run is the process: it returns the exit code, which is 0 after a stop by signal, 2 for wrong usage and 1 for a
// server that cannot start.
func run(args []string, stdout, stderr io.Writer) int {
	opts, err := parseFlags(args)
	switch {
	case errors.Is(err, pflag.ErrHelp):
		fmt.Fprint(stdout, usage())
		return 0
	case err != nil:
		fmt.Fprintf(stderr, "godwit-devserver: %v\n", err)
		return 2
	case opts.version:
		fmt.Fprintf(stdout, "godwit-devserver: Temporal server %s, Web UI %s\n", headers.ServerVersion, uiversion.UIVersion)
		return 0
	}
	if err := serve(opts, stdout); err != nil {
		fmt.Fprintf(stderr, "godwit-devserver: %v\n", err)
		return 1
	}
	return 0
}

// serve runs the server until a signal stops it. A second signal ends the process at once.
func serve(opts *options, stdout io.Writer) error {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()

	srv, err := startServer(ctx, opts)
	if ctx.Err() != nil {
		return nil // stopped while it was starting
	}
	if err != nil {
		return err
	}
	ui, err := startUI(ctx, opts, srv.address)
	if err != nil {
		return errors.Join(err, srv.stop())
	}
	fmt.Fprintln(stdout, readyLine(opts, srv.address))

	<-ctx.Done()
	cancel()
	stopped := make(chan error, 1)
	go func() {
		if ui != nil {
			ui.Stop()
		}
		stopped <- srv.stop()
	}()
	select {
	case err := <-stopped:
		return err
	case <-time.After(stopLimit):
		return nil
	}
}

func readyLine(opts *options, address string) string {
	ui, state := "off (--headless)", "in memory, gone when it stops"
	if !opts.headless {
		ui = opts.uiURL()
	}
	if opts.dbFile != "" {
		state = "in " + opts.dbFile
	}
	return fmt.Sprintf("ready: Temporal %s on %s, Web UI %s, state %s", headers.ServerVersion, address, ui, state)
}
