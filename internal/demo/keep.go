package demo

import (
	"context"
	"fmt"
	"time"
)

// mortal is something on the stage that may end by itself, and can go on where it was.
type mortal interface {
	PID() int
	Ended() <-chan struct{}
	Resume(ctx context.Context) error
}

// What ends again and again within soon will not stay up by itself.
const (
	soon      = 3 * time.Second
	mostTries = 5
	tryAgain  = 500 * time.Millisecond
)

// keep starts something again whenever it ends, until the context ends. What does not stay up is the end of the stage.
func (s *Stage) keep(ctx context.Context, name string, m mortal, failure func() error) {
	tries := 0
	for {
		began, pid := time.Now(), m.PID()
		select {
		case <-ctx.Done():
			return
		case <-m.Ended():
		}
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > soon {
			tries = 0
		}
		if tries++; tries > mostTries {
			s.options.Broken(failure())
			return
		}
		if err := s.resume(ctx, m); err != nil {
			if ctx.Err() == nil {
				s.options.Broken(fmt.Errorf("%s has ended and cannot be started again: %w", name, err))
			}
			return
		}
		s.options.Audience.Note(fmt.Sprintf("%s (pid %d) is gone: started it again, pid %d", name, pid, m.PID()))
	}
}

// resume tries several times: what a killed server has left may be in the way for a moment.
func (s *Stage) resume(ctx context.Context, m mortal) error {
	for try := 1; ; try++ {
		err := m.Resume(ctx)
		if err == nil || try == mostTries || ctx.Err() != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(tryAgain):
		}
	}
}
