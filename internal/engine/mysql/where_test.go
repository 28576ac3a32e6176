package mysql

import (
	"testing"

	"github.com/stretchr/testify/require"

	"godwit/internal/engine"
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
		for _, bad := range []string{"c = 1", "a = ", "a = 1) OR (1 = 1", "a = 1 /* open", "a END OR CASE WHEN TRUE THEN a", "a, 1", "MAX(a) > 1", "a = 1; DELETE FROM w"} {
			err := s.CheckWhere(t.Context(), name, bad)
			require.ErrorContains(t, err, "where of "+name.String(), bad)
			require.Equal(t, task.Config, fault.Of(err).Class, bad)
		}
	})
}

func TestAConditionThatLeavesItsParenthesesIsRefusedForAnEmptyTable(t *testing.T) {
	onBoth(t, func(t *testing.T, s *testServer) {
		s.exec(t, "CREATE TABLE w (a int PRIMARY KEY)")
		require.ErrorContains(t, s.CheckWhere(t.Context(), s.name("w"), "a = 1) OR (1 = 1"), "syntax")
	})
}

func TestTheFirstKeyOfARangeIsFound(t *testing.T) {
	onBoth(t, func(t *testing.T, s *testServer) {
		s.exec(t, "CREATE TABLE t (a int, b varchar(9), PRIMARY KEY (a, b))", "INSERT INTO t VALUES (1, 'x'), (2, 'a'), (2, 'b')")
		table := s.describe(t, "t")
		key, found, err := s.First(t.Context(), engine.Select{Table: table, Where: "FALSE"})
		require.NoError(t, err)
		require.True(t, found)
		require.Equal(t, "(1, 'x')", key.String())
		key, found, err = s.First(t.Context(), engine.Select{Table: table, Range: engine.Range{After: key}})
		require.NoError(t, err)
		require.True(t, found)
		require.Equal(t, "(2, 'a')", key.String())
		last := engine.Key{{Kind: engine.NumberKey, Value: "2"}, {Kind: engine.TextKey, Value: "b"}}
		_, found, err = s.First(t.Context(), engine.Select{Table: table, Range: engine.Range{After: last}})
		require.NoError(t, err)
		require.False(t, found)
	})
}

func TestAnExpressionForAColumnIsTriedBeforeAnythingIsWritten(t *testing.T) {
	onBoth(t, func(t *testing.T, s *testServer) {
		s.exec(t, "CREATE TABLE w (id int PRIMARY KEY, n int, v varchar(5), `a ``b` int)", "INSERT INTO w (id, n, v) VALUES (1, 2, 'x')")
		name := s.name("w")
		for _, good := range [][2]string{{"n", "n * 100"}, {"n", "'7'"}, {"n", "NULL"}, {"n", "n -- a comment"}, {"n", "n # a comment"}, {"n", "(SELECT 5)"}, {"v", "CONCAT(n, ')')"},
			{"v", "CASE WHEN n IN (1, 2) THEN 'a,b' ELSE ')' END"}, {"n", "w.id"}, {"a `b", "1"}} {
			require.NoError(t, s.CheckExpr(t.Context(), name, good[0], good[1]), good)
		}
		for _, bad := range [][2]string{{"n", "missing + 1"}, {"missing", "1"}, {"n", "SUM(n)"}, {"n", "COUNT(*)"}, {"n", "ROW_NUMBER() OVER ()"}, {"n", "1, 2"}, {"n", "1), v = ('x'"},
			{"n", "1; DELETE FROM w"}, {"n", "SELECT 1"}, {"n", "(SELECT 1, 2)"}, {"n", "?"}, {"n", "1) WHERE (FALSE"}, {"n", ""}, {"n", "UPPER(v"}, {"n", "1 /*"}, {"n", "(1, 2)"},
			{"n", "1 END IS NULL) OR (CASE WHEN TRUE THEN 2"}} {
			err := s.CheckExpr(t.Context(), name, bad[0], bad[1])
			require.ErrorContains(t, err, "set of "+name.String()+"."+bad[0], bad)
			require.Equal(t, task.Config, fault.Of(err).Class, bad)
		}
		var n int
		require.NoError(t, s.db.QueryRowContext(t.Context(), "SELECT n FROM w").Scan(&n))
		require.Equal(t, 2, n)
	})
}
