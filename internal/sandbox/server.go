package sandbox

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"godwit/internal/process"
)

// Kind names a database engine.
type Kind string

// The engines a sandbox can run.
const (
	Postgres Kind = "postgres"
	MariaDB  Kind = "mariadb"
	MySQL    Kind = "mysql"
)

// Kinds are all engines, in the order in which they are listed to people.
func Kinds() []Kind { return []Kind{Postgres, MariaDB, MySQL} }

const (
	startLimit    = 2 * time.Minute // crash recovery of a benchmark's data included
	stopLimit     = time.Minute
	readyInterval = 20 * time.Millisecond
	startAttempts = 3 // a port that was free can be taken before the server has it
)

// Options say how a server is made. The zero value is right for most tests.
type Options struct {
	Dir       string            // parent of the server's folder; default os.TempDir()
	Port      int               // 0: a free one; the port is kept over Restart and Resume
	Settings  map[string]string // server settings, e.g. {"innodb_buffer_pool_size": "1G"}; an empty value is a bare MySQL flag
	Durable   bool              // what is committed survives Kill; otherwise the server is tuned to be fast and may lose it
	Keep      bool              // Stop leaves the server's folder
	Log       io.Writer         // lines of progress; nil: silent
	Databases []string          // created at the first start

	primary *Server // that a replica follows
}

// Server is one running, stopped or killed database server. Its methods may be called from several goroutines.
type Server struct {
	Kind    Kind
	Port    int    // on 127.0.0.1
	Dir     string // everything of this server is below it
	Version string // as the server calls itself

	engine    engine
	options   Options
	password  string
	directory *directory

	lifecycle sync.Mutex
	process   *process.Process // of the last start; nil before the first
}

// Start makes a server and returns when it answers and has its databases. ctx bounds the start, not the server's life.
// When the engine is not installed the error is a *MissingError.
func Start(ctx context.Context, kind Kind, o Options) (*Server, error) {
	engine, err := find(kind)
	if err != nil {
		return nil, err
	}
	for attempt := 1; ; attempt++ {
		s, err := startNew(ctx, kind, engine, o)
		if err == nil || o.Port != 0 || attempt == startAttempts || !errors.Is(err, errPortTaken) {
			return s, err
		}
	}
}

func startNew(ctx context.Context, kind Kind, engine engine, o Options) (_ *Server, err error) {
	parent := o.Dir
	if parent == "" {
		parent = os.TempDir()
	}
	s := &Server{Kind: kind, Port: o.Port, engine: engine, options: o, password: rand.Text()}
	s.sweep(parent)
	if o.primary != nil && kind == Postgres {
		s.password = o.primary.password // it has the same users
	}
	if s.Port == 0 {
		if s.Port, err = freePort(); err != nil {
			return nil, err
		}
	}
	if s.directory, err = claimDirectory(parent, kind, o.Keep); err != nil {
		return nil, err
	}
	s.Dir = s.directory.Path
	defer func() {
		if err != nil {
			err = errors.Join(err, s.halt(), s.discard())
		}
	}()
	began := time.Now()
	s.say("initialising %s in %s", kind, s.Dir)
	if err := engine.initialise(ctx, s); err != nil {
		return nil, s.wrap("initialise", err)
	}
	if err := s.run(ctx); err != nil {
		return nil, err
	}
	for _, database := range o.Databases {
		if err := s.Exec(ctx, "", "CREATE DATABASE "+engine.quote(database)); err != nil {
			return nil, err
		}
	}
	s.say("%s %s is up at %s after %.1f s", kind, s.Version, s.Addr(), time.Since(began).Seconds())
	return s, nil
}

