package workflows

import (
	"encoding/json"
	"errors"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"godwit/internal/task"
)

// MigrationInput starts a migration. The workflow's id is the task's id.
type MigrationInput struct {
	// Spec in its flat form. The workflow reads only what every kind has, so that
	// a run replays although a later version reads specs more strictly.
	Spec json.RawMessage `json:"spec"`
	// Ledger is the name of the connection whose database holds the ledger.
	Ledger string `json:"ledger"`
	// Target is what is migrated, in words; the search attribute GodwitTarget.
	Target string `json:"target"`
	// Resume continues a migration that FAILED or passed a limit: the ledger
	// knows it, and only what is missing is done.
	Resume bool `json:"resume,omitempty"`
	// Rollback does nothing but undo a migration that FAILED or passed a limit.
	Rollback bool `json:"rollback,omitempty"`
	// Leave says of a Rollback that what cannot be undone is left as it is.
	Leave bool `json:"leave,omitempty"`
	// ByHand says that an operator has begun this run of a pipeline's step, with the
	// migration's own id: the pipeline is told.
	ByHand bool `json:"by_hand,omitempty"`
	// Pipeline is the id of the pipeline that the migration is a step of: it is told
	// when the migration has succeeded, and how it has ended.
	Pipeline string `json:"pipeline,omitempty"`
	// PipelineChain is the first run of that pipeline: another one may have its id later.
	PipelineChain string `json:"pipeline_chain,omitempty"`
	// Carried is what the run before this one knew; only continue-as-new sets it.
	Carried *state `json:"carried,omitempty"`
}

// Why work stopped without having failed.
var (
	errInterrupted = errors.New("interrupted")     // by a pause, an ending or a limit
	errEnding      = errors.New("ending")          // somebody wants it undone
	errContinue    = errors.New("continue as new") // the history has become long
)

// Migration runs one migration of any kind, from preflight to cleanup.
func Migration(ctx workflow.Context, in MigrationInput) (task.Status, error) {
	settings, err := readSettings(in.Spec)
	if err != nil {
		return task.Status{}, temporal.NewNonRetryableApplicationError(err.Error(), string(task.Config), nil)
	}
	m := newMigration(ctx, in, settings)
	if err := m.listen(ctx); err != nil {
		return m.status(), err
	}
	if in.ByHand && in.Carried == nil {
		m.report(&entry{done: true}, task.StepReport{State: task.Running})
	}
	return m.finish(m.proceed())
}

// migration is one run of the workflow.
type migration struct {
	in       MigrationInput
	settings settings
	ref      task.Ref
	runID    string
	chain    string // the first of the runs that continue each other as new
	queue    string // the task queue
	st       *state
	// life is the context of the main coroutine. It outlives Temporal's cancel
	// request, which is a wish like the cancel signal, so that there is one way to end.
	life workflow.Context

	// stop interrupts the work that is going on; nil while nothing may.
	stop func()
	// overdue is the limit that was passed, until it has been seen to.
	overdue *limit
	// awaiting says that the cut-over waits for an operator, and untend ends
	// the tending meanwhile.
	awaiting bool
	untend   func()
	// opens is when the window of the cut-over opens, while that is waited for,
	// and shut says that the last try was told that it is over.
	opens *time.Time
	shut  bool
	// undoing says that the rollback has begun: nothing interrupts it.
	undoing bool
	// left is what it has left as it is.
	left string
	// waits is the wait before another try, and held the failure that an
	// operator has to see to after the cut-over.
	waits *wait
	held  *task.Failure
	// hurry asks everything that waits for another try to begin now.
	hurry bool
	// resumedBy is who ended the last pause.
	resumedBy task.Request
	// doing says in words which of a phase's activities runs.
	doing  string
	window *window
	// counted says that the migration takes part in the sharing of connections,
	// queued that it waits for a place, and informing how many claims are on
	// their way to Capacity.
	counted   bool
	queued    bool
	informing int
	// reached is the percentage when the last window was through. Only those
	// who look need it, so it is not carried on.
	reached  float64
	recorder recorder
	signals  []signal
}

