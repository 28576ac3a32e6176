// Package hook marks the places in the code at which it matters what has been
// done already and what has not, so that a test can end, freeze or hold up a
// real worker exactly there.
//
// It promises that a place costs one comparison while nothing is armed, and
// that nothing is armed unless a process says so (Arm): the worker does, with
// the environment variable GODWIT_HOOK. That is for tests alone; a worker that
// is armed says so in its log.
//
// The variable holds triggers, separated by semicolons, each of the form
//
//	place:count:action
//
// The action is done when the process comes to the place for the count-th
// time, over all shards and migrations together, and only then.
//
//	kill        the process kills itself (SIGKILL): nothing more is done
//	stop        it freezes itself (SIGSTOP) until somebody sends SIGCONT
//	hold=FILE   the goroutine makes FILE and goes on when FILE is gone; the rest
//	            of the process works on meanwhile
package hook

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// Variable is the environment variable that a worker is armed by.
const Variable = "GODWIT_HOOK"

// holdInterval is how often a held goroutine looks whether it may go on.
const holdInterval = 10 * time.Millisecond

// armed are the triggers by their places. It is written before anything runs.
var armed map[string][]*trigger

// trigger does something when a place is come to for the count-th time.
type trigger struct {
	count  int64
	action func()
	passed atomic.Int64
}

// At is a place. It comes after what its name says has been done.
func At(place string) {
	if armed == nil {
		return
	}
	var due []func()
	for _, t := range armed[place] { // an action may last until the place is come to again
		if t.passed.Add(1) == t.count {
			due = append(due, t.action)
		}
	}
	for _, action := range due {
		action()
	}
}

// Arm sets the triggers of this process. An empty text arms nothing. It must
// be called before any place is come to.
func Arm(text string) error {
	if text == "" {
		return nil
	}
	triggers := map[string][]*trigger{}
	for part := range strings.SplitSeq(text, ";") {
		place, t, err := parse(strings.TrimSpace(part))
		if err != nil {
			return fmt.Errorf("%s: %w", Variable, err)
		}
		triggers[place] = append(triggers[place], t)
	}
	armed = triggers
	return nil
}

func parse(text string) (string, *trigger, error) {
	fields := strings.SplitN(text, ":", 3)
	if len(fields) != 3 || fields[0] == "" {
		return "", nil, fmt.Errorf("%q is not of the form place:count:action", text)
	}
	count, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil || count < 1 {
		return "", nil, fmt.Errorf("%q: the count %q is not a number from 1", text, fields[1])
	}
	t := &trigger{count: count}
	switch name, file, _ := strings.Cut(fields[2], "="); {
	case name == "kill" && file == "":
		t.action = func() { raise(syscall.SIGKILL) }
	case name == "stop" && file == "":
		t.action = func() { raise(syscall.SIGSTOP) }
	case name == "hold" && filepath.IsAbs(file):
		t.action = func() { hold(file) }
	default:
		return "", nil, fmt.Errorf("%q: the action %q is not kill, stop or hold=FILE with an absolute path", text, fields[2])
	}
	return fields[0], t, nil
}

// raise sends this process a signal that it cannot catch, and does not go on
// before that has come.
func raise(signal syscall.Signal) {
	if err := syscall.Kill(os.Getpid(), signal); err != nil {
		panic(fmt.Sprintf("%s: cannot send %s to this process: %v", Variable, signal, err))
	}
	// The signal is the process's, and may reach another thread first.
	time.Sleep(holdInterval)
}

// hold waits until somebody removes the file.
func hold(file string) {
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		panic(fmt.Sprintf("%s: %v", Variable, err))
	}
	for {
		if _, err := os.Stat(file); err != nil {
			return
		}
		time.Sleep(holdInterval)
	}
}
