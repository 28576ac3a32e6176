package mysql

import (
	"testing"

	"github.com/stretchr/testify/require"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/task"
)

// numbers is a query of the numbers from 1.
func numbers(n string) string {
	return "WITH RECURSIVE n AS (SELECT 1 n UNION ALL SELECT n + 1 FROM n WHERE n < " + n + ") SELECT "
}

// withManyRows makes tables that are big enough for it to matter how they are read.
func withManyRows(t *testing.T, s *testServer) {
	depth := "SET cte_max_recursion_depth = 100000"
	if s.isMariaDB() {
		depth = "SET max_recursive_iterations = 100000"
	}
	s.exec(t, depth,
		"CREATE TABLE t (a int, b varchar(20), x varchar(100), other int, PRIMARY KEY (a, b)) ENGINE=InnoDB",
		"INSERT INTO t "+numbers("20000")+"n % 10, n, repeat('x', 50), n FROM n",
		"CREATE TABLE big (n int, v varchar(20)) ENGINE=InnoDB", "INSERT INTO big "+numbers("30000")+"n, 'v' FROM n",
		"CREATE TABLE small (n int, v varchar(20)) ENGINE=InnoDB", "INSERT INTO small VALUES (1, 'v')",
		"CREATE TABLE kept (a int, x varchar(100)) ENGINE=InnoDB",
		"ANALYZE TABLE t, big, small")
}

func TestARangeIsReadByItsKeyWhateverTheCondition(t *testing.T) {
	onBoth(t, func(t *testing.T, s *testServer) {
		withManyRows(t, s)
		s.exec(t, "CREATE INDEX by_other ON t (other)")
		keyed := s.describe(t, "t")
		for _, where := range []string{"", "x = 'y' OR b LIKE '%5'", "FALSE", "other = 7", "a = 3", "a IN (SELECT n FROM big)", "other > (SELECT max(other) FROM t) - 10"} {
			require.NoError(t, s.ExplainRange(t.Context(), engine.Select{Table: keyed, Where: where}), where)
		}
		err := s.ExplainRange(t.Context(), engine.Select{Table: keyed, Where: "missing = 1"})
		require.ErrorContains(t, err, "missing")
		class, _ := Classify(err)
		require.Equal(t, task.Config, class)

		s.exec(t, "ALTER TABLE t DROP PRIMARY KEY")
		err = s.ExplainRange(t.Context(), engine.Select{Table: keyed})
		require.ErrorContains(t, err, "t: look whether key PRIMARY is still there")
		require.Equal(t, task.Config, fault.Of(err).Class)
		err = s.ExplainRange(t.Context(), engine.Select{Table: s.describe(t, "t")})
		require.ErrorContains(t, err, "t has no key to cut ranges by")
		require.Equal(t, task.Config, fault.Of(err).Class)
		require.NoError(t, s.ExplainRange(t.Context(), engine.Select{Table: s.describe(t, "small")}), "a small table is read as it comes")
	})
}

// TestAKeyThatTheServerDoesNotUseIsRefused: the bounds of the range are of
// another character set than the column is by now, so that its index is of no use.
func TestAKeyThatTheServerDoesNotUseIsRefused(t *testing.T) {
	onBoth(t, func(t *testing.T, s *testServer) {
		withManyRows(t, s)
		s.exec(t, "CREATE TABLE k (k varchar(20) CHARACTER SET utf8mb4 NOT NULL, UNIQUE KEY k (k)) ENGINE=InnoDB", "INSERT INTO k SELECT n FROM big", "ANALYZE TABLE k")
		keyed := s.describe(t, "k")
		require.NoError(t, s.ExplainRange(t.Context(), engine.Select{Table: keyed}))
		keyed.Column("k").Type.Base = "int" // a text key that is compared with numbers
		err := s.ExplainRange(t.Context(), engine.Select{Table: keyed})
		require.ErrorContains(t, err, "k: the server does not use key k for the range after ")
		require.ErrorContains(t, err, "rows to look at")
		require.Equal(t, task.Config, fault.Of(err).Class)
	})
}

