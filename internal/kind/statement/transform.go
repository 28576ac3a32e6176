package statement

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/hook"
	"godwit/internal/kind"
	"godwit/internal/ledger"
	"godwit/internal/task"
)

// progress is how far a statement has come that commits by itself, kept as the
// shard's digest.
type progress struct {
	Begun bool `json:"begun,omitempty"`
	// Ran says that the server has carried it out: what is left is its query.
	Ran bool `json:"ran,omitempty"`
	// Asked says that an operator is to be told that the outcome is not known. It is no
	// leave to run it again: see allowAgain.
	Asked bool `json:"asked,omitempty"`
}

// progressOf reads a shard's digest.
func progressOf(digest json.RawMessage) (p progress, err error) {
	if len(digest) == 0 {
		return p, nil
	}
	if err := json.Unmarshal(digest, &p); err != nil {
		return p, fmt.Errorf("the progress in the ledger cannot be read: %w", err)
	}
	return p, nil
}

// PrepareTransform makes the one shard.
func (s *Statement) PrepareTransform(ctx context.Context, run *kind.Run) (task.Work, error) {
	if err := run.Ledger.PlanShards(ctx, task.Transform, []ledger.Shard{{No: shardNo, Table: "statement", Part: 1, Parts: 1}}); err != nil {
		return task.Work{}, err
	}
	return run.Ledger.Work(ctx, task.Transform)
}

// TransformShard runs the statement, unless it has been.
func (s *Statement) TransformShard(ctx context.Context, run *kind.Run, in task.ShardInput) (task.ShardResult, error) {
	db, err := open(ctx, run)
	if err != nil {
		return task.ShardResult{}, err
	}
	session, err := db.Session(ctx)
	if err != nil {
		return task.ShardResult{}, err
	}
	defer session.Destroy() // its settings are not those of the pool's other sessions
	if err := ready(ctx, run, db, session); err != nil {
		return task.ShardResult{}, err
	}
	return run.Attempt(ctx, in, session.ID(), func(lease *ledger.Lease) error {
		hook.At("shard claimed")
		it, err := planned(ctx, run)
		switch {
		case err != nil:
			return err
		case it.state != itemReady:
			return fault.New(task.Superseded, "the migration has been undone; this attempt has done nothing")
		}
		stop := run.KeepTouching()
		defer stop()
		if it.Alone {
			return it.doAlone(ctx, db, session, lease)
		}
		return it.doTogether(ctx, session, lease)
	})
}

// doTogether runs the statements, the query and the line in the ledger in one
// transaction.
func (it *item) doTogether(ctx context.Context, session engine.Session, lease *ledger.Lease) error {
	tx, err := session.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(context.WithoutCancel(ctx)) //nolint:errcheck // after Commit it does nothing
	p := ledger.Progress{Done: true}
	if p.Rows, err = runAll(ctx, tx, it.Statements); err != nil {
		return err
	}
	hook.At("statement run")
	if err := it.ask(ctx, tx); err != nil {
		return err
	}
	if err := lease.Advance(ctx, tx, p); err != nil {
		return err
	}
	hook.At("before statement committed")
	if err := tx.Commit(ctx); err != nil {
		return err
	}
	hook.At("statement committed")
	lease.Committed(p)
	return nil
}

// doAlone runs the one statement that the server commits by itself.
func (it *item) doAlone(ctx context.Context, db kind.Site, session engine.Session, lease *ledger.Lease) error {
	p, err := progressOf(lease.Digest)
	switch {
	case err != nil:
		return err
	case p.Begun && !p.Ran:
		return it.resolve(ctx, db, lease)
	case !p.Begun:
		if err := it.runAlone(ctx, db, session, lease); err != nil {
			return err
		}
	}
	if err := it.ask(ctx, session); err != nil {
		return err
	}
	return finish(ctx, db, lease)
}

// runAlone runs it, with a line in the ledger before and after.
func (it *item) runAlone(ctx context.Context, db kind.Site, session engine.Session, lease *ledger.Lease) error {
	if err := lease.Advance(ctx, db, ledger.Progress{Digest: progress{Begun: true}}); err != nil {
		return err
	}
	hook.At("statement announced")
	if _, err := session.Exec(ctx, it.Statements[0]); err != nil {
		if opaque.MatchString(it.Statements[0]) {
			err = half(it.Statements[0], err)
			return told(err, lease.Advance(ctx, db, ledger.Progress{Digest: progress{Begun: true, Asked: true}}))
		}
		if kind.Classify(err).Class != task.Transient { // the server has refused it, so it has not happened
			err = told(err, lease.Advance(ctx, db, ledger.Progress{Digest: progress{}}))
		}
		return refused(it.Statements[0], err)
	}
	if err := closed(ctx, session, it.Statements[0]); err != nil {
		return err
	}
	hook.At("statement run")
	return lease.Advance(ctx, db, ledger.Progress{Digest: progress{Begun: true, Ran: true}})
}

// closed commits what a procedure may have left in an open transaction: the session
// ends after it, and would take it back.
func closed(ctx context.Context, session engine.Session, statement string) error {
	if !opaque.MatchString(statement) {
		return nil
	}
	_, err := session.Exec(ctx, "COMMIT")
	return err
}

// told adds to an error that the ledger does not know of it.
func told(err, untold error) error {
	if untold == nil {
		return err
	}
	return fmt.Errorf("%w (and the ledger could not be told: %v)", err, untold)
}

