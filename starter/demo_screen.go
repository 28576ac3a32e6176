package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/jedib0t/go-pretty/v6/text"

	"godwit/internal/demo"
	"godwit/internal/task"
	"godwit/starter/control"
	"godwit/starter/live"
	"godwit/starter/printer"
	"godwit/starter/view"
)

// seedInterval is the time between two lines about the making of the shop.
const seedInterval = 2 * time.Second

// demoScreen is how the demo looks: everything in order on standard output, and with -o json on standard error, but for
// the document at the end. At any time one screen has the bottom of the terminal, and what is said meanwhile goes above it.
type demoScreen struct {
	a     *app
	print *printer.Printer // of text, wherever it goes

	lock   sync.Mutex
	bottom noted       // the screen at the bottom; nil: there is none
	meter  *live.Meter // while the shop is made, on a terminal
	told   time.Time   // when the last line about it was printed
	began  time.Time   // when its making began
}

// noted is a screen above which something can be said.
type noted interface {
	Note(text string)
	Close()
}

func newDemoScreen(a *app) *demoScreen {
	out := a.out
	if a.print.JSON() {
		out = a.err
	}
	return &demoScreen{a: a, print: printer.New(out, out, printer.Text)}
}

// Note says something.
func (s *demoScreen) Note(text string) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.say(text)
}

func (s *demoScreen) say(text string) {
	if s.bottom != nil {
		s.bottom.Note(text)
		return
	}
	s.print.Note("%s", text)
}

// take gives the bottom of the terminal to a screen, or to none.
func (s *demoScreen) take(screen noted) {
	if s.bottom != nil {
		s.bottom.Close()
	}
	s.bottom, s.meter = screen, nil
}

// Close clears the bottom.
func (s *demoScreen) Close() {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.take(nil)
}

func (s *demoScreen) intro(flags demoFlags) {
	source := "MariaDB"
	if flags.mysql {
		source = "MySQL"
	}
	s.Note(fmt.Sprintf("starting Temporal, %s, PostgreSQL and a worker, all of them throw-away,\nand making a shop of %s rows",
		source, humanize.Comma(flags.rows)))
}

// Ready tells of a thing that is there.
func (s *demoScreen) Ready(what, detail string, took time.Duration) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.say(fmt.Sprintf("%6s  %s %s", view.Duration(took), text.Pad(what, 17, ' '), detail))
}

// Seeding shows how much of the shop is made.
func (s *demoScreen) Seeding(done, total int64) {
	s.lock.Lock()
	defer s.lock.Unlock()
	now := time.Now()
	if s.began.IsZero() {
		s.began, s.told = now, now
		if s.bars() {
			if meter, err := live.NewMeter(s.a.out, "making the shop"); err == nil {
				s.take(meter)
				s.meter = meter
			}
		}
	}
	switch {
	case s.meter != nil && done == total:
		s.take(nil)
	case s.meter != nil:
		s.meter.Show(done, total)
	case now.Sub(s.told) >= seedInterval:
		s.told = now
		s.say(view.Meter("making the shop", done, total, now.Sub(s.began), 0))
	}
}

// bars tells whether there is a terminal to draw on.
func (s *demoScreen) bars() bool {
	return !s.a.print.JSON() && s.a.onTerminal() && os.Getenv("TERM") != "dumb"
}

func (s *demoScreen) begun(started control.Started) {
	s.Note(fmt.Sprintf("\ncopying it, as `godwit copy --source %s --target %s --watch` does\nid      %s\nweb ui  %s\n",
		demo.SourceConnection, demo.TargetConnection, started.ID, started.URL))
}

func (s *demoScreen) altering(table string, started control.Started) {
	s.Note(fmt.Sprintf("\naltering %s under an application's writes\nid      %s\nweb ui  %s\n", table, started.ID, started.URL))
}

// copying is the screen of a migration, as watch has it.
func (s *demoScreen) copying() screen {
	s.lock.Lock()
	defer s.lock.Unlock()
	var copying screen = live.NewLines(s.print, s.a.style(), lineInterval)
	if s.bars() {
		copying = s.a.screen(watchFlags{})
	}
	s.take(copying)
	return copying
}

// outcome tells how the copy ended, and prints the document.
func (s *demoScreen) outcome(r demoReport) error {
	s.Close()
	return s.a.print.Document(r, func(w io.Writer) error {
		if err := view.Status(w, r.Migration, s.a.style()); err != nil {
			return err
		}
		_, err := fmt.Fprintf(w, "\n%s rows: made in %s, copied and verified in %s; all of it took %s\n", humanize.Comma(r.Rows),
			inWords(r.Seconds.Seed), inWords(r.Seconds.Copy), inWords(r.Seconds.Total))
		if err != nil || r.Change == nil {
			return err
		}
		if _, err := fmt.Fprintln(w); err != nil {
			return err
		}
		if err := view.Status(w, r.Change.Migration, s.a.style()); err != nil {
			return err
		}
		return writeChange(w, r.Change)
	})
}

func inWords(seconds float64) string {
	return view.Duration(time.Duration(seconds * float64(time.Second)))
}

// stopping tells that the end has come, below the ^C that a terminal shows.
func (s *demoScreen) stopping(interrupted bool) {
	s.Close()
	if interrupted && s.bars() {
		s.Note("")
	}
	s.Note("stopping everything")
}

// encore tells what can be tried now.
func (s *demoScreen) encore(stage *demo.Stage, st task.Status) {
	address := ""
	if stage.Address() != "localhost:7233" {
		address = "TEMPORAL_ADDRESS=" + stage.Address() + " "
	}
	s.Note(fmt.Sprintf(`
Everything stays up until you press Ctrl-C. Try, in another terminal:

  export %[1]sID=%[2]s
  %[3]s status $ID
  %[3]s events $ID
  %[4]s
  %[5]s

Copy it once more, slowly and into a schema of its own, and meanwhile kill what
you like. It is started again, and the copy goes on where it was:

  %[3]s copy --source %[6]s --target %[7]s --table 'shop.*' --rows-per-second 50000 --watch
  kill -9 %-8[8]d # the worker
  kill -9 %-8[9]d # Temporal
  kill -9 %-8[10]d # PostgreSQL
`, address, st.ID, filepath.Clean(os.Args[0]), stage.TargetClient(), stage.SourceClient(), demo.SourceConnection, demo.TargetConnection,
		stage.WorkerPID(), stage.TemporalPID(), stage.Target.PID()))
}
