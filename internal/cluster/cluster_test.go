package cluster_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"

	"godwit/internal/cluster"
	"godwit/internal/cluster/clustertest"
	"godwit/internal/task"
)

func TestSetupRegistersEverythingOnceAndRaisesTheRetention(t *testing.T) {
	server := clustertest.Start(t)
	c := server.Dial()
	defer c.Close()
	ctx := context.Background()

	first, err := cluster.Setup(ctx, c, "default", cluster.DefaultRetention)
	require.NoError(t, err)
	require.Len(t, first.Added, len(cluster.Attributes))
	require.Empty(t, first.Existing)
	require.Less(t, first.RetentionBefore, cluster.DefaultRetention)
	require.Equal(t, cluster.DefaultRetention, first.Retention)

	second, err := cluster.Setup(ctx, c, "default", time.Hour)
	require.NoError(t, err)
	require.Empty(t, second.Added)
	require.Len(t, second.Existing, len(cluster.Attributes))
	require.Equal(t, cluster.DefaultRetention, second.Retention, "a retention is never lowered")
	require.Empty(t, second.Warnings)
}

func TestSetupReportsASearchAttributeOfTheWrongType(t *testing.T) {
	server := clustertest.Start(t)
	c := server.Dial()
	defer c.Close()
	ctx := context.Background()
	_, err := c.OperatorService().AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{
		Namespace:        "default",
		SearchAttributes: map[string]enumspb.IndexedValueType{task.PercentAttribute: enumspb.INDEXED_VALUE_TYPE_KEYWORD},
	})
	require.NoError(t, err)

	_, err = cluster.Setup(ctx, c, "default", cluster.DefaultRetention)
	require.ErrorContains(t, err, "GodwitPercent is Keyword, not Double")
	require.ErrorContains(t, err, "search-attribute remove")
}

func TestAMissingServerIsNamedWithItsAddressAndTheRemedy(t *testing.T) {
	started := time.Now()
	_, err := cluster.Dial(context.Background(), cluster.Options{Address: "127.0.0.1:1", Namespace: "default"})

	var unreachable *cluster.UnreachableError
	require.ErrorAs(t, err, &unreachable)
	require.Equal(t, "no Temporal answers at 127.0.0.1:1 (tcp 127.0.0.1:1: connect: connection refused); "+
		"start one with `godwit-devserver`, or say where it is with --address or TEMPORAL_ADDRESS", err.Error())
	require.Less(t, time.Since(started), 20*time.Second)
}

func TestAMissingNamespaceIsNamed(t *testing.T) {
	server := clustertest.Start(t)
	c, err := cluster.Dial(context.Background(), cluster.Options{Address: server.Address, Namespace: "nowhere"})
	require.NoError(t, err)
	defer c.Close()

	_, err = c.DescribeWorkflow(context.Background(), "some", "")
	require.ErrorContains(t, c.Explain(err), `namespace "nowhere" does not exist at `+server.Address)
}

func TestTheEnvironmentNamesTheClusterAndFlagsWin(t *testing.T) {
	server := clustertest.Start(t)
	t.Setenv("TEMPORAL_ADDRESS", server.Address)
	t.Setenv("TEMPORAL_NAMESPACE", "of-the-environment")

	c, err := cluster.Dial(context.Background(), cluster.Options{})
	require.NoError(t, err)
	defer c.Close()
	require.Equal(t, server.Address, c.Address)
	require.Equal(t, "of-the-environment", c.Namespace)

	flagged, err := cluster.Dial(context.Background(), cluster.Options{Namespace: "of-the-flag"})
	require.NoError(t, err)
	defer flagged.Close()
	require.Equal(t, "of-the-flag", flagged.Namespace)
}
