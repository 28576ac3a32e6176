package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/hook"
	"godwit/internal/task"
)

// Swap tries once to change the names of the table and its copy, in one
// transaction that takes the table's strongest lock at once: whoever has read the
// table and writes it then passes before it, and nobody is caught in a deadlock.
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
	if w.views, err = s.viewsOf(ctx, swap.Table.Name); err != nil {
		return err
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
	views         []lockStep
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
//
// Views come before the table: whoever reads one has its lock already when it
// comes to wait for the table. A lock that is not to be had, since others have it
// and wait for one that is had here, comes first in the next try: so the order
// becomes that of the application's transactions.
func (w *swapper) lock(ctx context.Context, tx engine.Tx) error {
	first := fmt.Sprintf("SET LOCAL idle_in_transaction_session_timeout = %d; SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = %d; LOCK TABLE %s IN ACCESS EXCLUSIVE MODE",
		max(1, w.swap.Hold.Milliseconds()), copyWait.Milliseconds(), QuoteName(w.from))
	if _, err := tx.Exec(ctx, first); err != nil {
		return w.notHad(w.from, err)
	}
	order := w.order()
	began := time.Now()
	for i, next := range order {
		wait := w.swap.Wait
		if len(order) > 1 {
			// While others may be waiting behind a lock that is had here, none is waited
			// for until the server looks for deadlocks for them: it would end them.
			wait = min(wait, time.Duration(w.patience*0.8*float64(time.Second))-time.Since(began))
		}
		if _, err := tx.Exec(ctx, fmt.Sprintf("SET LOCAL lock_timeout = %d; %s", max(1, wait.Milliseconds()), next.statement)); err != nil {
			w.server.lockOrders.Store(w.swap.Table.Name, append([]lockStep{next}, slices.Delete(slices.Clone(order), i, i+1)...))
			return w.notHad(next.name, err)
		}
	}
	_, err := tx.Exec(ctx, fmt.Sprintf("SET LOCAL statement_timeout = %d", max(1, w.swap.Hold.Milliseconds())))
	return err
}

// order is in which order the locks are taken: that of the try before, as far as
// it is about the same.
func (w *swapper) order() []lockStep {
	list := append(slices.Clone(w.views), lockStep{name: w.swap.Table.Name, statement: "LOCK TABLE " + QuoteName(w.swap.Table.Name) + " IN ACCESS EXCLUSIVE MODE"})
	for _, other := range w.swap.Also {
		list = append(list, lockStep{name: other, statement: "LOCK TABLE " + QuoteName(other) + " IN ACCESS EXCLUSIVE MODE"})
	}
	known, _ := w.server.lockOrders.Load(w.swap.Table.Name)
	before, _ := known.([]lockStep)
	rank := func(s lockStep) int {
		if i := slices.Index(before, s); i >= 0 {
			return i
		}
		return len(before)
	}
	slices.SortStableFunc(list, func(a, b lockStep) int { return rank(a) - rank(b) })
	return list
}

// lockStep is a table or view, and a statement that locks it and changes nothing.
type lockStep struct {
	name      engine.Name
	statement string
}

// viewsOf are the views that read a table themselves. LOCK would lock all tables
// that a view reads.
func (s *Server) viewsOf(ctx context.Context, table engine.Name) ([]lockStep, error) {
	rows, err := s.on.Query(ctx, `SELECT DISTINCT n.nspname, v.relname, format('ALTER VIEW %I.%I OWNER TO %I', n.nspname, v.relname, pg_get_userbyid(v.relowner))
		FROM pg_depend d JOIN pg_rewrite r ON d.classid = 'pg_rewrite'::regclass AND r.oid = d.objid JOIN pg_class v ON v.oid = r.ev_class AND v.relkind = 'v' JOIN pg_namespace n ON n.oid = v.relnamespace
		WHERE d.refclassid = 'pg_class'::regclass AND d.refobjid = to_regclass($1) ORDER BY 1, 2`, QuoteName(table))
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (v lockStep, err error) {
		err = row.Scan(&v.name.Schema, &v.name.Table, &v.statement)
		return v, err
	})
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
