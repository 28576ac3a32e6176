package activities

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/kind"
	"godwit/internal/task"
)

// answering is a server that notes what it is asked.
func answering(t *testing.T, answer func(w http.ResponseWriter, r *http.Request)) string {
	s := httptest.NewServer(http.HandlerFunc(answer))
	t.Cleanup(s.Close)
	return s.URL
}

func asks(address string) task.CallInput {
	return task.CallInput{Key: "p.tell", Method: "POST", URL: address, Body: "go", Limit: 5 * time.Second}
}

func TestACallSendsItsKeyItsBodyAndTheWorkersSecret(t *testing.T) {
	t.Setenv("GODWIT_HTTP_TOKEN", "hunter2")
	var got *http.Request
	var body []byte
	in := asks(answering(t, func(w http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
		_, _ = w.Write([]byte("all is well"))
	}))
	in.SecretHeaders, in.Headers = map[string]string{"Authorization": "GODWIT_HTTP_TOKEN"}, map[string]string{"X-Who": "me"}
	in.Contains = "well"
	result, err := call(context.Background(), in)
	require.NoError(t, err)
	require.Equal(t, 200, result.Status)
	require.Equal(t, []string{"p.tell", "hunter2", "me", "go"}, []string{got.Header.Get("Idempotency-Key"), got.Header.Get("Authorization"), got.Header.Get("X-Who"), string(body)})
}

func TestAnAnswerThatIsNotTheExpectedOneIsAMismatch(t *testing.T) {
	for _, c := range []struct {
		answered, wanted int
		contains, want   string
	}{
		{503, 0, "", "was answered 503"},
		{200, 202, "", "was answered 200 instead of 202"},
		{200, 0, "done", `the answer does not contain "done"`},
		{302, 0, "", "was answered 302"},
	} {
		in := asks(answering(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(c.answered)
		}))
		in.Status, in.Contains = c.wanted, c.contains
		_, err := call(context.Background(), in)
		require.ErrorContains(t, err, c.want)
		require.Equal(t, task.Mismatch, kind.Classify(err).Class)
	}
}

func TestACallWithoutAnAnswerMayHaveArrived(t *testing.T) {
	in := asks(answering(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	result, err := call(context.Background(), in)
	require.Equal(t, task.Human, kind.Classify(err).Class)
	require.False(t, result.Unsent)
	in.Repeat = true
	result, err = call(context.Background(), in)
	require.Equal(t, task.Transient, kind.Classify(err).Class, "it may be made again")
	require.False(t, result.Unsent, "which does not mean that it has not arrived")
}

func TestACallIsNotMadeTwiceOnAConnectionThatBreaks(t *testing.T) {
	var calls atomic.Int32
	in := asks(answering(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		if calls.Add(1) > 1 { // the first one leaves a connection that could be used again
			panic(http.ErrAbortHandler)
		}
	}))
	_, err := call(context.Background(), in)
	require.NoError(t, err)
	_, err = call(context.Background(), in)
	require.Equal(t, task.Human, kind.Classify(err).Class)
	require.EqualValues(t, 2, calls.Load())
}

func TestACallThatNobodyTookIsMadeAgain(t *testing.T) {
	for _, repeat := range []bool{false, true} {
		in := asks("http://127.0.0.1:1/")
		in.Repeat = repeat
		result, err := call(context.Background(), in)
		require.Equal(t, task.Transient, kind.Classify(err).Class)
		require.True(t, result.Unsent)
	}
}

func TestAnAnswerIsNotWaitedForLongerThanTheLimit(t *testing.T) {
	release := make(chan struct{})
	in := asks(answering(t, func(http.ResponseWriter, *http.Request) { <-release }))
	defer close(release)
	in.Limit = 100 * time.Millisecond
	_, err := call(context.Background(), in)
	require.ErrorContains(t, err, "has had no answer")
}

func TestASecretThatTheWorkerDoesNotHaveIsNamedAndOthersAreNotSent(t *testing.T) {
	in := asks("http://127.0.0.1:1/")
	in.SecretHeaders = map[string]string{"Authorization": "GODWIT_HTTP_NOWHERE"}
	_, err := call(context.Background(), in)
	require.ErrorContains(t, err, "no environment variable GODWIT_HTTP_NOWHERE")
	in.SecretHeaders = map[string]string{"Authorization": "PATH"}
	_, err = call(context.Background(), in)
	require.ErrorContains(t, err, "only variables that begin with GODWIT_HTTP_")
}
