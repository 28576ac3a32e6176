package ddl

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"godwit/internal/capture"
	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/kind"
	"godwit/internal/task"
)

// lockReport tells how long the lock was had, and for what.
type lockReport struct {
	limit   time.Duration // for what is done under it
	since   time.Time     // zero when it was not had
	drained capture.Drained
	rows    int64
}

func (r *lockReport) String() string {
	return fmt.Sprintf("under the lock, %d noted changes were drained and %d rows compared", r.drained.Entries, r.rows)
}

// took is for how long the lock has been had.
func (r *lockReport) took() time.Duration {
	if r.since.IsZero() {
		return 0
	}
	return time.Since(r.since)
}

// within bounds what is done under the lock: rather than have everybody wait,
// it is given up and tried later.
func (r *lockReport) within(ctx context.Context, work func(ctx context.Context) error) error {
	bounded, cancel := context.WithDeadline(ctx, r.since.Add(r.limit))
	defer cancel()
	err := work(bounded)
	if err != nil && ctx.Err() == nil && bounded.Err() != nil {
		return fault.New(task.Busy, "what was left to do under the lock took longer than %s: %w", r.limit, err)
	}
	return err
}

// last drains the rest while nobody else can write, and compares what it has touched.
func (s *shadow) last(ctx context.Context, q engine.Querier, r *engine.Reshaping, report *lockReport) (err error) {
	sink := &touching{Local: capture.Local{DB: s.db, Capture: r.Capture, Projection: r.Forward}}
	d := capture.NewDrainer(s.db, r.Capture, s.db, sink, whole)
	if report.drained, err = d.Finish(ctx, q); err != nil {
		switch {
		case sink.IsClash(err):
			return fault.New(task.Busy, "a unique value is just being exchanged: %w", err)
		case kind.Classify(err).Class == task.Data: // the next draining finds out of which row
			return fault.New(task.Busy, "what has just been written has no place in the other form: %w", err)
		}
		return err
	}
	for keys := range slices.Chunk(sink.touched, mostLeftOut) {
		found, err := s.db.Compare(ctx, q, r, engine.Part{Keys: keys}, nil)
		if err != nil {
			return err
		}
		report.rows += found.Rows
		if found.Same() {
			continue
		}
		rows, err := s.db.Disagreements(ctx, q, r, engine.Part{Keys: keys}, nil, s.run.Spec.Verify.Report)
		if err != nil {
			return err
		}
		return fault.About(s.it.name(), task.Mismatch, "rows of %s that have just been drained are not in %s as they should be: %s; the names have not been changed: mend the rows and retry, or roll back",
			r.Table.Name, r.Shadow, describe(r.Table, rows))
	}
	return nil
}

// describe names the first rows that differ, with their values.
func describe(t *engine.Table, rows []engine.Disagreement) string {
	texts := make([]string, min(len(rows), mostNamed))
	for i, row := range rows[:len(texts)] {
		texts[i] = "row " + t.RowName(row.Key) + " is " + row.What
		for _, c := range row.Columns {
			texts[i] += fmt.Sprintf(" %s (%s instead of %s)", c.Column, show(c.Have), show(c.Want))
		}
	}
	return strings.Join(texts, "; ")
}

// touching is a Local that remembers which rows it was about.
type touching struct {
	capture.Local
	touched []engine.Key
}

// Refresh makes rows of the copy what the table's are.
func (t *touching) Refresh(ctx context.Context, tx engine.Querier, keys []engine.Key, emptied, tolerant bool) ([]engine.Key, error) {
	t.touched = append(t.touched, keys...)
	return t.Local.Refresh(ctx, tx, keys, emptied, tolerant)
}
