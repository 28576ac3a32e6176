package activities

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"

	"godwit/internal/connection"
	"godwit/internal/fault"
	"godwit/internal/kind"
	"godwit/internal/task"
)

// NotYet is the type of the error that says that what is waited for has not come
// about: the server calls the activity again, which takes no place in a worker
// meanwhile.
const NotYet = "not_yet"

func notYet(every time.Duration, format string, args ...any) error {
	return temporal.NewApplicationErrorWithOptions(fmt.Sprintf(format, args...), NotYet,
		temporal.ApplicationErrorOptions{NextRetryDelay: every, Category: temporal.ApplicationErrorCategoryBenign})
}

// Condition asks a query, once or until it is true. It changes nothing: the
// transaction that it is asked in is rolled back.
func (a *Activities) Condition(ctx context.Context, in task.ConditionInput) (task.ConditionResult, error) {
	p := newPulse(ctx, task.Transform, 0)
	defer p.end()
	answer, err := a.condition(p.ctx, in)
	if err != nil {
		return task.ConditionResult{}, p.report(err)
	}
	result := task.ConditionResult{True: kind.True(answer, in.Expect), Answer: shorten(answer)}
	if !result.True && in.Every > 0 {
		return result, notYet(in.Every, "the query says %s", result.Answer)
	}
	return result, nil
}

func (a *Activities) condition(ctx context.Context, in task.ConditionInput) (string, error) {
	c, err := a.connections.Get(in.Database)
	if err != nil {
		return "", err
	}
	db, err := kind.OpenDatabase(ctx, c)
	if err != nil {
		return "", err
	}
	session, err := db.Session(ctx)
	if err != nil {
		return "", err
	}
	defer session.Destroy() // its settings are not those of the pool's other sessions
	settings := db.Impatient(askLock, askLock)
	if c.Engine == connection.PostgresEngine {
		settings = append(settings, db.In("public")...)
	}
	for _, setting := range settings {
		if _, err := session.Exec(ctx, setting); err != nil {
			return "", err
		}
	}
	tx, err := session.Begin(ctx)
	if err != nil {
		return "", err
	}
	defer tx.Rollback(context.WithoutCancel(ctx)) //nolint:errcheck // it is what is wanted
	answer, err := kind.Answer(ctx, tx, in.Query)
	if err != nil && ctx.Err() == nil && kind.Classify(err).Class == task.Internal {
		return "", fault.New(task.Config, "%q: %w", in.Query, err)
	}
	return answer, err
}

// askLock is how long a query that is asked waits for a lock, in seconds.
const askLock = 5.0

// needsEvery is how often it is looked whether what is needed is done.
const needsEvery = 10 * time.Second

// Needs waits until migrations have finished that a step needs. One that is not known,
// or has ended otherwise, is an error.
func (a *Activities) Needs(ctx context.Context, in task.NeedsInput) (task.NeedsResult, error) {
	p := newPulse(ctx, task.Transform, 0)
	defer p.end()
	store, err := a.store(p.ctx, in.Ledger)
	if err != nil {
		return task.NeedsResult{}, p.report(err)
	}
	var result task.NeedsResult
	for _, name := range in.Names {
		id, state, err := store.Latest(p.ctx, name)
		switch {
		case err != nil:
			a.forget(in.Ledger)
			return result, p.report(err)
		case id == "":
			return result, p.report(fault.New(task.Config, "it needs %s, and the ledger on connection %s knows no migration of that name or id", name, in.Ledger))
		case state == task.Success:
			result.Done = append(result.Done, name)
		case state.Final():
			return result, p.report(fault.New(task.Config, "it needs %s, and %s has ended as %s", name, id, state))
		default:
			return result, notYet(needsEvery, "it needs %s, and %s is %s", name, id, state)
		}
	}
	return result, nil
}