// allowAgain lets a statement of unknown outcome be run again, on behalf of whoever
// continues a run that has ended with saying so. Nothing else does: the retry queue,
// and a step whose limit has passed, come back by themselves.
func allowAgain(ctx context.Context, run *kind.Run, db kind.Site, m *ledger.Migration) error {
	if m.State != task.Failed || m.Error == nil || m.Error.Class != task.Human {
		return nil
	}
	shards, err := run.Ledger.Shards(ctx, task.Transform)
	if err != nil || len(shards) == 0 || shards[0].State == ledger.ShardDone {
		return err
	}
	if p, err := progressOf(shards[0].Digest); err != nil || !p.Asked {
		return err
	}
	lease, err := run.Ledger.ClaimShard(ctx, task.ShardInput{Ref: run.Ref, Phase: task.Transform, Shard: shardNo}, "")
	if err != nil {
		return err
	}
	if err := db.Transaction(ctx, func(tx engine.Tx) error {
		if err := run.Ledger.Steers(ctx, tx); err != nil { // one that wakes up late allows nothing
			return err
		}
		return lease.Advance(ctx, tx, ledger.Progress{Digest: progress{}})
	}); err != nil {
		return err
	}
	return lease.Yield(ctx)
}

// resolve finds out what became of a statement whose attempt was lost.
func (it *item) resolve(ctx context.Context, db kind.Site, lease *ledger.Lease) error {
	if it.Query != "" {
		got, err := kind.Answer(ctx, db, it.Query)
		switch {
		case err != nil && kind.Classify(err).Class.Retryable():
			return err
		case err == nil && kind.True(got, &it.Expect):
			return finish(ctx, db, lease)
		}
	}
	if err := lease.Advance(ctx, db, ledger.Progress{Digest: progress{Begun: true, Asked: true}}); err != nil {
		return err
	}
	return fault.New(task.Human, "%q was begun, and its outcome is not known: look in the database. A retry runs it again; when it has been done, skip the step, or roll back", it.Statements[0])
}

func finish(ctx context.Context, db kind.Site, lease *ledger.Lease) error {
	p := ledger.Progress{Done: true}
	if err := lease.Advance(ctx, db, p); err != nil {
		return err
	}
	lease.Committed(p)
	return nil
}

// runAll runs statements one after the other and counts the rows that they change.
func runAll(ctx context.Context, q engine.Querier, statements []string) (rows int64, err error) {
	for _, text := range statements {
		n, err := q.Exec(ctx, text)
		if err != nil {
			return rows, refused(text, err)
		}
		rows += n
	}
	return rows, nil
}

// refused says which statement an error is about.
func refused(text string, err error) error {
	switch class := kind.Classify(err).Class; class {
	case task.Config, task.Data:
		return fault.New(class, "%q: %w", text, err)
	case task.Internal:
		return fault.New(task.Config, "%q: %w", text, err)
	}
	return err
}

// ask makes sure that the query has the expected answer.
func (it *item) ask(ctx context.Context, q engine.Querier) error {
	if it.Query == "" {
		return nil
	}
	got, err := kind.Answer(ctx, q, it.Query)
	if err != nil {
		return refused(it.Query, err)
	}
	if kind.True(got, &it.Expect) {
		return nil
	}
	what := ""
	switch {
	case it.Alone:
		what = "; the statement has been run, and the server has committed it: a retry asks again, a rollback runs the undo"
	case len(it.Statements) > 0:
		what = "; the statement has been taken back"
	}
	return fault.New(task.Mismatch, "%q says %s instead of %s%s", it.Query, got, it.Expect, what)
}

// FinishTransform has nothing more to do.
func (s *Statement) FinishTransform(context.Context, *kind.Run) (task.Work, error) {
	return task.Work{}, nil
}

// PrepareVerify has nothing to compare: the query has been asked in the transaction.
func (s *Statement) PrepareVerify(context.Context, *kind.Run) (task.Work, error) {
	return task.Work{}, nil
}

// VerifyShard is never called: there are no shards.
func (s *Statement) VerifyShard(_ context.Context, _ *kind.Run, in task.ShardInput) (task.ShardResult, error) {
	return task.ShardResult{}, fault.New(task.Internal, "there is no shard %d to verify", in.Shard)
}

// FinishVerify tells what was run.
func (s *Statement) FinishVerify(ctx context.Context, run *kind.Run) (task.VerifySummary, error) {
	it, err := planned(ctx, run)
	if err != nil {
		return task.VerifySummary{}, err
	}
	shards, err := run.Ledger.Shards(ctx, task.Transform)
	if err != nil {
		return task.VerifySummary{}, err
	}
	if len(shards) != 1 || shards[0].State != ledger.ShardDone {
		return task.VerifySummary{}, fault.New(task.Internal, "the statement has not been run")
	}
	summary := task.VerifySummary{Mode: "query", Diffs: []task.Difference{}}
	if len(it.Statements) > 0 {
		summary.Checked = append(summary.Checked, fmt.Sprintf("the statement was run once; it found %d rows", shards[0].Rows))
	}
	if it.Query != "" {
		summary.Checked = append(summary.Checked, "the query said "+it.Expect+", as expected")
	}
	return summary, nil
}

func joined(statements []string) string { return strings.Join(statements, "; ") }
