package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	sdkworker "go.temporal.io/sdk/worker"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"

	"godwit/internal/task"
	"godwit/workflows"
)

// recorded are runs of each sort; with -chaos.record their histories are kept
// under the names.
var recorded = []struct {
	name string
	run  func(s *stage) *migration
}{
	{"real-complete", func(s *stage) *migration {
		s.worker()
		m := s.start("tables: [pets, {name: visits, to: fresh.visits}]", "existing_rows: replace", "keep_old: 0s", "shards: {rows: 500, parallel: 2}")
		m.succeeds()
		return m
	}},
	{"real-paused", func(s *stage) *migration {
		g := newGate(s.t)
		s.worker(g.at("after commit"))
		m := s.start("tables: [{name: visits, to: fresh.visits}]", "shards: {rows: 500, parallel: 2}")
		g.reached()
		m.signalWithNothing(task.PauseSignal)
		g.open()
		m.awaitState(task.Paused)
		m.signal(task.ResumeSignal)
		m.succeeds()
		return m
	}},
	{"real-failed", func(s *stage) *migration {
		s.onTarget("CREATE TABLE strict (id integer PRIMARY KEY, pet integer CHECK (pet <> 77), cost numeric(8,2))")
		s.worker()
		m := s.start("tables: [{name: visits, to: strict}]", "schema: existing", "shards: {rows: 500, parallel: 2}", "retry: {rounds: 1, delay: 1s}")
		require.Equal(s.t, 3, m.wait().code)
		s.onTarget("ALTER TABLE strict DROP CONSTRAINT strict_pet_check")
		m.must("retry", m.id)
		m.succeeds()
		return m
	}},
	{"real-cancelled", func(s *stage) *migration {
		g := newGate(s.t)
		s.worker(g.at("after commit"))
		m := s.start("tables: [{name: visits, to: fresh.visits}]", "shards: {rows: 500, parallel: 2}")
		g.reached()
		m.ask("cancel")
		g.open()
		require.Equal(s.t, 5, m.wait().code)
		return m
	}},
	{"real-rolled-back", func(s *stage) *migration {
		s.worker()
		m := s.start("tables: [pets]", "existing_rows: replace")
		m.succeeds()
		m.must("rollback", m.id, "--wait", "--reason", "the application cannot do with it")
		return m
	}},
	{"real-manual-cutover", func(s *stage) *migration {
		s.worker()
		m := s.start("tables: [{name: visits, to: fresh.visits}]", "cutover: {mode: manual}")
		await(s.t, limit, "the cut-over to wait", func() bool { return m.status().Attention })
		m.must("cutover", m.id)
		m.succeeds()
		return m
	}},
	{"real-worker-lost", func(s *stage) *migration {
		w := s.worker("after commit:2:kill")
		m := s.start("tables: [{name: visits, to: fresh.visits}]", "shards: {rows: 500, parallel: 2}")
		w.awaitDead()
		s.worker()
		m.succeeds()
		return m
	}},
}

// TestHistoriesOfRealRunsCanBeReplayed is what a worker does that takes over.
func TestHistoriesOfRealRunsCanBeReplayed(t *testing.T) {
	t.Parallel()
	for _, r := range recorded {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			replayed(t, r.name, r.run(undoStage(t)))
		})
	}
}

// replayed replays the histories of all runs of a migration, and keeps them
// under the name when they are to be recorded.
func replayed(t *testing.T, name string, m *migration) {
	t.Helper()
	for i, run := range m.runs() {
		history := m.historyOf(run)
		anonymous(t, history)
		replayer := sdkworker.NewWorkflowReplayer()
		workflows.Register(replayer)
		quiet := log.NewStructuredLogger(slog.New(slog.NewTextHandler(io.Discard, nil)))
		require.NoError(t, replayer.ReplayWorkflowHistory(quiet, history))
		if *recordTo != "" {
			file := name
			if i > 0 {
				file += "-again"
			}
			keep(t, filepath.Join(*recordTo, file+".json"), history)
		}
	}
}

// runs are the ids of all runs under the migration's id, the oldest first.
func (m *migration) runs() []string {
	m.t.Helper()
	await(m.t, limit, "the last run to end", func() bool { return m.describe().Status != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING })
	listed, err := m.temporal.client.ListWorkflow(context.Background(), &workflowservice.ListWorkflowExecutionsRequest{Query: fmt.Sprintf("WorkflowId = '%s'", m.id)})
	require.NoError(m.t, err)
	executions := listed.GetExecutions()
	slices.SortFunc(executions, func(a, b *workflowpb.WorkflowExecutionInfo) int {
		return a.GetStartTime().AsTime().Compare(b.GetStartTime().AsTime())
	})
	var runs []string
	for _, execution := range executions {
		runs = append(runs, execution.GetExecution().GetRunId())
	}
	require.NotEmpty(m.t, runs)
	return runs
}

func (m *migration) historyOf(run string) *historypb.History {
	m.t.Helper()
	history := &historypb.History{}
	events := m.temporal.client.GetWorkflowHistory(context.Background(), m.id, run, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		require.NoError(m.t, err)
		history.Events = append(history.Events, event)
	}
	return history
}

// anonymous takes this machine and its user out of a history.
func anonymous(t *testing.T, history *historypb.History) {
	t.Helper()
	host, err := os.Hostname()
	require.NoError(t, err)
	who, err := user.Current()
	require.NoError(t, err)
	for _, event := range history.GetEvents() {
		scrub(event.ProtoReflect(), func(name, text string) string {
			if name == "identity" {
				return "godwit"
			}
			if rest, found := strings.CutPrefix(text, host+":"); found { // a worker's own task queue
				return "host:" + rest
			}
			return strings.ReplaceAll(text, who.Username+"@"+host, "ann@host")
		})
	}
}

// scrub changes every text and every payload of a message.
func scrub(message protoreflect.Message, change func(name, text string) string) {
	if payload, ok := message.Interface().(*commonpb.Payload); ok {
		payload.Data = []byte(change("", string(payload.Data)))
		return
	}
	message.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		switch {
		case field.IsMap():
			if field.MapValue().Message() != nil {
				value.Map().Range(func(_ protoreflect.MapKey, v protoreflect.Value) bool {
					scrub(v.Message(), change)
					return true
				})
			}
		case field.IsList():
			for i := range value.List().Len() {
				if field.Message() != nil {
					scrub(value.List().Get(i).Message(), change)
				}
			}
		case field.Message() != nil:
			scrub(value.Message(), change)
		case field.Kind() == protoreflect.StringKind:
			message.Set(field, protoreflect.ValueOfString(change(string(field.Name()), value.String())))
		}
		return true
	})
}

func keep(t *testing.T, file string, history *historypb.History) {
	t.Helper()
	written, err := protojson.Marshal(history)
	require.NoError(t, err)
	var compact bytes.Buffer
	require.NoError(t, json.Compact(&compact, written))
	_, err = client.HistoryFromJSON(bytes.NewReader(compact.Bytes()), client.HistoryJSONOptions{})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, append(compact.Bytes(), '\n'), 0o644))
}
