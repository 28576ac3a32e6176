package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/task"
)

func TestACopyHasTakenItsTimeBeforeItsWorkflowHasClosed(t *testing.T) {
	at := func(seconds int) *time.Time {
		moment := time.Unix(int64(seconds), 0)
		return &moment
	}
	open := task.Status{StartedAt: at(0), Steps: []task.PhaseStatus{{EndedAt: at(2)}, {EndedAt: at(5)}, {StartedAt: at(5)}}}
	require.Equal(t, at(5), reached(open))
	closed := open
	closed.EndedAt = at(9)
	require.Equal(t, at(9), reached(closed))
	require.Nil(t, reached(task.Status{StartedAt: at(0)}))
}
