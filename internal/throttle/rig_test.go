package throttle

import (
	"testing"

	"github.com/stretchr/testify/require"

	"godwit/internal/connection"
)

func registry(t *testing.T, environment ...string) *connection.Registry {
	t.Helper()
	r, err := connection.Load("", environment)
	require.NoError(t, err)
	t.Cleanup(r.Close)
	return r
}
