package workflows

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"godwit/internal/task"
)

// inquire asks a worker that answers as given.
func inquire(t *testing.T, in task.InquiryInput, cause error) (task.InquiryResult, int, error) {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(quiet{})
	env := suite.NewTestWorkflowEnvironment()
	calls := 0
	answer := func(name string, f any) {
		env.RegisterActivityWithOptions(f, activity.RegisterOptions{Name: name})
	}
	answer(task.PlanActivity, func(context.Context, task.PlanInput) (task.Plan, error) {
		calls++
		return task.Plan{Kind: task.Copy, Shards: 8}, cause
	})
	answer(task.EventsActivity, func(_ context.Context, in task.EventsInput) (task.EventsPage, error) {
		calls++
		return task.EventsPage{Events: []task.Event{{No: in.After + 1}}}, cause
	})
	answer(task.LedgerStatusActivity, func(_ context.Context, in task.Ref) (task.Status, error) {
		calls++
		return task.Status{ID: in.ID}, cause
	})
	Register(env)
	env.ExecuteWorkflow(task.InquiryWorkflow, in)
	if err := env.GetWorkflowError(); err != nil {
		return task.InquiryResult{}, calls, err
	}
	var out task.InquiryResult
	require.NoError(t, env.GetWorkflowResult(&out))
	return out, calls, nil
}

func TestAnInquiryReturnsTheOneAnswerThatWasAskedFor(t *testing.T) {
	plan, _, err := inquire(t, task.InquiryInput{Plan: &task.PlanInput{Spec: []byte(`{}`)}}, nil)
	require.NoError(t, err)
	require.Equal(t, 8, plan.Plan.Shards)
	require.Nil(t, plan.Events)

	events, _, err := inquire(t, task.InquiryInput{Events: &task.EventsInput{After: 41, Wait: time.Second}}, nil)
	require.NoError(t, err)
	require.Equal(t, int64(42), events.Events.Events[0].No)

	status, _, err := inquire(t, task.InquiryInput{Status: &task.Ref{ID: "copy-1"}}, nil)
	require.NoError(t, err)
	require.Equal(t, "copy-1", status.Status.ID)
}

func TestAnInquiryGivesUpSoonAndSaysWhy(t *testing.T) {
	for class, want := range map[task.Class]int{task.Transient: inquiryAttempts, task.Config: 1} {
		cause := temporal.NewApplicationError("connection nowhere is not known", string(class), task.Failure{Class: class, Message: "connection nowhere is not known"})
		_, calls, err := inquire(t, task.InquiryInput{Plan: &task.PlanInput{}}, cause)
		var application *temporal.ApplicationError
		require.ErrorAs(t, err, &application)
		require.Equal(t, string(class), application.Type())
		require.Equal(t, "connection nowhere is not known", application.Message())
		var failure task.Failure
		require.NoError(t, application.Details(&failure))
		require.Equal(t, class, failure.Class)
		require.Equal(t, want, calls)
	}
}

func TestAnInquiryAsksForExactlyOneThing(t *testing.T) {
	for _, in := range []task.InquiryInput{{}, {Plan: &task.PlanInput{}, Status: &task.Ref{}}} {
		_, calls, err := inquire(t, in, nil)
		require.ErrorContains(t, err, "exactly one")
		require.Zero(t, calls)
	}
}
