package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/hook"
	"godwit/internal/task"
)

// Swap tries once to change the names of the table and its copy, in one
// transaction that takes the table's strongest lock at once: whoever has read the
// table and writes it then passes before it, and nobody is caught in a deadlock.
// A transaction that has a lock of one of the other tables and waits for the
// table could be; so these are waited for no longer than anybody waits before
// the server looks for deadlocks.
func (s *Server) Swap(ctx context.Context, session engine.Session, swap *engine.Swap) error {
	w := &swapper{server: s, swap: swap, from: swap.Shadow, to: swap.Old, follow: swap.Swap, before: engine.StandBeside, after: engine.StandSwapped}
	if swap.Back {
		w.from, w.to, w.follow, w.before, w.after = swap.Old, swap.Shadow, swap.SwapBack, engine.StandSwapped, engine.StandBeside
	}
	stand, err := s.Stand(ctx, swap.Reshaping)
	switch {
	case err != nil:
		return err
	case stand == w.after:
		return nil
	case stand != w.before:
		return fault.About(w.name(), task.Human, "%s is not there to take the place of %s", w.from, swap.Table.Name)
	}
	if err := readOne(ctx, session, "SELECT current_setting('search_path'), extract(epoch FROM current_setting('deadlock_timeout')::interval)::float8", &w.path, &w.patience); err != nil {
		return err
	}
	tx, err := session.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(context.WithoutCancel(ctx)) //nolint:errcheck // after Commit it does nothing
	if err := w.try(ctx, tx); err != nil {
		return w.explain(err)
	}
	hook.At("after rename")
	if err := tx.Commit(ctx); err != nil {
		return fmt.Errorf("change the names of %s and %s: %w", swap.Table.Name, w.from, err)
	}
	hook.At("swapped")
	return nil
}

// swapper is one try.
type swapper struct {
	server        *Server
	swap          *engine.Swap
	from, to      engine.Name // the names of the copy, and what the table will be called
	follow        []string    // the statements that follow the change of names
	before, after engine.Stand
	path          string
	patience      float64 // seconds until the server looks for deadlocks
}

func (w *swapper) name() string { return w.swap.Table.Name.String() }

// try does everything but the commit.
func (w *swapper) try(ctx context.Context, tx engine.Tx) error {
	hook.At("before lock")
	if err := w.lock(ctx, tx); err != nil {
		return err
	}
	hook.At("locked")
	ctx, cancel := context.WithTimeoutCause(ctx, w.swap.Hold, fault.About(w.name(), task.Busy, "the lock of %s was held for %s: given up", w.name(), w.swap.Hold))
	defer cancel()
	if err := w.still(ctx, tx); err != nil {
		return err
	}
	if err := w.swap.Locked(ctx, tx); err != nil {
		return err
	}
	hook.At("drained under lock")
	hook.At("before rename")
	statements := []string{deparsed, rename(w.swap.Table.Name, w.to.Table), rename(w.from, w.swap.Table.Name.Table)}
	statements = append(append(statements, w.follow...), "SELECT pg_catalog.set_config('search_path', "+QuoteLiteral(w.path)+", true)")
	// All in one go: everybody waits for as long as they are under way.
	if _, err := tx.Exec(ctx, strings.Join(statements, ";\n")); err != nil {
		return fmt.Errorf("change the names of %s and %s: %w", w.swap.Table.Name, w.from, err)
	}
	return w.swap.Certain(ctx, tx)
}

func rename(from engine.Name, to string) string {
	return "ALTER TABLE " + QuoteName(from) + " RENAME TO " + Quote(to)
}

// copyWait is how long the copy's lock is waited for, which nobody else waits
// behind: long enough for the server to end an autovacuum of it.
const copyWait = 2500 * time.Millisecond

// lock takes the locks. The timers are the server's: it ends a transaction whose
// client is frozen.
func (w *swapper) lock(ctx context.Context, tx engine.Tx) error {
	hold, wait := max(1, w.swap.Hold.Milliseconds()), max(1, w.swap.Wait.Milliseconds())
	first := fmt.Sprintf("SET LOCAL idle_in_transaction_session_timeout = %d; SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = %d; LOCK TABLE %s IN ACCESS EXCLUSIVE MODE; SET LOCAL lock_timeout = %d",
		hold, copyWait.Milliseconds(), QuoteName(w.from), wait)
	if _, err := tx.Exec(ctx, first); err != nil {
		return w.notHad(w.from, err)
	}
	began := time.Now()
	if _, err := tx.Exec(ctx, fmt.Sprintf("LOCK TABLE %s IN ACCESS EXCLUSIVE MODE; SET LOCAL statement_timeout = %d", QuoteName(w.swap.Table.Name), hold)); err != nil {
		return w.notHad(w.swap.Table.Name, err)
	}
	others := slices.Clone(w.swap.Also)
	slices.SortFunc(others, func(a, b engine.Name) int { return strings.Compare(QuoteName(a), QuoteName(b)) })
	for _, other := range others {
		left := time.Duration(w.patience*0.8*float64(time.Second)) - time.Since(began)
		statement := "LOCK TABLE " + QuoteName(other) + " IN ACCESS EXCLUSIVE MODE NOWAIT"
		if left = min(left, w.swap.Wait); left >= time.Millisecond {
			statement = fmt.Sprintf("SET LOCAL lock_timeout = %d; LOCK TABLE %s IN ACCESS EXCLUSIVE MODE", left.Milliseconds(), QuoteName(other))
		}
		if _, err := tx.Exec(ctx, statement); err != nil {
			return w.notHad(other, err)
		}
	}
	return nil
}

// notHad tells which lock was not to be had.
func (w *swapper) notHad(table engine.Name, err error) error {
	if sqlState(err) == lockNotAvailable {
		return fault.About(table.String(), task.Busy, "the lock of %s was not to be had, so that %s keeps its name: %w", table, w.name(), err)
	}
	return err
}

// still makes sure that the tables are those that the names meant before: one
// who had the lock before may have changed them.
func (w *swapper) still(ctx context.Context, tx engine.Tx) error {
	var old, shadow bool
	query := "SELECT to_regclass(" + QuoteLiteral(QuoteName(w.to)) + ") IS NOT NULL, to_regclass(" + QuoteLiteral(QuoteName(w.from)) + ") IS NOT NULL"
	if err := readOne(ctx, tx, query, &old, &shadow); err != nil {
		return err
	}
	if old || !shadow {
		return fault.About(w.name(), task.Busy, "the names of %s and %s were changed by somebody else meanwhile", w.name(), w.from)
	}
	return nil
}

// explain tells why a try was given up, where the server does not say it well.
func (w *swapper) explain(err error) error {
	if fault.Of(err) == nil && sqlState(err) == queryCanceled {
		return fault.About(w.name(), task.Busy, "a statement under the lock of %s took longer than %s: given up: %w", w.name(), w.swap.Hold, err)
	}
	return err
}
