package main

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/cluster"
	"godwit/internal/cluster/clustertest"
	"godwit/internal/connection"
)

func TestActivitiesAreBoundByTheSmallestPool(t *testing.T) {
	for _, c := range []struct {
		environ []string
		wanted  int
		slots   int
		refused string
	}{
		{nil, 0, mostSlots, ""},
		{[]string{"GODWIT_CONNECTION_A=postgres://u@h/d?pool=20"}, 0, 10, ""},
		{[]string{"GODWIT_CONNECTION_A=postgres://u@h/d?pool=20", "GODWIT_CONNECTION_B=mysql://u@h/d?pool=4"}, 0, 2, ""},
		{[]string{"GODWIT_CONNECTION_A=postgres://u@h/d?pool=20"}, 3, 3, ""},
		{[]string{"GODWIT_CONNECTION_A=postgres://u@h/d?pool=20"}, 11, 0, "--activities 11: the pool of connection a is enough for 10"},
		{[]string{"GODWIT_CONNECTION_A=postgres://u@h/d?pool=2"}, 0, 1, ""},
	} {
		connections, err := connection.Load("", c.environ)
		require.NoError(t, err)
		slots, err := activitySlots(connections, c.wanted)
		if c.refused != "" {
			require.ErrorContains(t, err, c.refused)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, c.slots, slots, "%v", c.environ)
	}
}

func TestWrongLogSettingsAreRefused(t *testing.T) {
	for _, o := range []options{{logFormat: "xml", logLevel: "info"}, {logFormat: "text", logLevel: "loud"}} {
		_, err := newLogger(o)
		require.ErrorContains(t, err, "choose")
	}
}

func TestHealthAndMetricsAnswerAndSayWhenTemporalIsGone(t *testing.T) {
	server := clustertest.Start(t)
	meters, err := newMeters()
	require.NoError(t, err)
	c, err := cluster.Dial(t.Context(), cluster.Options{Address: server.Address, Namespace: "default"})
	require.NoError(t, err)
	defer c.Close()
	meters.handler.WithTags(map[string]string{"phase": "transform"}).Counter("godwit_rows").Inc(7)
	meters.handler.WithTags(map[string]string{"phase": "transform"}).Timer("godwit_chunk").Record(700 * time.Millisecond)
	meters.handler.WithTags(map[string]string{"guard": "max_lag"}).Timer("godwit_held").Record(10 * time.Second)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	const address = "127.0.0.1:0"
	announced := make(chan string, 1)
	logger := slog.New(slog.NewTextHandler(writer(func(line string) {
		if _, rest, found := strings.Cut(line, "address="); found {
			announced <- strings.TrimSpace(rest)
		}
	}), nil))
	go func() { ended <- meters.serve(ctx, address, c.Client, logger) }()
	base := "http://" + <-announced

	require.Equal(t, http.StatusOK, get(t, base+"/healthz", ""))
	require.Equal(t, http.StatusOK, get(t, base+"/readyz", "ready"))
	require.Equal(t, http.StatusOK, get(t, base+"/metrics", `godwit_rows_total{`, `phase="transform"`,
		"godwit_chunk_seconds_bucket{", "godwit_held_seconds_sum{", `guard="max_lag"`, "go_goroutines"))
	server.Stop()
	require.Eventually(t, func() bool { return get(t, base+"/readyz") == http.StatusServiceUnavailable }, 20*time.Second, 100*time.Millisecond)
	require.Equal(t, http.StatusOK, get(t, base+"/healthz", "alive"), "it lives on")
	stop()
	require.NoError(t, <-ended)
}

// writer hands over what is written.
type writer func(string)

func (w writer) Write(p []byte) (int, error) {
	w(string(p))
	return len(p), nil
}

func get(t *testing.T, url string, parts ...string) int {
	t.Helper()
	response, err := http.Get(url)
	require.NoError(t, err)
	defer response.Body.Close() //nolint:errcheck // read to its end
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	for _, part := range parts {
		require.Contains(t, string(text), part)
	}
	return response.StatusCode
}
