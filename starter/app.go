package main

import (
	"context"
	"io"
	"os"
	"time"

	"go.temporal.io/sdk/log"
	"golang.org/x/term"

	"godwit/internal/cluster"
	"godwit/starter/control"
	"godwit/starter/printer"
	"godwit/starter/view"
)

// app is what the verbs share: where they read and write, and the global flags.
type app struct {
	in       io.Reader
	out, err io.Writer

	address, namespace, profile string
	queue                       string
	output                      string
	debug                       bool

	print *printer.Printer
	desk  *control.Desk
}

// open connects to Temporal, once. The connection is closed with the process.
func (a *app) open(ctx context.Context) (*control.Desk, error) {
	if a.desk != nil {
		return a.desk, nil
	}
	options := cluster.Options{
		Address:   a.address,
		Namespace: a.namespace,
		Profile:   a.profile,
		Identity:  control.Operator(),
	}
	if a.debug {
		options.Logger = log.NewStructuredLogger(debugLogger(a.err))
	}
	c, err := cluster.Dial(ctx, options)
	if err != nil {
		return nil, err
	}
	a.desk = control.New(c, a.queue)
	return a.desk, nil
}

// close ends the connection, if there is one.
func (a *app) close() {
	if a.desk != nil {
		a.desk.Cluster().Close()
	}
}

// style is how text looks where it goes to.
func (a *app) style() view.Style {
	return view.Style{Color: a.onTerminal() && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb", Now: time.Now()}
}

// onTerminal reports whether people see the output as it is written.
func (a *app) onTerminal() bool {
	file, ok := a.out.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// outage tells the user about a Temporal that does not answer, and goes on.
func (a *app) outage(err error) {
	if err == nil {
		a.print.Note("Temporal answers again")
		return
	}
	a.print.Note("%v\nthe migration is kept there; waiting until it answers again", err)
}
