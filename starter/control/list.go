package control

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"go.temporal.io/api/workflowservice/v1"

	"godwit/internal/cluster"

	"godwit/internal/task"
)

// Filter says which migrations to list. Empty fields do not filter.
type Filter struct {
	States []task.State
	Kind   task.Kind
	Target string
	Limit  int // 0 for all
	// Pending lists those that wait for a place, the next one first.
	Pending bool
}

// List returns migrations, the latest run of each, newest first, and how many
// more there are beyond the limit.
func (d *Desk) List(ctx context.Context, f Filter) (migrations []task.Status, more int, err error) {
	latest, queues := map[string]int{}, map[string]string{}
	request := &workflowservice.ListWorkflowExecutionsRequest{Namespace: d.cluster.Namespace, PageSize: 500, Query: f.query()}
	for {
		page, err := d.cluster.ListWorkflow(ctx, request)
		if err != nil {
			return nil, 0, d.notSetUp(err)
		}
		for _, info := range page.GetExecutions() {
			st := d.outline(info)
			at, seen := latest[st.ID]
			if !seen || st.StartedAt.After(*migrations[at].StartedAt) {
				queues[st.ID] = info.GetTaskQueue()
			}
			switch {
			case !seen:
				latest[st.ID] = len(migrations)
				migrations = append(migrations, st)
			case st.StartedAt.After(*migrations[at].StartedAt):
				migrations[at] = st
			}
		}
		if request.NextPageToken = page.GetNextPageToken(); len(request.NextPageToken) == 0 {
			break
		}
	}
	// Only now by state: an id whose earlier run failed may be running again.
	migrations = slices.DeleteFunc(migrations, func(st task.Status) bool {
		return len(f.States) > 0 && !slices.Contains(f.States, st.State) || f.Pending && st.State != task.Pending
	})
	slices.SortFunc(migrations, func(a, b task.Status) int { return b.StartedAt.Compare(*a.StartedAt) })
	if f.Pending {
		d.addPlaces(ctx, migrations, queues)
		byPlace(migrations)
	}
	if f.Limit > 0 && len(migrations) > f.Limit {
		more = len(migrations) - f.Limit
		migrations = migrations[:f.Limit]
	}
	if !f.Pending {
		d.addPlaces(ctx, migrations, queues)
	}
	return migrations, more, nil
}

func (f Filter) query() string {
	conditions := []string{"WorkflowType IN (" + quote(task.MigrationWorkflow) + ", " + quote(task.PipelineWorkflow) + ")"}
	if f.Kind != "" {
		conditions = append(conditions, task.KindAttribute+" = "+quote(string(f.Kind)))
	}
	if f.Target != "" {
		conditions = append(conditions, task.TargetAttribute+" = "+quote(f.Target))
	}
	return strings.Join(conditions, " AND ")
}

func quote(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(text) + "'"
}

// notSetUp recognises the error of a namespace that lacks the search attributes.
func (d *Desk) notSetUp(err error) error {
	for name := range cluster.Attributes {
		if strings.Contains(err.Error(), name) {
			return fmt.Errorf("namespace %q is not set up for migrations yet (no search attribute %s); run `godwit setup` or start a worker", d.cluster.Namespace, name)
		}
	}
	return d.cluster.Explain(err)
}
