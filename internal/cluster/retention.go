package cluster

import (
	"context"
	"fmt"
	"time"

	namespacepb "go.temporal.io/api/namespace/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/durationpb"
)

// setUpRetention raises the retention of closed workflows and never lowers it.
func setUpRetention(ctx context.Context, c client.Client, retention time.Duration, report *Report) error {
	described, err := c.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: report.Namespace})
	if err != nil {
		report.Warnings = append(report.Warnings, fmt.Sprintf("the retention of namespace %q cannot be read: %s", report.Namespace, reason(err)))
		return ctx.Err()
	}
	report.RetentionBefore = described.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration()
	report.Retention = report.RetentionBefore
	if report.RetentionBefore >= retention {
		return nil
	}
	_, err = c.WorkflowService().UpdateNamespace(ctx, &workflowservice.UpdateNamespaceRequest{
		Namespace: report.Namespace,
		Config:    &namespacepb.NamespaceConfig{WorkflowExecutionRetentionTtl: durationpb.New(retention)},
	})
	if err != nil {
		report.Warnings = append(report.Warnings, fmt.Sprintf(
			"the retention of namespace %q stays %s, since it cannot be changed here: %s; finished migrations vanish from Temporal after that", report.Namespace, report.RetentionBefore, reason(err)))
		return ctx.Err()
	}
	report.Retention = retention
	return nil
}
