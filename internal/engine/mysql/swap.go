package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/hook"
	"godwit/internal/task"
)

const (
	// leastHold is the shortest death timer, in whole seconds, that leaves a
	// RENAME a second to wait.
	leastHold = 2
	// renamePoll is how often it is looked whether the RENAME waits.
	renamePoll = time.Millisecond
)

// Swap tries once to change the names of the table and its copy. Three sessions
// have a part in it. The caller's has the tables' locks. Another one waits with
// the RENAME behind these locks: the server lets it go before all the statements
// that come to wait. The third looks on, and gives up for them.
//
// Where the RENAME wants to put the table, there is an empty one meanwhile, the
// sentry, so that it fails. The sentry is dropped by the session that has the
// locks, when the RENAME has been seen to wait and nothing is left to be done but
// to unlock. So whoever dies at whatever moment, there is never a RENAME of a
// table that somebody could have written to since the copy was brought up to date.
func (s *Server) Swap(ctx context.Context, session engine.Session, swap *engine.Swap) error {
	w := &swapper{server: s, swap: swap, locker: session, from: swap.Shadow, to: swap.Old, log: swap.Capture.Log, before: engine.StandBeside, after: engine.StandSwapped}
	if swap.Back {
		w.from, w.to, w.log, w.before, w.after = swap.Old, swap.Shadow, swap.Reshaping.Back.Log, engine.StandSwapped, engine.StandBeside
	}
	stand, err := s.Stand(ctx, swap.Reshaping)
	switch {
	case err != nil:
		return err
	case stand == w.after:
		return nil
	case stand != w.before:
		return fault.About(swap.Table.Name.String(), task.Human, "%s is not there to take the place of %s", w.from, swap.Table.Name)
	}
	if err := s.asPlanned(ctx, swap); err != nil {
		return err
	}
	if err := w.prepare(ctx); err != nil {
		w.end(ctx)
		return err
	}
	if err = w.try(ctx); err != nil {
		err = w.giveUp(ctx, err)
	}
	w.end(ctx)
	return err
}

// swapper is one try.
type swapper struct {
	server        *Server
	swap          *engine.Swap
	from, to      engine.Name // the names of the copy, and what the table will be called
	log           engine.Name
	before, after engine.Stand

	locker   engine.Session // has the locks
	lockerID uint64
	renamer  *session // renames
	watcher  *sql.Conn
	id       uint64     // of the renamer, when nobody else can be one
	renaming chan error // the outcome of the RENAME; nil before it
}

func (w *swapper) name() string { return w.swap.Table.Name.String() }

// hold is the death timer, in seconds.
func (w *swapper) hold() int { return max(leastHold, int(w.swap.Hold/time.Second)) }

// patience is how long, in whole seconds, the locks are waited for by the server itself.
func (w *swapper) patience() int { return max(1, int(math.Ceil(w.swap.Wait.Seconds()))) }

// prepare makes everything ready that can be before the locks are had.
func (w *swapper) prepare(ctx context.Context) error {
	conn, err := w.server.db.Conn(ctx)
	if err != nil {
		return err
	}
	w.renamer = &session{conn: conn}
	if w.watcher, err = w.server.db.Conn(ctx); err != nil {
		return err
	}
	if err := w.server.endSwapper(ctx, w.swap.Table.Name); err != nil {
		return err
	}
	var id uint64
	var taken sql.NullInt64
	if err := conn.QueryRowContext(ctx, "SELECT CONNECTION_ID(), GET_LOCK(?, 0)", swapLock(w.swap.Table.Name)).Scan(&id, &taken); err != nil {
		return err
	}
	if taken.Int64 != 1 {
		return fault.About(w.name(), task.Busy, "somebody else is about to change the names of %s and %s", w.swap.Table.Name, w.from)
	}
	w.id = id
	settings := fmt.Sprintf("SET SESSION lock_wait_timeout = %d, wait_timeout = %d", w.hold()-1, w.patience()+2*w.hold())
	if _, err := conn.ExecContext(ctx, settings); err != nil {
		return err
	}
	if err := w.post(ctx); err != nil {
		return err
	}
	return w.raiseCounter(ctx, w.server)
}

