package kind

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"godwit/internal/fault"
	"godwit/internal/task"
)

const (
	// verifyStarted is the event from which on differences count.
	verifyStarted = "verify started"
	// differs is the event of a row that is not the same on both sides.
	differs = "row differs"
	// eventsPage is how many events are read at once.
	eventsPage = 500
	// mostShown is how many differences go along with the summary, and mostTold
	// how many are in the error; the events have them all.
	mostShown, mostTold = 20, 3
)

// NoteDifference writes down a row that is not the same on both sides.
func (run *Run) NoteDifference(ctx context.Context, d task.Difference) error {
	text, err := json.Marshal(d)
	if err != nil {
		return err
	}
	return run.Ledger.Note(ctx, task.Event{What: differs, Phase: task.Verify, Table: d.Table, Detail: string(text)})
}

// Mismatch is the error of a verification that has found differing rows, with
// the first of them, which it reads back into the summary.
func (run *Run) Mismatch(ctx context.Context, s *task.VerifySummary) error {
	var err error
	if s.Diffs, err = run.notedDifferences(ctx); err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "verification found %d differing rows in %d compared", s.Different, s.Rows)
	for i, d := range s.Diffs {
		if i == mostTold {
			b.WriteString("; …")
			break
		}
		fmt.Fprintf(&b, "; %s, row %s: %s", d.Table, d.Key, d.What)
		for _, c := range d.Columns {
			fmt.Fprintf(&b, " %s (source %s, target %s)", c.Column, c.Source, c.Target)
		}
	}
	fmt.Fprintf(&b, "; `godwit events %s` lists them; mend the rows and retry, or roll back", run.Ref.ID)
	return fault.New(task.Mismatch, "%s", b.String())
}

// notedDifferences reads back the first differences of the last verification.
func (run *Run) notedDifferences(ctx context.Context) ([]task.Difference, error) {
	var found []task.Difference
	var after int64
	for {
		events, err := run.Ledger.Events(ctx, after, eventsPage)
		if err != nil {
			return nil, err
		}
		if len(events) == 0 {
			return found, nil
		}
		for _, e := range events {
			after = e.No
			if e.What == verifyStarted {
				found = nil
			}
			if e.What != differs || len(found) == mostShown {
				continue
			}
			var d task.Difference
			if err := json.Unmarshal([]byte(e.Detail), &d); err != nil {
				return nil, err
			}
			found = append(found, d)
		}
	}
}
