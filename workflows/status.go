package workflows

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"godwit/internal/spec"
	"godwit/internal/task"
)

// mostFailures is how many failed shards a status lists.
const mostFailures = 50

// status is the whole answer to "how is it going", as far as the workflow knows;
// what runs at the moment tells more about itself in its heartbeats.
func (m *migration) status() task.Status {
	st := m.st
	started := st.StartedAt
	return task.Status{
		ID: m.ref.ID, RunID: m.runID, Kind: m.ref.Kind, Name: m.settings.Name, Target: m.in.Target,
		State: st.State, Phase: st.Phase, Attention: m.attention(),
		Progress:   m.progress(),
		Shards:     m.shards(),
		Changelog:  m.changelog(),
		Throttle:   m.limits(),
		WaitingFor: m.waitingFor(),
		Error:      cmp.Or(st.Error, st.Untended),
		StartedAt:  &started, EndedAt: st.EndedAt,
		Steps:    slices.Clone(st.Steps),
		Running:  m.atWork(),
		Failures: m.failures(),
		Verified: st.Verified,
		Kept:     m.kept(), KeptUntil: st.KeptUntil,
		Can:    m.can(),
		Source: "workflow",
	}
}

// changelog is what is noted as far as the workflow knows; its age is whoever
// asks' to tell.
func (m *migration) changelog() task.ChangelogStatus {
	if m.st.Changelog == nil {
		return task.ChangelogStatus{}
	}
	return *m.st.Changelog
}

func (m *migration) progress() task.Progress {
	t := m.st.Tally
	if t.RowsTotal == 0 && m.st.Plan != nil {
		t.RowsTotal = m.st.Plan.RowsTotal
	}
	return task.Progress{
		RowsDone: t.RowsDone, RowsTotal: max(t.RowsTotal, t.RowsDone), BytesDone: t.BytesDone,
		Percent: max(m.reached, m.percent()), RowsPerSecond: m.st.Pace.rate(), ETASeconds: m.eta(),
	}
}

func (m *migration) shards() task.ShardCounts {
	counts := task.ShardCounts{Total: m.st.Tally.Shards, Done: m.st.Tally.Done, Retrying: len(m.st.Queue), Failed: len(m.st.Lost)}
	if m.window != nil {
		counts.Running = len(m.window.running)
	}
	return counts
}

// limits are those in force. What guards say is known to those at work; of an
// operator's hold the workflow knows by itself.
func (m *migration) limits() task.ThrottleStatus {
	in := m.throttleNow()
	limits := task.ThrottleStatus{RowsPerSecond: in.RowsPerSecond, BytesPerSecond: int64(in.BytesPerSecond), Parallel: m.settings.parallel(),
		Guards: []task.GuardStatus{}, Held: append([]task.HeldTime{}, m.st.Held...)}
	if parallel := m.st.Limits.Parallel; parallel != nil {
		limits.Parallel = *parallel
	} else if m.window != nil {
		limits.Parallel = m.window.wanted()
	}
	if in.Hold != "" && m.window != nil {
		limits.Holding, limits.Reason = true, "hold: "+in.Hold
	}
	return limits
}

// throttleNow is the spec's throttle with what an operator has changed, which
// was checked when it was accepted.
func (m *migration) throttleNow() spec.Throttle {
	in, err := m.settings.Throttle.With(&m.st.Limits) //workflowcheck:ignore
	if err != nil {
		return m.settings.Throttle
	}
	return in
}

func (m *migration) atWork() []task.Heartbeat {
	running := []task.Heartbeat{}
	if m.window != nil {
		for _, p := range m.window.running {
			running = append(running, task.Heartbeat{Phase: m.st.Phase, Table: tableOf(p.label), Shard: p.no, At: p.since})
		}
	}
	return running
}

func (m *migration) failures() []task.Failure {
	failures := []task.Failure{}
	for _, w := range slices.Concat(m.st.Lost, m.st.Queue) {
		if len(failures) < mostFailures {
			failures = append(failures, w.Failure)
		}
	}
	return failures
}

// kept lists what a rollback would need: after the cut-over what is kept, and
// before it what was backed up.
func (m *migration) kept() []task.BackupItem {
	items := m.st.Kept
	if !m.st.cutOver() && m.st.EndedAt == nil {
		items = m.st.Backups
	}
	return slices.Concat([]task.BackupItem{}, items)
}

// waitingFor says in words what the migration waits for; empty while it works.
func (m *migration) waitingFor() string {
	st, id := m.st, m.ref.ID
	switch {
	case st.EndedAt != nil && st.Botched:
		return fmt.Sprintf("an operator: `godwit rollback %s`", id)
	case st.EndedAt != nil && st.State.Resumable():
		return fmt.Sprintf("an operator: `godwit retry %s` or `godwit rollback %s`", id, id)
	case st.EndedAt != nil:
		return ""
	case st.State == task.Paused && st.Pause != nil:
		return fmt.Sprintf("an operator: `godwit resume %s`; paused%s", id, asked(*st.Pause))
	case m.queued:
		return "capacity of " + m.connections() + "; `godwit capacity` shows who is before it"
	case m.waits != nil:
		return fmt.Sprintf("the next try at %s: %s; %s", moment(m.waits.Until), m.waits.What, m.waits.Failure.Message)
	case m.held != nil:
		return fmt.Sprintf("an operator: the cleanup failed; see to that, then `godwit retry %s`", id)
	case st.Ending != nil && !m.undoing, st.Pause != nil:
		return "what is running to end its chunk"
	case m.awaiting && st.Approved == nil:
		return fmt.Sprintf("an operator: `godwit cutover %s`", id)
	case m.opens != nil:
		return fmt.Sprintf("the window of the cut-over (%s UTC), at %s", m.settings.own.Cutover.Between, moment(*m.opens))
	case m.window != nil && len(m.window.running) == 0 && len(st.Queue) > 0:
		first := slices.MinFunc(st.Queue, func(x, y waiting) int { return x.Due.Compare(y.Due) })
		return fmt.Sprintf("round %d of the retry queue at %s", first.Round, moment(first.Due))
	case st.keeping() && st.KeptUntil == nil:
		return fmt.Sprintf("pipeline %s to be over: what a rollback needs is kept until %s; `godwit cleanup %s` removes it now", m.in.Pipeline, m.keptWords(), id)
	case st.keeping():
		return fmt.Sprintf("%s, when what a rollback needs is removed; `godwit cleanup %s` does it now", moment(*st.KeptUntil), id)
	}
	return ""
}

// moment writes a time as operators read it.
func moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }
