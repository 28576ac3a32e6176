package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	namespacepb "go.temporal.io/api/namespace/v1"
	"go.temporal.io/api/operatorservice/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/types/known/durationpb"
)

const namespace = "default"

func (p *process) client() workflowservice.WorkflowServiceClient {
	return workflowservice.NewWorkflowServiceClient(p.conn)
}

// startWorkflow starts one that nobody works on, with a keyword search attribute unless that has no name.
func (p *process) startWorkflow(t *testing.T, id, attribute, value string, priority int32) {
	t.Helper()
	request := &workflowservice.StartWorkflowExecutionRequest{
		Namespace: namespace, WorkflowId: id, RequestId: uuid.NewString(),
		WorkflowType: &commonpb.WorkflowType{Name: "Migration"},
		TaskQueue:    &taskqueuepb.TaskQueue{Name: "godwit"},
		Priority:     &commonpb.Priority{PriorityKey: priority},
	}
	if attribute != "" {
		request.SearchAttributes = &commonpb.SearchAttributes{IndexedFields: map[string]*commonpb.Payload{attribute: {
			Metadata: map[string][]byte{"encoding": []byte("json/plain"), "type": []byte("Keyword")},
			Data:     []byte(fmt.Sprintf("%q", value)),
		}}}
	}
	_, err := p.client().StartWorkflowExecution(t.Context(), request)
	require.NoError(t, err)
}

func (p *process) count(t *testing.T, query string) int {
	t.Helper()
	answer, err := p.client().CountWorkflowExecutions(t.Context(), &workflowservice.CountWorkflowExecutionsRequest{Namespace: namespace, Query: query})
	require.NoError(t, err)
	return int(answer.Count)
}

// requireFound waits for the workflow to be the only one that the query lists: visibility follows a moment later.
func (p *process) requireFound(t *testing.T, id, query string) {
	t.Helper()
	require.Eventually(t, func() bool { return p.count(t, query) == 1 }, 30*time.Second, 50*time.Millisecond, query)
	list, err := p.client().ListWorkflowExecutions(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{Namespace: namespace, Query: query})
	require.NoError(t, err)
	require.Len(t, list.Executions, 1)
	require.Equal(t, id, list.Executions[0].Execution.WorkflowId)
}

func (p *process) addSearchAttribute(t *testing.T, name string) {
	t.Helper()
	_, err := operatorservice.NewOperatorServiceClient(p.conn).AddSearchAttributes(t.Context(), &operatorservice.AddSearchAttributesRequest{
		Namespace: namespace, SearchAttributes: map[string]enumspb.IndexedValueType{name: enumspb.INDEXED_VALUE_TYPE_KEYWORD},
	})
	require.NoError(t, err)
}

func TestAKilledServerGoesOnWhereItWas(t *testing.T) {
	file := filepath.Join(t.TempDir(), "odd 100%? #name.db")
	first := start(t, "--db-filename", file, "--headless")
	first.addSearchAttribute(t, "GodwitState")
	first.startWorkflow(t, "copy-1", "GodwitState", "RUNNING", 3)
	month := 30 * 24 * time.Hour
	_, err := first.client().UpdateNamespace(t.Context(), &workflowservice.UpdateNamespaceRequest{
		Namespace: namespace, Config: &namespacepb.NamespaceConfig{WorkflowExecutionRetentionTtl: durationpb.New(month)},
	})
	require.NoError(t, err)
	first.kill()

	second := start(t, "--db-filename", file, "--headless", "--search-attribute", "GodwitKind=Keyword", "--namespace", "other")
	described, err := second.client().DescribeWorkflowExecution(t.Context(), &workflowservice.DescribeWorkflowExecutionRequest{
		Namespace: namespace, Execution: &commonpb.WorkflowExecution{WorkflowId: "copy-1"},
	})
	require.NoError(t, err)
	require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, described.WorkflowExecutionInfo.Status)
	second.requireFound(t, "copy-1", "GodwitState = 'RUNNING'")

	kept, err := second.client().DescribeNamespace(t.Context(), &workflowservice.DescribeNamespaceRequest{Namespace: namespace})
	require.NoError(t, err)
	require.Equal(t, month, kept.Config.WorkflowExecutionRetentionTtl.AsDuration())
	_, err = second.client().DescribeNamespace(t.Context(), &workflowservice.DescribeNamespaceRequest{Namespace: "other"})
	require.NoError(t, err, "a namespace asked for later is added to the file")

	second.startWorkflow(t, "copy-2", "GodwitKind", "copy", 3)
	second.requireFound(t, "copy-2", "GodwitKind = 'copy' AND WorkflowType = 'Migration'")
	require.Contains(t, refused(t, "--port", "0", "--headless", "--db-filename", file), "in use by another godwit-devserver")
	second.kill()
	require.Contains(t, refused(t, "--port", "0", "--headless", "--db-filename", file, "--search-attribute", "GodwitKind=Int"),
		"GodwitKind is a Keyword in the database file and cannot become a Int")
}