// post makes the sentry, where there is none yet.
func (w *swapper) post(ctx context.Context) error {
	create := "CREATE TABLE IF NOT EXISTS " + QuoteName(w.to) + " (id int NOT NULL PRIMARY KEY) ENGINE=InnoDB COMMENT=" + quoteText(sentryComment)
	if _, err := w.renamer.Exec(ctx, create); err != nil {
		return fmt.Errorf("keep the name %s free: %w", w.to, err)
	}
	found, _, err := w.server.look(ctx, w.swap.Reshaping)
	if err == nil && found[w.to.Table] {
		err = fault.About(w.name(), task.Config, "there is a table %s, which is the name that %s is to get: drop it, or give it another name", w.to, w.swap.Table.Name)
	}
	return err
}

// try takes the locks and changes the names.
func (w *swapper) try(ctx context.Context) error {
	if err := w.begin(ctx); err != nil {
		return err
	}
	hook.At("before lock")
	if err := w.lock(ctx); err != nil {
		return err
	}
	hook.At("locked")
	// Whatever comes later would find the locks gone.
	ctx, cancel := context.WithTimeoutCause(ctx, time.Duration(w.hold())*time.Second, fault.About(w.name(), task.Busy, "the locks of %s were held for %d s: given up", w.name(), w.hold()))
	defer cancel()
	if err := w.swap.Locked(ctx, w.locker); err != nil {
		return err
	}
	hook.At("drained under lock")
	if err := w.raiseCounter(ctx, w.locker); err != nil {
		return err
	}
	if _, err := w.locker.Exec(ctx, "COMMIT"); err != nil {
		return err
	}
	hook.At("before rename")
	w.rename(ctx)
	if err := w.certain(ctx); err != nil {
		return err
	}
	if err := w.awaitRename(ctx); err != nil {
		return err
	}
	hook.At("rename waits")
	return w.release(ctx)
}

// begin sets the session that is to have the locks up. In a transaction that is
// begun with START TRANSACTION, it would not have them.
func (w *swapper) begin(ctx context.Context) error {
	if err := readRow(ctx, w.locker, "SELECT CONNECTION_ID()", &w.lockerID); err != nil {
		return err
	}
	_, err := w.locker.Exec(ctx, fmt.Sprintf("SET SESSION autocommit = 0, wait_timeout = %d, lock_wait_timeout = %d, innodb_lock_wait_timeout = %d", w.hold(), w.patience(), w.patience()))
	return err
}

// release drops the sentry and lets the RENAME go.
func (w *swapper) release(ctx context.Context) error {
	if _, err := w.locker.Exec(ctx, "DROP TABLE "+QuoteName(w.to)); err != nil {
		return err
	}
	hook.At("before unlock")
	if _, err := w.locker.Exec(ctx, "UNLOCK TABLES"); err != nil {
		return err
	}
	if err := <-w.renaming; err != nil {
		return err
	}
	hook.At("after rename")
	return nil
}

// rename lets the other session wait with the RENAME. Its end does not depend
// on the context: the server would not hear of that.
func (w *swapper) rename(ctx context.Context) {
	w.renaming = make(chan error, 1)
	statement := fmt.Sprintf("RENAME TABLE %s TO %s, %s TO %s", QuoteName(w.swap.Table.Name), QuoteName(w.to), QuoteName(w.from), QuoteName(w.swap.Table.Name))
	go func() {
		_, err := w.renamer.Exec(context.WithoutCancel(ctx), statement)
		w.renaming <- err
		close(w.renaming)
	}()
}

// certain asks the caller, in a transaction of a session that has no locks.
func (w *swapper) certain(ctx context.Context) error {
	tx, err := w.server.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(context.WithoutCancel(ctx)) //nolint:errcheck // after Commit it does nothing
	if err := w.swap.Certain(ctx, tx); err != nil {
		return err
	}
	return tx.Commit(ctx)
}

