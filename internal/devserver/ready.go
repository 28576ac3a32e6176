package main

import (
	"context"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// startLimit is how long a server may take from started to usable; it takes well under a second on an idle machine.
const startLimit = time.Minute

// awaitReady returns when every namespace that was asked for answers and has its search attributes. Those of a new
// namespace are there from the start; an existing one may lack some.
func awaitReady(ctx context.Context, o *options, address string) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return fmt.Errorf("connect to the server just started: %w", err)
	}
	defer conn.Close()
	for _, namespace := range o.namespaces {
		if err := awaitNamespace(ctx, conn, namespace); err != nil {
			return fmt.Errorf("the server has started but does not answer for namespace %s: %w", namespace, err)
		}
		if err := addSearchAttributes(ctx, conn, namespace, o.searchAttributes); err != nil {
			return fmt.Errorf("add the search attributes of namespace %s: %w", namespace, err)
		}
	}
	return nil
}

func awaitNamespace(ctx context.Context, conn *grpc.ClientConn, namespace string) error {
	client := workflowservice.NewWorkflowServiceClient(conn)
	for {
		_, err := client.ListWorkflowExecutions(ctx, &workflowservice.ListWorkflowExecutionsRequest{Namespace: namespace, PageSize: 1})
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func addSearchAttributes(ctx context.Context, conn *grpc.ClientConn, namespace string, wanted map[string]enumspb.IndexedValueType) error {
	if len(wanted) == 0 {
		return nil
	}
	client := operatorservice.NewOperatorServiceClient(conn)
	existing, err := client.ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	if err != nil {
		return err
	}
	missing := map[string]enumspb.IndexedValueType{}
	for name, kind := range wanted {
		switch has, found := existing.GetCustomAttributes()[name]; {
		case !found:
			missing[name] = kind
		case has != kind:
			return fmt.Errorf("%s is a %s in the database file and cannot become a %s: choose another name, or another file", name, has, kind)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	_, err = client.AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{Namespace: namespace, SearchAttributes: missing})
	return err
}