func TestAStatementThatReadsAWholeTableForEveryRangeIsWarnedOf(t *testing.T) {
	onBoth(t, func(t *testing.T, s *testServer) {
		withManyRows(t, s)
		for _, quiet := range []string{
			"UPDATE t SET x = 'y' WHERE a = 3 AND b > '100' AND b <= '200'",
			"DELETE FROM t WHERE a = 3 AND b <= '200'",
			" -- a comment\n/* and another */ INSERT INTO kept SELECT a, x FROM t WHERE a = 3 AND b > '100' AND b <= '200'",
			"REPLACE INTO kept SELECT a, x FROM t WHERE a = 3 AND b > '100' AND b <= '200'",
			"INSERT INTO kept SELECT a, v FROM t JOIN small s ON s.n = t.other WHERE a = 3 AND b > '100' AND b <= '200'",
			"INSERT INTO kept SELECT a, x FROM (SELECT a, max(x) x FROM t WHERE a = 3 AND b > '100' AND b <= '200' GROUP BY a) s",
			"DELETE FROM small WHERE n = 1",
			"INSERT INTO big VALUES (1, 'v')",
			"UPDATE t SET x = 'y' ORDER BY a, b LIMIT 10",
		} {
			warning, err := s.ExplainStatement(t.Context(), quiet)
			require.NoError(t, err, quiet)
			require.Empty(t, warning, quiet)
		}
		loud := map[string]string{
			"UPDATE t SET x = 'y' WHERE other > 100 AND other <= 200": "reads all of t (about ",
			"DELETE FROM big":             "reads all of ",
			"DELETE FROM big WHERE n = 5": "reads all of big (about ",
			"UPDATE t JOIN big ON big.n = t.other SET x = v WHERE a = 3 AND b > '1' AND b < '2'": "reads all of big (about ",
			"INSERT INTO kept SELECT a, (SELECT max(v) FROM big) FROM t WHERE a = 3":             "reads all of big (about ",
		}
		if !s.isMariaDB() {
			loud["WITH x AS (SELECT a FROM t WHERE other = 3) DELETE big FROM big JOIN x ON x.a = big.n"] = "reads all of "
		}
		for loud, says := range loud {
			warning, err := s.ExplainStatement(t.Context(), loud)
			require.NoError(t, err, loud)
			require.Contains(t, warning, says, loud)
			require.Contains(t, warning, " rows) for every range", loud)
		}
		require.Equal(t, int64(50001), s.count(t, s.describe(t, "t"), engine.Range{})+s.count(t, s.describe(t, "big"), engine.Range{})+s.count(t, s.describe(t, "small"), engine.Range{}), "nothing was run")
	})
}

func TestAStatementThatTheServerDoesNotUnderstandIsRefused(t *testing.T) {
	onBoth(t, func(t *testing.T, s *testServer) {
		s.exec(t, "CREATE TABLE t (a int PRIMARY KEY, x int) ENGINE=InnoDB", "INSERT INTO t VALUES (1, 1)")
		for bad, says := range map[string]string{
			"UPDATE missing SET x = 1":             "doesn't exist",
			"UPDATE t SET y = 1":                   "Unknown column 'y'",
			"UPDATE t SET x = 1 WHERE a > :low":    "syntax",
			"UPDATE t SET x = 1 WHERE a > ?":       "syntax",
			"SELECT * FROM t":                      "is not an INSERT, UPDATE, DELETE or REPLACE",
			"WITH x AS (SELECT 1) SELECT * FROM x": "is not an INSERT",
			"/* delete from t */ SELECT * FROM t":  "is not an INSERT",
			"DROP TABLE t":                         "syntax",
			"TRUNCATE TABLE t":                     "syntax",
			"ANALYZE DELETE FROM t":                "syntax",
			"DELETE FROM t; DELETE FROM t":         "syntax",
			"INSERT INTO t VALUES (1)":             "Column count doesn't match",
			"INSERT INTO t SELECT a, x, 1 FROM t":  "Column count doesn't match",
			"CREATE TABLE u AS SELECT * FROM t":    "syntax",
			"UPDATE t SET x = nonsense(a)":         "nonsense",
			"":                                     "",
		} {
			_, err := s.ExplainStatement(t.Context(), bad)
			require.ErrorContains(t, err, says, bad)
			require.NotNil(t, fault.Of(err), "%s: %v", bad, err)
			require.Equal(t, task.Config, fault.Of(err).Class, bad)
		}
		require.EqualValues(t, 1, s.count(t, s.describe(t, "t"), engine.Range{}), "nothing was run")
	})
}
