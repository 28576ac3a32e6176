package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"godwit/internal/sandbox"
	"godwit/internal/scratch"
)

// The names by which the worker knows the databases.
const (
	SourceConnection = "legacy"
	TargetConnection = "warehouse"
)

// The databases on the two servers.
const (
	sourceDatabase = "shop"
	targetDatabase = "warehouse"
)

// folderPrefix begins the name of the folder with the stage's own files. Those of the database servers are beside it.
const folderPrefix = "godwit-demo-"

// Audience sees how the stage is set and what happens on it. Its methods are called from several goroutines.
type Audience interface {
	// Ready tells that something is there, what it is, and how long that took.
	Ready(what, detail string, took time.Duration)
	// Seeding tells how many of the shop's rows have been made.
	Seeding(done, total int64)
	// Note tells what has been done about something that happened.
	Note(text string)
}

// Options say what stands on the stage.
type Options struct {
	Source   sandbox.Kind // MariaDB or MySQL
	Rows     int64        // of the shop; 0 is the usual number
	Seed     uint64
	Queue    string // task queue of the worker
	Audience Audience
	// Broken is told when something on the stage does not stay up: the show cannot go on.
	Broken func(error)
}

// Stage is one that is set.
type Stage struct {
	Source, Target *sandbox.Server
	SeedTime       time.Duration

	options  Options
	folder   *scratch.Folder
	binaries binaries
	temporal *temporal
	worker   *program

	leave   context.CancelFunc // ends the keepers
	keepers sync.WaitGroup
}

// Set sets a stage, and returns when the shop is there and the worker has been started. ctx bounds the setting, not the
// stage's life. Without the database servers the error is a *sandbox.MissingError.
func Set(ctx context.Context, o Options) (_ *Stage, err error) {
	if missing := sandbox.Missing(o.Source, sandbox.Postgres); len(missing) > 0 {
		return nil, &sandbox.MissingError{Requirements: missing}
	}
	s := &Stage{options: o}
	if s.binaries, err = findBinaries(); err != nil {
		return nil, err
	}
	removeAbandoned()
	if s.folder, err = scratch.Make(os.TempDir(), folderPrefix, nil); err != nil {
		return nil, err
	}
	keeping, leave := context.WithCancel(context.WithoutCancel(ctx))
	s.leave = leave
	if err := s.set(ctx, keeping); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// removeAbandoned removes what demos that were killed have left. What cannot be removed is no reason not to start.
func removeAbandoned() {
	for _, path := range scratch.Candidates(os.TempDir(), folderPrefix) {
		if folder, err := scratch.Take(path); err == nil && folder != nil {
			_ = folder.Remove()
		}
	}
}

// set starts everything side by side. The worker comes when what it is to know is there, and meanwhile the shop is filled.
func (s *Stage) set(ctx, keeping context.Context) error {
	group, setting := errgroup.WithContext(ctx)
	source := make(chan struct{})
	group.Go(func() error {
		if err := s.startSource(setting); err != nil {
			return err
		}
		close(source)
		s.keeper(keeping, engineNames[s.Source.Kind], s.Source, nil)
		return s.seed(setting)
	})
	others, starting := errgroup.WithContext(setting)
	others.Go(func() error { return s.startTemporal(starting) })
	others.Go(func() error { return s.startTarget(starting) })
	group.Go(func() error {
		if err := others.Wait(); err != nil {
			return err
		}
		s.keeper(keeping, "Temporal", s.temporal, s.temporal.program)
		s.keeper(keeping, engineNames[s.Target.Kind], s.Target, nil)
		select {
		case <-source:
		case <-setting.Done():
			return setting.Err()
		}
		return s.startWorker(setting, keeping)
	})
	if err := group.Wait(); ctx.Err() != nil {
		return context.Cause(ctx)
	} else if err != nil {
		return err
	}
	return nil
}

func (s *Stage) keeper(ctx context.Context, name string, m mortal, p *program) {
	s.keepers.Go(func() {
		s.keep(ctx, name, m, func() error {
			if p != nil {
				return p.failure("does not stay up")
			}
			return fmt.Errorf("%s does not stay up", name)
		})
	})
}

func (s *Stage) startTemporal(ctx context.Context) (err error) {
	began := time.Now()
	if s.temporal, err = startTemporal(ctx, s.binaries.devserver, s.folder.Path); err != nil {
		return err
	}
	s.options.Audience.Ready("Temporal "+s.temporal.version, fmt.Sprintf("at %s, Web UI at %s", s.Address(), s.temporal.ui()), time.Since(began))
	return nil
}

func (s *Stage) startWorker(ctx, keeping context.Context) error {
	began := time.Now()
	s.worker = &program{
		name: "the worker", path: s.binaries.worker, log: filepath.Join(s.folder.Path, "worker.log"),
		args: []string{"--task-queue", s.options.Queue},
		environment: alone("TEMPORAL_ADDRESS="+s.Address(),
			"GODWIT_CONNECTION_"+strings.ToUpper(SourceConnection)+"="+s.Source.URL(sourceDatabase),
			"GODWIT_CONNECTION_"+strings.ToUpper(TargetConnection)+"="+s.Target.URL(targetDatabase)),
	}
	if err := s.worker.Resume(ctx); err != nil {
		return err
	}
	s.keeper(keeping, "the worker", s.worker, s.worker)
	s.options.Audience.Ready("a worker", fmt.Sprintf("pid %d, knows %s and %s", s.worker.PID(), SourceConnection, TargetConnection), time.Since(began))
	return nil
}

// Address is Temporal's.
func (s *Stage) Address() string { return s.temporal.address() }

// Temporal is its version.
func (s *Stage) Temporal() string { return s.temporal.version }

// WorkerPID is the process of the worker, for those who want to kill it.
func (s *Stage) WorkerPID() int { return s.worker.PID() }

// TemporalPID is the process of the Temporal server.
func (s *Stage) TemporalPID() int { return s.temporal.PID() }

// Close ends everything on the stage and removes what there is of it.
func (s *Stage) Close() error {
	s.leave()
	s.keepers.Wait()
	var worker error
	if s.worker != nil {
		worker = s.worker.Stop()
	}
	stops := s.stops()
	errs := make([]error, len(stops))
	var stopping sync.WaitGroup
	for i, stop := range stops {
		stopping.Go(func() { errs[i] = stop() })
	}
	stopping.Wait()
	return errors.Join(worker, errors.Join(errs...), s.folder.Remove())
}

// stops are what ends the servers that have been started.
func (s *Stage) stops() []func() error {
	var stops []func() error
	if s.temporal != nil {
		stops = append(stops, s.temporal.Stop)
	}
	for _, server := range []*sandbox.Server{s.Source, s.Target} {
		if server != nil {
			stops = append(stops, server.Stop)
		}
	}
	return stops
}