// run starts the server's process and waits until it answers.
func (s *Server) run(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	log, err := s.openLog()
	if err != nil {
		return s.wrap("start", err)
	}
	defer log.Close()
	from, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return s.wrap("start", err)
	}
	cmd := s.engine.command(s)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = s.Dir, serverEnvironment(), log, log
	if s.process, err = process.Start(cmd, s.engine.deathSignal()); err != nil {
		return s.wrap("start", err)
	}
	if err := s.directory.record(s.process.PID); err != nil {
		return s.wrap("start", err)
	}
	if err := s.awaitReady(ctx); err != nil {
		if strings.Contains(s.logFrom(from), "ddress already in use") {
			err = errPortTaken
		}
		return errors.Join(s.wrap("start", err), s.halt())
	}
	return nil
}

// awaitReady asks the server what it is until it tells. Asking ends with the server's process: another program that has
// the port might take the question and never answer.
func (s *Server) awaitReady(ctx context.Context) error {
	ended := s.process.Done()
	asking, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-ended:
			cancel()
		case <-asking.Done():
		}
	}()
	for {
		version, err := s.engine.version(asking, s)
		if err == nil {
			s.Version = version
			return nil
		}
		select {
		case <-ended:
			return fmt.Errorf("the server ended by itself (%v)", s.process.State())
		case <-ctx.Done():
			return fmt.Errorf("no answer from the server: %w, last: %w", ctx.Err(), err)
		case <-time.After(readyInterval):
		}
	}
}

// Stop ends the server gracefully and removes its folder, unless Options.Keep. A server that does not end in time is
// killed, and Stop says so. Stopping again does nothing.
func (s *Server) Stop() error {
	s.lifecycle.Lock()
	defer s.lifecycle.Unlock()
	err := s.stop()
	if s.options.Keep {
		return errors.Join(err, s.directory.Release())
	}
	return errors.Join(err, s.discard())
}

// discard removes what there is of a server that has ended.
func (s *Server) discard() error {
	return errors.Join(s.wrap("clean up", s.engine.clear(s.Dir)), s.directory.Remove())
}

// Restart ends the server gracefully and starts it on the same port and data.
func (s *Server) Restart(ctx context.Context) error {
	s.lifecycle.Lock()
	defer s.lifecycle.Unlock()
	if err := s.stop(); err != nil {
		return err
	}
	return s.run(ctx)
}

// Kill ends the server and its children at once, as a crash does; its data stays. Killing a dead server does nothing.
func (s *Server) Kill() error {
	s.lifecycle.Lock()
	defer s.lifecycle.Unlock()
	return s.halt()
}

// Resume starts the server on the same port and data after Kill or a crash; a server that is up is left alone.
func (s *Server) Resume(ctx context.Context) error {
	s.lifecycle.Lock()
	defer s.lifecycle.Unlock()
	if s.process.Alive() {
		return nil
	}
	return s.run(ctx)
}

// PID is the server's process, of the last start.
func (s *Server) PID() int {
	s.lifecycle.Lock()
	defer s.lifecycle.Unlock()
	return s.process.PID
}

// Ended is closed when the server's process has ended, be it stopped, killed or crashed. After a further start it is
// another channel.
func (s *Server) Ended() <-chan struct{} {
	s.lifecycle.Lock()
	defer s.lifecycle.Unlock()
	return s.process.Done()
}

func (s *Server) stop() error {
	return s.wrap("stop", s.process.Stop(s.engine.stopSignal(), stopLimit))
}

func (s *Server) halt() error { return s.wrap("kill", s.process.Kill()) }

// Addr is the server's host:port.
func (s *Server) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.Port)) }

func (s *Server) data() string    { return filepath.Join(s.Dir, "data") }
func (s *Server) tmp() string     { return filepath.Join(s.Dir, "tmp") }
func (s *Server) logPath() string { return filepath.Join(s.Dir, string(s.Kind)+".log") }

// settings are the engine's defaults overlaid by the options, where - and _ are the same in a name.
func (s *Server) settings(defaults map[string]string) map[string]string {
	merged := maps.Clone(defaults)
	for name, value := range s.options.Settings {
		merged[strings.ReplaceAll(name, "-", "_")] = value
	}
	return merged
}

func (s *Server) say(format string, args ...any) {
	if s.options.Log != nil {
		fmt.Fprintf(s.options.Log, format+"\n", args...)
	}
}