func TestASearchAttributeCanBeUsedAtOnce(t *testing.T) {
	p := start(t, "--headless")
	for i := range 5 {
		name := fmt.Sprintf("Godwit%d", i)
		p.addSearchAttribute(t, name)
		p.addSearchAttribute(t, name) // adding it again is no error
		p.startWorkflow(t, "task-"+name, name, "x", 3)
		require.Zero(t, p.count(t, name+" = 'y'"))
	}
}

func TestUrgentTasksGoFirst(t *testing.T) {
	p := start(t, "--headless")
	for i, priority := range []int32{5, 4, 5, 3, 1} {
		p.startWorkflow(t, fmt.Sprintf("%d-%d", priority, i), "", "", priority)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	time.Sleep(time.Second) // all five have passed the transfer queue and wait in the task queue
	for _, next := range []string{"1-4", "3-3", "4-1", "5-0", "5-2"} {
		task, err := p.client().PollWorkflowTaskQueue(ctx, &workflowservice.PollWorkflowTaskQueueRequest{
			Namespace: namespace, TaskQueue: &taskqueuepb.TaskQueue{Name: "godwit"}, Identity: "test",
		})
		require.NoError(t, err)
		require.Equal(t, next, task.WorkflowExecution.GetWorkflowId())
	}
}

func TestTheWebUIShowsTheServerAndLooksNothingUp(t *testing.T) {
	p := start(t)
	get := func(path string) []byte {
		answer, err := http.Get(p.webURL + path)
		require.NoError(t, err)
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, answer.StatusCode, string(body))
		return body
	}
	require.Contains(t, string(get("/namespaces/default/workflows")), "<html")
	require.Contains(t, string(get("/api/v1/namespaces/default")), "NAMESPACE_STATE_REGISTERED", "it reaches the server")
	var settings struct{ DisableNewsFetch, NotifyOnNewVersion bool }
	require.NoError(t, json.Unmarshal(get("/api/v1/settings"), &settings))
	require.True(t, settings.DisableNewsFetch)
	require.False(t, settings.NotifyOnNewVersion)
}

func TestAStopIsQuickAndLeavesOneCompleteFile(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		file := filepath.Join(t.TempDir(), "dev.db")
		p := start(t, "--db-filename", file)
		p.startWorkflow(t, "kept", "", "", 3)
		code, took := p.terminate(t, signal)
		require.Zero(t, code)
		require.Less(t, took, stopLimit)
		require.Empty(t, p.stderr.String(), "nothing to warn about in a normal life")

		alone := filepath.Join(t.TempDir(), "copy.db")
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(alone, content, 0o600))
		_, err = start(t, "--db-filename", alone, "--headless").client().DescribeWorkflowExecution(t.Context(), &workflowservice.DescribeWorkflowExecutionRequest{
			Namespace: namespace, Execution: &commonpb.WorkflowExecution{WorkflowId: "kept"},
		})
		require.NoError(t, err)
	}
}

func TestWithoutAFileStateIsInMemory(t *testing.T) {
	first := start(t, "--headless")
	first.startWorkflow(t, "gone", "", "", 3)
	first.kill()
	_, err := start(t, "--headless").client().DescribeWorkflowExecution(context.Background(), &workflowservice.DescribeWorkflowExecutionRequest{
		Namespace: namespace, Execution: &commonpb.WorkflowExecution{WorkflowId: "gone"},
	})
	require.ErrorContains(t, err, "not found")
}

func TestATakenPortIsNamedWithTheFlagThatChangesIt(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	_, port, err := net.SplitHostPort(taken.Addr().String())
	require.NoError(t, err)
	for _, flag := range []string{"port", "ui-port", "http-port", "metrics-port"} {
		said := refused(t, "--port", "0", "--"+flag, port)
		require.Contains(t, said, "port "+port+" on 127.0.0.1 is in use")
		require.Contains(t, said, "choose another port with --"+flag)
	}
}
