package mysql

import (
	"testing"

	"github.com/stretchr/testify/require"

	"godwit/internal/fault"
	"godwit/internal/task"
)

func TestAConditionIsTriedBeforeAnythingIsRead(t *testing.T) {
	onBoth(t, func(t *testing.T, s *testServer) {
		s.exec(t, "CREATE TABLE w (a int PRIMARY KEY, b varchar(10))", "INSERT INTO w VALUES (1, 'x')")
		name := s.name("w")
		for _, good := range []string{"a > 0", "b = ')'", "a = 1 -- a comment", "a = 1 OR b = 'x'"} {
			require.NoError(t, s.CheckWhere(t.Context(), name, good), good)
		}
		for _, bad := range []string{"c = 1", "a = ", "a = 1) OR (1 = 1", "a = 1 /* open"} {
			err := s.CheckWhere(t.Context(), name, bad)
			require.ErrorContains(t, err, "where of "+name.String(), bad)
			require.Equal(t, task.Config, fault.Of(err).Class, bad)
		}
	})
}
