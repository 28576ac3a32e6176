package activities

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"strings"
	"sync/atomic"

	"go.temporal.io/sdk/activity"

	"godwit/internal/fault"
	"godwit/internal/task"
)

// mostAnswer is how much of an answer is looked at, in bytes.
const mostAnswer = 1 << 20

// Call calls an address and looks at the answer. It is not tried again by itself.
// When it is not known whether a call has arrived that may not be made twice, the
// error is of class human.
func (a *Activities) Call(ctx context.Context, in task.CallInput) (task.CallResult, error) {
	p := newPulse(ctx, task.Transform, 0)
	defer p.end()
	result, err := call(p.ctx, in)
	if err != nil {
		return result, p.report(err, result)
	}
	activity.GetLogger(ctx).Info("called", "method", in.Method, "status", result.Status)
	return result, nil
}

// fresh makes a connection of its own for each call: on one that was used before, the
// library itself sends a request again that has an Idempotency-Key and no answer.
var fresh = func() http.RoundTripper {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DisableKeepAlives = true
	return transport
}()

// unsent is what is known of a call that could not be made.
var unsent = task.CallResult{Unsent: true}

func call(ctx context.Context, in task.CallInput) (task.CallResult, error) {
	ctx, cancel := context.WithTimeout(ctx, in.Limit)
	defer cancel()
	var sent atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { sent.Store(true) }})
	request, err := http.NewRequestWithContext(ctx, in.Method, in.URL, strings.NewReader(in.Body))
	if err != nil {
		return unsent, fault.New(task.Config, "the call cannot be made: %w", err)
	}
	if err := setHeaders(request.Header, in); err != nil {
		return unsent, err
	}
	// Where a call leads to is the spec's to say, not the answer's.
	client := &http.Client{Transport: fresh, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Do(request)
	if err != nil {
		return task.CallResult{Unsent: !sent.Load()}, unanswered(in, sent.Load(), err)
	}
	defer answer.Body.Close() //nolint:errcheck // it is only read
	body, err := io.ReadAll(io.LimitReader(answer.Body, mostAnswer))
	if err != nil {
		return task.CallResult{}, unanswered(in, true, err)
	}
	result := task.CallResult{Status: answer.StatusCode} // what it says may be a secret
	switch {
	case in.Status != 0 && answer.StatusCode != in.Status:
		return result, fault.New(task.Mismatch, "%s %s was answered %d instead of %d", in.Method, in.URL, answer.StatusCode, in.Status)
	case in.Status == 0 && answer.StatusCode/100 != 2:
		return result, fault.New(task.Mismatch, "%s %s was answered %d", in.Method, in.URL, answer.StatusCode)
	case !strings.Contains(string(body), in.Contains):
		return result, fault.New(task.Mismatch, "%s %s was answered %d, and the answer does not contain %q", in.Method, in.URL, answer.StatusCode, in.Contains)
	}
	return result, nil
}

func setHeaders(headers http.Header, in task.CallInput) error {
	headers.Set("Idempotency-Key", in.Key)
	headers.Set("User-Agent", "godwit")
	for name, value := range in.Headers {
		headers.Set(name, value)
	}
	for name, variable := range in.SecretHeaders {
		if !strings.HasPrefix(variable, "GODWIT_HTTP_") {
			return fault.New(task.Config, "secret_headers.%s: only variables that begin with GODWIT_HTTP_ are sent", name)
		}
		value := os.Getenv(variable)
		if value == "" {
			return fault.New(task.Config, "secret_headers.%s: the worker has no environment variable %s", name, variable)
		}
		headers.Set(name, value)
	}
	return nil
}

// unanswered says of a call without an answer whether it may be made again.
func unanswered(in task.CallInput, sent bool, err error) error {
	var network *net.OpError
	if errors.As(err, &network) {
		err = network // without the address, which has been said
	}
	if sent && !in.Repeat {
		return fault.New(task.Human, "%s %s has had no answer (%w), and may have arrived: look, then retry to call again, or skip", in.Method, in.URL, err)
	}
	return fault.New(task.Transient, "%s %s has had no answer: %w", in.Method, in.URL, err)
}
