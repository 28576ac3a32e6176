package activities

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"godwit/internal/kind"
	"godwit/internal/spec"
	"godwit/internal/task"
)

// planSteps plans a pipeline, step by step. A step may need what an earlier one
// makes: that it cannot be planned yet is said, and is no error.
func (a *Activities) planSteps(p *pulse, s *spec.Spec) *task.Plan {
	out := &task.Plan{Kind: task.Pipeline, Name: s.Name, Target: "ledger on connection " + s.Pipeline.Home(), Tables: []task.TablePlan{}, Statements: []string{}, Warnings: []string{},
		Advice: "leave it: it returns an id at once, and `godwit wait ID` tells the end"}
	for i := range s.Pipeline.Steps {
		step := &s.Pipeline.Steps[i]
		a.planStep(p, out, step, "")
		for j := range step.Group {
			a.planStep(p, out, &step.Group[j], step.Name)
		}
	}
	if kept := keptOnDisk(s.Pipeline.Steps, out.Steps); kept != "" {
		out.Warnings = append(out.Warnings, kept)
	}
	return out
}

func (a *Activities) planStep(p *pulse, out *task.Plan, step *spec.Step, group string) {
	one := task.StepPlan{Name: step.Name, Kind: step.Kind(), Group: group, Does: step.Describe()}
	if m := step.Migration(); m != nil {
		m.Name = out.Name + ": " + step.Name
		plan, err := a.planOne(p, m)
		switch {
		case err != nil && len(out.Steps) > 0:
			one.Problem = "cannot be planned as the databases are now, which may be for want of the steps before it: " + shorten(kind.Classify(err).Message)
		case err != nil:
			one.Problem = shorten(kind.Classify(err).Message)
		default:
			one.Plan = plan
			out.Estimate += plan.Estimate
			out.RowsTotal += plan.RowsTotal
			out.BytesTotal += plan.BytesTotal
			out.Shards += plan.Shards
		}
	}
	one.Undo, one.Final = undoOf(step, one.Plan)
	switch {
	case one.Final:
		out.Warnings = append(out.Warnings, fmt.Sprintf("step %s is a point of no return: %s", step.Name, one.Undo))
	case mayBeFinal(step, one.Plan):
		out.Warnings = append(out.Warnings, fmt.Sprintf("step %s may be a POINT OF NO RETURN: %s", step.Name, one.Undo))
	}
	out.Steps = append(out.Steps, one)
}

// undoOf says whether and for how long a step can be undone, as far as its spec tells.
func undoOf(step *spec.Step, plan *task.Plan) (words string, final bool) {
	kept := func(d *spec.Duration) (string, bool) {
		if d == nil || *d == 0 {
			return "keep_old is 0", true
		}
		return fmt.Sprintf("can be undone until the pipeline is over, and for %s after that", *d), false
	}
	switch {
	case step.DDL != nil && plan != nil && slices.ContainsFunc(plan.Warnings, isFinal):
		return "it is changed directly, and has no undo", true
	case step.DDL != nil && plan == nil && step.DDL.Undo == "":
		return "can be undone if it becomes an online copy; a direct change has no undo", step.DDL.Strategy == spec.DirectStrategy
	case step.DDL != nil:
		return kept(step.DDL.KeepOld)
	case step.Backfill != nil && step.Backfill.Backup == spec.NoBackup:
		return "backup is none", true
	case step.Backfill != nil:
		return kept(step.Backfill.KeepOld)
	case step.SQL != nil && len(step.SQL.Statement) == 0:
		return "asks only", false
	case step.SQL != nil && len(step.SQL.Undo) == 0:
		return "it has no undo", true
	case step.SQL != nil:
		return kept(step.SQL.KeepOld)
	case step.Copy != nil && step.Copy.ExistingRows == spec.ReplaceRows && keptBy(step) > 0:
		return fmt.Sprintf("tables that are set aside come back until the pipeline is over, and for %s after that; where there is none, rows that were copied stay", *step.Copy.KeepOld), false
	case step.Copy != nil:
		return "rows that were copied stay, once it is done", true
	case step.Reindex != nil && len(step.Reindex.Drop) > 0:
		return kept(step.Reindex.KeepOld)
	case step.Reindex != nil && len(step.Reindex.Create) > 0 && step.Reindex.KeepOld != nil && *step.Reindex.KeepOld > 0:
		return kept(step.Reindex.KeepOld)
	case step.Reindex != nil:
		return "indexes that were built stay: they change no data", false
	case step.HTTP != nil && step.HTTP.Method != "GET" && step.HTTP.Method != "HEAD":
		return "a call cannot be taken back", true
	}
	return "changes nothing", false
}

// mayBeFinal reports whether only the run can tell that there is a way back.
func mayBeFinal(step *spec.Step, plan *task.Plan) bool {
	return step.DDL != nil && plan == nil && step.DDL.Undo == "" || step.Copy != nil
}

// keptBy is how long a step keeps what undoes it.
func keptBy(step *spec.Step) time.Duration {
	var keep *spec.Duration
	switch {
	case step.Copy != nil:
		keep = step.Copy.KeepOld
	case step.DDL != nil:
		keep = step.DDL.KeepOld
	case step.Backfill != nil && step.Backfill.Backup != spec.NoBackup:
		keep = step.Backfill.KeepOld
	case step.SQL != nil && len(step.SQL.Undo) > 0:
		keep = step.SQL.KeepOld
	}
	if keep == nil {
		return 0
	}
	return keep.Std()
}

// keptOnDisk tells what is kept, however long the pipeline waits for somebody: it takes
// room. Empty where nothing does.
func keptOnDisk(steps []spec.Step, plans []task.StepPlan) string {
	var kept []string
	for i := range steps {
		for _, step := range append([]spec.Step{steps[i]}, steps[i].Group...) {
			at := slices.IndexFunc(plans, func(p task.StepPlan) bool { return p.Name == step.Name })
			if what := keptRows(&step, plans[at].Plan); what != "" {
				kept = append(kept, what)
			}
		}
	}
	if len(kept) == 0 {
		return ""
	}
	return "kept on the disk until the pipeline is over, however long it waits, and for their keep_old after that: " + strings.Join(kept, ", ")
}

// keptRows are the rows that a step keeps for its way back, in words.
func keptRows(step *spec.Step, plan *task.Plan) string {
	switch {
	case keptBy(step) == 0:
		return ""
	case step.Backfill != nil:
		return "the old values of step " + step.Name
	case step.Copy != nil && step.Copy.ExistingRows == spec.ReplaceRows:
		return "the tables that step " + step.Name + " sets aside"
	case step.DDL == nil || step.DDL.Strategy == spec.DirectStrategy || plan != nil && !isOnline(plan):
		return ""
	case plan == nil && step.DDL.Undo != "" && step.DDL.Strategy != spec.ShadowStrategy:
		return "" // whoever gives an undo takes it for a direct change
	case plan == nil:
		return "the old table of step " + step.Name + ", if it becomes an online copy"
	}
	return fmt.Sprintf("the old table of step %s (about %s)", step.Name, humanize.IBytes(uint64(plan.BytesTotal)))
}

// isOnline recognises the plan of an online copy.
func isOnline(plan *task.Plan) bool {
	return slices.ContainsFunc(plan.Tables, func(t task.TablePlan) bool {
		return slices.ContainsFunc(t.Notes, func(note string) bool { return strings.HasPrefix(note, "done as an online copy") })
	})
}

// isFinal recognises what a kind says of a change that it has no way back from.
func isFinal(warning string) bool { return strings.Contains(warning, "point of no return") }
