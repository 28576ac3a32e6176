package control

import (
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/converter"

	"godwit/internal/task"
)

// nameMemo is the key of a migration's name in its memo.
const nameMemo = "name"

// outline is what Temporal alone knows of a migration's run, without asking a worker.
func (d *Desk) outline(info *workflowpb.WorkflowExecutionInfo) task.Status {
	st := task.Status{
		ID:     info.GetExecution().GetWorkflowId(),
		RunID:  info.GetExecution().GetRunId(),
		Source: "temporal",
	}
	st.URL = d.cluster.Link(st.ID, st.RunID)
	st.Progress.ETASeconds = -1
	attributes := info.GetSearchAttributes().GetIndexedFields()
	decode(attributes[task.StateAttribute], &st.State)
	decode(attributes[task.KindAttribute], &st.Kind)
	decode(attributes[task.PhaseAttribute], &st.Phase)
	decode(attributes[task.TargetAttribute], &st.Target)
	decode(attributes[task.PercentAttribute], &st.Progress.Percent)
	decode(attributes[task.AttentionAttribute], &st.Attention)
	decode(info.GetMemo().GetFields()[nameMemo], &st.Name)
	st.State = stateOf(info.GetStatus(), st.State)
	if started := info.GetStartTime(); started != nil {
		t := started.AsTime()
		st.StartedAt = &t
	}
	if closed := info.GetCloseTime(); closed != nil {
		t := closed.AsTime()
		st.EndedAt = &t
	}
	return st
}

// decode reads a payload if it is there and is what is expected; what
// somebody else wrote into a field of that name is no reason to show nothing.
func decode(payload *commonpb.Payload, target any) {
	if payload != nil {
		_ = converter.GetDefaultDataConverter().FromPayload(payload, target)
	}
}

// stateOf is the state of a run: what the migration said of itself last,
// unless Temporal knows better because the run was ended from outside.
func stateOf(status enumspb.WorkflowExecutionStatus, said task.State) task.State {
	if said.Final() {
		return said
	}
	switch status {
	case enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED:
		return task.Success
	case enumspb.WORKFLOW_EXECUTION_STATUS_FAILED, enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED:
		return task.Failed
	case enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED:
		return task.Cancelled
	case enumspb.WORKFLOW_EXECUTION_STATUS_TIMED_OUT:
		return task.TimedOut
	}
	if said == "" {
		return task.Pending
	}
	return said
}
