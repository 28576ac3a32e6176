// Package workflows is the control flow of migrations: which phase comes when,
// how many shards run at once, and what happens when something fails, takes
// too long, or an operator steps in.
//
// It promises that there is one state machine for every kind of migration, and
// that whatever is asked of a running migration is either done or refused with
// a reason. It holds no data and no connection: the work is done by
// activities, called by the names in package task, and the checkpoint of record
// is the ledger's. Everything here is deterministic; the state that a run hands
// to its successor (continue-as-new) is one serialisable struct.
//
// A workflow that ends unsuccessfully fails with a Temporal ApplicationError
// whose type is the failure's task.Class and whose first detail is the
// task.Failure, or closes as canceled.
package workflows

import (
	"go.temporal.io/sdk/workflow"

	"godwit/internal/task"
)

// registry is what a worker, a replayer and a test environment have in common.
type registry interface {
	RegisterWorkflowWithOptions(w any, options workflow.RegisterOptions)
}

// Register makes the workflows known to a worker, under the names in task.
func Register(r registry) {
	r.RegisterWorkflowWithOptions(Migration, workflow.RegisterOptions{Name: task.MigrationWorkflow})
	r.RegisterWorkflowWithOptions(Pipeline, workflow.RegisterOptions{Name: task.PipelineWorkflow})
	r.RegisterWorkflowWithOptions(Capacity, workflow.RegisterOptions{Name: task.CapacityWorkflow})
	r.RegisterWorkflowWithOptions(Inquiry, workflow.RegisterOptions{Name: task.InquiryWorkflow})
}
