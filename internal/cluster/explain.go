package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.temporal.io/api/serviceerror"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// UnreachableError says that no Temporal answers at an address.
type UnreachableError struct {
	Address string
	Cause   error
}

func (e *UnreachableError) Error() string {
	return fmt.Sprintf("no Temporal answers at %s (%s); start one with `godwit-devserver`, or say where it is with --address or TEMPORAL_ADDRESS",
		e.Address, reason(e.Cause))
}

// Unwrap returns what the client said.
func (e *UnreachableError) Unwrap() error { return e.Cause }

// Explain turns an error of a call to the cluster into a sentence that says
// what to do. An error that only the caller can interpret (not found, refused,
// already started …) comes back as it is.
func (c *Client) Explain(err error) error {
	var (
		namespace *serviceerror.NamespaceNotFound
		denied    *serviceerror.PermissionDenied
		exhausted *serviceerror.ResourceExhausted
	)
	switch {
	case err == nil, errors.Is(err, context.Canceled):
		return err
	case Unavailable(err):
		return &UnreachableError{Address: c.Address, Cause: err}
	case errors.As(err, &namespace):
		return fmt.Errorf("namespace %q does not exist at %s; name another one with --namespace or TEMPORAL_NAMESPACE, or create it: temporal operator namespace create -n %s",
			c.Namespace, c.Address, c.Namespace)
	case errors.As(err, &denied), status.Code(err) == codes.Unauthenticated:
		return fmt.Errorf("%s refuses it (%s); look at TEMPORAL_API_KEY, TEMPORAL_TLS_* and at what this account may do in namespace %q",
			c.Address, reason(err), c.Namespace)
	case errors.As(err, &exhausted):
		return fmt.Errorf("%s is overloaded (%s); try again in a moment", c.Address, reason(err))
	}
	return err
}

// Unavailable reports whether an error means that the cluster did not answer:
// it may be restarting, and the same call may succeed later.
func Unavailable(err error) bool {
	var (
		unavailable *serviceerror.Unavailable
		deadline    *serviceerror.DeadlineExceeded
	)
	return errors.As(err, &unavailable) || errors.As(err, &deadline) || errors.Is(err, context.DeadlineExceeded)
}

// reason is the part of a gRPC error that tells a human something.
func reason(err error) string {
	text := err.Error()
	if _, after, found := strings.Cut(text, `desc = "`); found {
		text = strings.TrimSuffix(after, `"`)
	}
	for _, noise := range []string{"failed reaching server: ", "transport: ", "Error while dialing: ", "dial "} {
		text = strings.TrimPrefix(text, noise)
	}
	if errors.Is(err, context.DeadlineExceeded) || strings.Contains(text, "context deadline exceeded") {
		return "no answer in time"
	}
	return text
}
