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
	if err := w.hangs(ctx); err != nil {
		return err
	}
	if w.others, err = s.changedWith(ctx, swap.Table.Name); err != nil {
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
	others        []lockStep // views and sequences
	marks         string     // of what hangs on the table
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
		if i > 0 {
			// While others may be waiting behind a lock that is had here, none is waited
			// for until the server looks for deadlocks for them: it would end them.
			wait = min(wait, time.Duration(w.patience*0.8*float64(time.Second))-time.Since(began))
		}
		if err := w.lockOne(ctx, tx, next, wait); err != nil {
			w.server.lockOrders.Store(w.swap.Table.Name, append([]lockStep{next}, slices.Delete(slices.Clone(order), i, i+1)...))
			return err
		}
	}
	_, err := tx.Exec(ctx, fmt.Sprintf("SET LOCAL statement_timeout = %d", max(1, w.swap.Hold.Milliseconds())))
	return err
}

// leastWait is the shortest wait for a lock. When there is no time for it, the
// lock is not asked for while somebody has it.
const leastWait = 5 * time.Millisecond

// lockOne takes one of the locks, in some time.
func (w *swapper) lockOne(ctx context.Context, tx engine.Tx, step lockStep, wait time.Duration) error {
	if wait < leastWait {
		var had bool
		query := "SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'relation' AND granted AND pid IS DISTINCT FROM pg_backend_pid() AND relation = to_regclass(" + QuoteLiteral(QuoteName(step.name)) +
			") AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))"
		if err := readOne(ctx, tx, query, &had); err != nil {
			return err
		}
		if had {
			return fault.About(step.name.String(), task.Busy, "the lock of %s was not to be had at once when that of others was, so that %s keeps its name", step.name, w.name())
		}
	}
	_, err := tx.Exec(ctx, fmt.Sprintf("SET LOCAL lock_timeout = %d; %s", max(leastWait, wait).Milliseconds(), step.statement))
	return w.notHad(step.name, err)
}

// order is in which order the locks are taken: that of the try before, as far as
// it is about the same.
func (w *swapper) order() []lockStep {
	list := append(slices.Clone(w.others), lockStep{name: w.swap.Table.Name, statement: "LOCK TABLE " + QuoteName(w.swap.Table.Name) + " IN ACCESS EXCLUSIVE MODE"})
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

// lockStep is a table, view or sequence, and a statement that locks it and changes nothing.
type lockStep struct {
	name      engine.Name
	statement string
}

// changedWith are the views that read a table themselves, and the sequences that
// are its own: whoever takes a number of one, also before coming to the table, has
// it locked until the end of the transaction. LOCK would lock all tables that a
// view reads, and no sequence.
func (s *Server) changedWith(ctx context.Context, table engine.Name) ([]lockStep, error) {
	rows, err := s.on.Query(ctx, `SELECT DISTINCT v.relkind = 'S', n.nspname, v.relname, format('ALTER %s %I.%I OWNER TO %I', CASE v.relkind WHEN 'S' THEN 'SEQUENCE' ELSE 'VIEW' END, n.nspname, v.relname, pg_get_userbyid(v.relowner))
		FROM (SELECT r.ev_class FROM pg_depend d JOIN pg_rewrite r ON d.classid = 'pg_rewrite'::regclass AND r.oid = d.objid WHERE d.refclassid = 'pg_class'::regclass AND d.refobjid = to_regclass($1)
			UNION SELECT d.objid FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass AND d.refobjid = to_regclass($1) AND d.deptype IN ('a', 'i')) o (oid)
		JOIN pg_class v ON v.oid = o.oid AND v.relkind IN ('v', 'S') JOIN pg_namespace n ON n.oid = v.relnamespace ORDER BY 1, 2, 3`, QuoteName(table))
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (step lockStep, err error) {
		err = row.Scan(nil, &step.name.Schema, &step.name.Table, &step.statement)
		return step, err
	})
}

// notHad tells which lock was not to be had.
func (w *swapper) notHad(table engine.Name, err error) error {
	if sqlState(err) == lockNotAvailable {
		return fault.About(table.String(), task.Busy, "the lock of %s was not to be had, so that %s keeps its name: %w", table, w.name(), err)
	}
	return err
}

// hangs makes sure that the statements are right about what hangs on the table,
// and notes by what it is seen under the lock that they still are.
func (w *swapper) hangs(ctx context.Context) error {
	table, known := w.swap.Table.Name, w.swap.Hanging
	if w.swap.Back {
		known = w.swap.Hung
	}
	if err := w.server.on.QueryRow(ctx, marks(table)).Scan(&w.marks); err != nil {
		return fmt.Errorf("look what hangs on %s: %w", table, err)
	}
	if known == nil {
		return nil
	}
	now, err := w.server.Hanging(ctx, table)
	switch {
	case err != nil || slices.Equal(now, known):
		return err
	case w.swap.Back:
		return fault.About(w.name(), task.Human, "%s is not what it was after the cut-over, and the old table would be without that: %s; put it back, and roll back again", table, changesOf(known, now))
	}
	return fault.About(w.name(), task.Busy, "what hangs on %s has just been changed: %s", table, changesOf(known, now))
}

// still makes sure that the tables are those that the names meant before, that
// nothing else hangs on the table, and that its changes have been noted: one who
// had the lock before may have changed that.
func (w *swapper) still(ctx context.Context, tx engine.Tx) error {
	var old, shadow, noted bool
	var now string
	c := w.swap.Capture
	if w.swap.Back {
		c = w.swap.Reshaping.Back
	}
	triggers := "SELECT count(*) = 3 FROM pg_trigger WHERE tgrelid = to_regclass(" + QuoteLiteral(QuoteName(w.swap.Table.Name)) + ") AND tgenabled = 'A' AND tgfoid = to_regprocedure(" + QuoteLiteral(QuoteName(c.Log)+"()") + ")"
	query := "SELECT to_regclass(" + QuoteLiteral(QuoteName(w.to)) + ") IS NOT NULL, to_regclass(" + QuoteLiteral(QuoteName(w.from)) + ") IS NOT NULL, (" + triggers + "), (" + marks(w.swap.Table.Name) + ")"
	if err := readOne(ctx, tx, query, &old, &shadow, &noted, &now); err != nil {
		return err
	}
	switch {
	case old || !shadow:
		return fault.About(w.name(), task.Busy, "the names of %s and %s were changed by somebody else meanwhile", w.name(), w.from)
	case !noted:
		return gone(c, "a trigger "+rowTrigger+", "+movedTrigger+" or "+emptyTrigger+" of "+w.name()+" is not there, or not enabled")
	case now != w.marks:
		return fault.About(w.name(), task.Busy, "%s, or what hangs on it, has just been changed by somebody else", w.name())
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
