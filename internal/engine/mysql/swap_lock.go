package mysql

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/task"
)

// queryInterrupted is the error of a statement that was told to end.
const queryInterrupted = 1317

// lock takes the locks of the table, the copy, the changelog and the sentry. The
// server waits for whole seconds only, so the statement is told to end before.
func (w *swapper) lock(ctx context.Context) error {
	list := make([]string, 0, 4)
	for _, name := range []engine.Name{w.swap.Table.Name, w.from, w.log, w.to} {
		list = append(list, QuoteName(name)+" WRITE")
	}
	var mu sync.Mutex
	var over, told bool
	timer := time.AfterFunc(w.swap.Wait, func() {
		mu.Lock()
		defer mu.Unlock()
		if over {
			return
		}
		told = true
		_, _ = w.watcher.ExecContext(ctx, fmt.Sprintf("KILL QUERY %d", w.lockerID)) // or the server's own limit ends it
	})
	_, err := w.locker.Exec(ctx, "LOCK TABLES "+strings.Join(list, ", "))
	timer.Stop()
	mu.Lock()
	defer mu.Unlock()
	over = true
	switch class, _ := Classify(err); {
	case err == nil:
		if told { // too late for this statement, and perhaps not for the next
			_, _ = w.locker.Exec(ctx, "DO 0")
		}
		return nil
	case class == task.Busy, told && number(err) == queryInterrupted:
		return fault.About(w.name(), task.Busy, "the lock of %s was not to be had within %s: %w", w.name(), w.swap.Wait, err)
	}
	return err
}

// raiseCounter makes sure that the copy gives no number that the table has given
// already, also if the row is gone by now.
func (w *swapper) raiseCounter(ctx context.Context, q engine.Querier) error {
	table, err := counterOf(ctx, q, w.swap.Table.Name)
	if err != nil || table == 0 {
		return err
	}
	copied, err := counterOf(ctx, q, w.from)
	if err != nil || copied == 0 || copied >= table {
		return err
	}
	if _, err := q.Exec(ctx, fmt.Sprintf("ALTER TABLE %s AUTO_INCREMENT = %d", QuoteName(w.from), table)); err != nil {
		return fmt.Errorf("let %s go on counting where %s is: %w", w.from, w.swap.Table.Name, err)
	}
	return nil
}

// counterOf is a table's next AUTO_INCREMENT value, 0 when it has none.
func counterOf(ctx context.Context, q engine.Querier, table engine.Name) (uint64, error) {
	var name, text string
	if err := readRow(ctx, q, "SHOW CREATE TABLE "+QuoteName(table), &name, &text); err != nil {
		return 0, fmt.Errorf("read the counter of %s: %w", table, err)
	}
	options := text[strings.LastIndex(text, "\n)")+1:]
	if found := counter.FindStringSubmatch(options); found != nil {
		return strconv.ParseUint(found[1], 10, 64)
	}
	if strings.Contains(text, " AUTO_INCREMENT") {
		return 1, nil
	}
	return 0, nil
}