// awaitRename returns when the RENAME is seen to wait. It asks for the table's
// lock first, whose name sorts before the others, so it is that one.
func (w *swapper) awaitRename(ctx context.Context) error {
	for {
		var waits int
		if err := w.watcher.QueryRowContext(ctx, waitsQuery, w.id).Scan(&waits); err != nil {
			return err
		}
		if waits > 0 {
			return nil
		}
		select {
		case err := <-w.renaming:
			if err == nil {
				err = fault.About(w.name(), task.Human, "the names of %s and %s were changed although the tables were locked", w.swap.Table.Name, w.from)
			}
			return err
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(renamePoll):
		}
	}
}

const waitsQuery = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = ? AND STATE LIKE 'Waiting for table metadata lock%'"

// giveUp lets the application go on, and finds out whether the names have been
// changed after all.
func (w *swapper) giveUp(ctx context.Context, cause error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*endTimeout)
	defer cancel()
	if w.lockerID != 0 {
		w.unlock(ctx)
	}
	if w.renaming == nil {
		return cause
	}
	w.stop(ctx)
	stand, err := w.server.Stand(ctx, w.swap.Reshaping)
	switch {
	case err != nil:
		return errors.Join(cause, err)
	case stand == w.after:
		return nil
	case number(cause) == tableExists || number(cause) == queryInterrupted:
		return fault.About(w.name(), task.Busy, "the locks of %s were lost before the names could be changed: %w", w.name(), cause)
	}
	return cause
}

// unlock lets go of the locks, and of waiting for them. Where the connection is
// broken the session is ended: the server would go on with its statement.
func (w *swapper) unlock(ctx context.Context) {
	for _, statement := range []string{"ROLLBACK", "UNLOCK TABLES"} {
		if _, err := w.locker.Exec(ctx, statement); err != nil {
			_ = w.server.KillSession(ctx, w.locker.ID()) // the caller destroys it as well
			return
		}
	}
}

// stop ends a RENAME that is waiting still.
func (w *swapper) stop(ctx context.Context) {
	for !w.renamed() {
		_, _ = w.server.db.ExecContext(ctx, fmt.Sprintf("KILL QUERY %d", w.id)) // it may not have begun, or be over
		select {
		case <-ctx.Done():
			return
		case <-w.renaming:
		case <-time.After(killCheck):
		}
	}
}

// renamed reports whether the RENAME is over, or was not begun.
func (w *swapper) renamed() bool {
	select {
	case <-w.renaming:
		return true
	default:
		return w.renaming == nil
	}
}

// end gives up what is held. A sentry goes only as long as nobody else can have
// a RENAME that waits for that.
func (w *swapper) end(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*endTimeout)
	defer cancel()
	if w.id != 0 && w.renamed() && w.renamer.sound() {
		_ = w.server.dropSentries(ctx, w.swap.Reshaping) // or who comes next drops it
	}
	if w.renamer != nil {
		w.renamer.cut()
	}
	if w.watcher != nil {
		_ = w.watcher.Close() // says only that it is closed already
	}
}

// swapLock names the lock that only one who changes the names of a table has.
func swapLock(table engine.Name) string {
	return "godwit swap " + strings.TrimPrefix(halfMade(table), "_godwit_new_")
}

// endSwapper ends a session that is about to change the names of a table: its
// worker is dead, frozen, or has been given up.
func (s *Server) endSwapper(ctx context.Context, table engine.Name) error {
	ctx, cancel := context.WithTimeoutCause(ctx, killWait, fault.About(table.String(), task.Busy, "a session that was to change the name of %s is still there %s after it was told to end", table, killWait))
	defer cancel()
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	for {
		alive, err := terminate(ctx, conn, "that was to change the name of "+table.String(), swapLock(table))
		if err != nil && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil || !alive {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(killCheck):
		}
	}
}
