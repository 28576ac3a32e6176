package corpus

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"
)

const (
	// pace is the writer's rest after each round, or what the round has taken, if
	// that was longer: a corpus is not about how much can be written.
	pace = 20 * time.Millisecond
	// firstMoment is the time of the first round on servers that take one.
	firstMoment = 1_700_000_000
	// deadlock is what MySQL and MariaDB tell a transaction that a change of names
	// has overtaken.
	deadlock = 1213
)

// writer does a trial's transactions again and again, each of them to the table
// and to the reference.
type writer struct {
	t         *testing.T
	s         *session
	dml       [][]string
	rounds    atomic.Int64
	deadlocks int
	stop      chan struct{}
	done      chan struct{}
	err       error // of the application
}

// write starts the writer; a trial without transactions has one that does nothing.
func (d *database) write() *writer {
	w := &writer{t: d.t, s: d.session(), dml: d.dml, stop: make(chan struct{}), done: make(chan struct{})}
	go w.work()
	return w
}

func (w *writer) work() {
	defer close(w.done)
	took := time.Duration(0)
	for w.err == nil && len(w.dml) > 0 {
		select {
		case <-w.stop:
			return
		case <-time.After(max(pace, took)):
		}
		began := time.Now()
		round := w.rounds.Load() + 1
		for _, transaction := range w.dml {
			if w.err = w.transact(transaction, round); w.err != nil {
				return
			}
		}
		w.rounds.Store(round)
		took = time.Since(began)
	}
}

// transact does a transaction, again where the server has not let it through.
func (w *writer) transact(transaction []string, round int64) error {
	for {
		err := w.once(transaction, round)
		var mine *mysql.MySQLError
		if !errors.As(err, &mine) || mine.Number != deadlock {
			return err
		}
		w.deadlocks++
	}
}

func (w *writer) once(transaction []string, round int64) (err error) {
	if !w.s.d.postgres() {
		if err := w.s.exec(fmt.Sprintf("SET timestamp = %d", firstMoment+round)); err != nil {
			return err
		}
	}
	if err := w.s.exec("BEGIN"); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.s.exec("ROLLBACK"))
		}
	}()
	for _, statement := range transaction {
		statement = strings.ReplaceAll(statement, ":round", strconv.FormatInt(round, 10))
		if statement == "ROLLBACK" {
			return w.s.exec("ROLLBACK")
		}
		for _, p := range []place{reference, main} {
			if err := w.s.enter(p); err != nil {
				return err
			}
			if err := w.s.exec(statement); err != nil {
				return fmt.Errorf("round %d, %s: %s: %w", round, p, statement, err)
			}
		}
	}
	return w.s.exec("COMMIT")
}

// more waits for further rounds.
func (w *writer) more(rounds int64) {
	w.t.Helper()
	if len(w.dml) == 0 {
		return
	}
	until := w.rounds.Load() + rounds
	require.Eventually(w.t, func() bool { return w.rounds.Load() >= until || w.broken() }, time.Minute, 5*time.Millisecond, "the writer stands still")
}

func (w *writer) broken() bool {
	select {
	case <-w.done:
		return true
	default:
		return false
	}
}

// ends stops the writer and checks that the application has seen no error.
func (w *writer) ends() {
	w.t.Helper()
	select {
	case <-w.stop:
	default:
		close(w.stop)
	}
	<-w.done
	require.NoError(w.t, w.err, "the application got an error")
	require.LessOrEqual(w.t, w.deadlocks, 20, "transactions that the server ended")
}