func newMigration(ctx workflow.Context, in MigrationInput, settings settings) *migration {
	info := workflow.GetInfo(ctx)
	life, _ := workflow.NewDisconnectedContext(ctx)
	m := &migration{
		in: in, settings: settings, life: life, st: in.Carried, runID: info.WorkflowExecution.RunID,
		chain: info.FirstRunID, queue: info.TaskQueueName, counted: countsIn(ctx),
		ref: task.Ref{ID: info.WorkflowExecution.ID, Kind: settings.Kind, Ledger: in.Ledger, Pipeline: in.Pipeline},
	}
	if m.st == nil {
		m.st = newState(workflow.Now(ctx))
		if in.Rollback {
			m.st.Phase = task.Cleanup
			m.st.Ending = &ending{Verb: verbRollback, Leave: in.Leave}
		}
	}
	return m
}

// proceed runs the phases that are left. It returns nil when all are done, and
// otherwise why the run ends: errEnding, errContinue, or a *task.Failure.
func (m *migration) proceed() error {
	for _, p := range phases {
		if m.st.left(p.name) {
			continue
		}
		if err := m.perform(p); err != nil {
			return err
		}
	}
	return nil
}

// perform runs a phase to its end, through pauses and restarts.
func (m *migration) perform(p phase) error {
	for {
		if err := m.ready(); err != nil {
			return err
		}
		err := m.admit(p)
		if err == nil {
			m.st.enter(p.name, workflow.Now(m.life))
			err = m.attempt(p)
		}
		if errors.Is(err, errInterrupted) && m.overdue != nil && m.st.Ending == nil {
			err = m.overran()
		}
		var failure *task.Failure
		switch {
		case err == nil:
			m.st.leave(p.name, workflow.Now(m.life))
			return nil
		case errors.Is(err, errInterrupted):
		case errors.As(err, &failure) && m.st.cutOver():
			m.hold(failure)
		default:
			return err
		}
	}
}

// attempt runs a phase once. Its context is what a pause, an ending and a limit
// cancel; every activity under it comes back before attempt does.
func (m *migration) attempt(p phase) error {
	scope, stop := workflow.WithCancel(m.life)
	m.stop, m.overdue = stop, nil
	defer func() {
		stop()
		m.stop = nil
	}()
	if m.st.Recheck {
		if err := m.timed(scope, p.name, (*migration).recheck); err != nil {
			return err
		}
	}
	if p.wait != nil {
		if err := p.wait(m, scope); err != nil {
			return err
		}
	}
	if err := m.acquire(scope); err != nil {
		return err
	}
	return m.timed(scope, p.name, p.do)
}

// ready waits while an operator wants the migration paused. Its error says
// that no work is to be begun.
func (m *migration) ready() error {
	for {
		switch {
		case m.st.Ending != nil:
			return errEnding
		case m.st.Expired != nil && !m.st.cutOver():
			return m.st.Expired
		case m.mustContinue():
			return errContinue
		case m.st.Pause == nil:
			m.resumed()
			return nil
		}
		m.unseat()
		m.paused()
		m.await(m.life, func() bool { return m.st.Pause == nil || m.st.Ending != nil || m.st.Expired != nil })
	}
}

func (m *migration) paused() {
	if m.st.State != task.Paused {
		m.st.State = task.Paused
		m.record("paused", oneLine(asked(*m.st.Pause), mostSummary), m.st.Error)
	}
}

func (m *migration) resumed() {
	if m.st.State == task.Paused {
		m.st.State = task.Running
		m.record("resumed", oneLine(asked(m.resumedBy), mostSummary), m.st.Error)
	}
}

// interrupt ends the work that is going on.
func (m *migration) interrupt() {
	if m.stop != nil {
		m.stop()
	}
}

// mustContinue reports whether the history has become so long that another run
// has to take over. A rollback is carried through first.
func (m *migration) mustContinue() bool {
	return !m.undoing && workflow.GetInfo(m.life).GetContinueAsNewSuggested()
}

// await shows how the migration stands and waits until something has come
// about, the scope was interrupted, or another run has to take over. It belongs
// to the main coroutine.
func (m *migration) await(scope workflow.Context, come func() bool) {
	m.publish()
	// The main coroutine's own context is never cancelled, so there is no error.
	_ = workflow.Await(m.life, func() bool { return come() || scope.Err() != nil || m.mustContinue() })
}
