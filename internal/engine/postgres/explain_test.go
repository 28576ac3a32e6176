package postgres

import (
	"testing"

	"github.com/stretchr/testify/require"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/task"
)

func TestARangeThatTheServerWouldReadTheWholeTableForIsRefused(t *testing.T) {
	s := open(t, "CREATE TABLE public.t (a int, b text, x text, PRIMARY KEY (a, b)) WITH (autovacuum_enabled = off)",
		"INSERT INTO public.t SELECT n % 10, n, repeat('x', 100) FROM generate_series(1, 20000) n",
		"CREATE TABLE public.other (n int)", "INSERT INTO public.other SELECT generate_series(1, 50000)")
	keyed := table(t, s, "public.t")
	require.NoError(t, s.ExplainRange(t.Context(), engine.Select{Table: keyed}))
	require.NoError(t, s.ExplainRange(t.Context(), engine.Select{Table: keyed, Where: "x = 'y' OR b LIKE '%5'"}), "the key's index is used all the same")
	require.NoError(t, s.ExplainRange(t.Context(), engine.Select{Table: keyed, Where: "false"}))
	require.NoError(t, s.ExplainRange(t.Context(), engine.Select{Table: keyed, Where: "a IN (SELECT n FROM public.other)"}), "how another table is read is the user's business")
	execute(t, s, "ANALYZE public.t", "CREATE INDEX ON public.t (x)")
	require.NoError(t, s.ExplainRange(t.Context(), engine.Select{Table: keyed, Where: "x = 'y'"}))
	require.ErrorContains(t, s.ExplainRange(t.Context(), engine.Select{Table: keyed, Where: "missing = 1"}), "missing")

	execute(t, s, "ALTER TABLE public.t DROP CONSTRAINT t_pkey")
	err := s.ExplainRange(t.Context(), engine.Select{Table: keyed})
	require.ErrorContains(t, err, "public.t: the server does not use an index for the range after (2, ")
	require.ErrorContains(t, err, "it plans a seq scan of t: look whether key t_pkey is still there")
	require.Equal(t, task.Config, fault.Of(err).Class)
	err = s.ExplainRange(t.Context(), engine.Select{Table: table(t, s, "public.t")})
	require.ErrorContains(t, err, "public.t has no key to cut ranges by")
	require.Equal(t, task.Config, fault.Of(err).Class)

	execute(t, s, "DELETE FROM public.t WHERE b > '11'", "VACUUM FULL public.t")
	require.NoError(t, s.ExplainRange(t.Context(), engine.Select{Table: table(t, s, "public.t")}), "a small table is read as it comes")
	require.Equal(t, "on", value[string](t, s, "SELECT current_setting('enable_seqscan')"))
}

func TestARangeOfPartitionsUsesTheirIndexes(t *testing.T) {
	s := open(t, "CREATE TABLE public.t (id int, part int, PRIMARY KEY (id, part)) PARTITION BY LIST (part)",
		"CREATE TABLE public.t0 PARTITION OF public.t FOR VALUES IN (0)", "CREATE TABLE public.t1 PARTITION OF public.t FOR VALUES IN (1)", "CREATE TABLE public.t2 PARTITION OF public.t DEFAULT",
		"INSERT INTO public.t SELECT n, n % 2 FROM generate_series(1, 30000) n")
	keyed := table(t, s, "public.t")
	require.NoError(t, s.ExplainRange(t.Context(), engine.Select{Table: keyed}))
	execute(t, s, "ALTER TABLE public.t DROP CONSTRAINT t_pkey")
	require.ErrorContains(t, s.ExplainRange(t.Context(), engine.Select{Table: keyed}), "it plans a seq scan of t")
}

func TestAStatementThatReadsAWholeTableForEveryRangeIsWarnedOf(t *testing.T) {
	s := open(t, "CREATE TABLE public.t (id int PRIMARY KEY, other int, x text)", "CREATE TABLE public.big (n int, v text)", "CREATE TABLE public.small (n int, v text)",
		"CREATE TABLE public.kept (id int, x text)", "INSERT INTO public.t SELECT n, n, 'x' FROM generate_series(1, 50000) n",
		"INSERT INTO public.big SELECT n, 'v' FROM generate_series(1, 60000) n", "INSERT INTO public.small VALUES (1, 'v')", "ANALYZE")
	for _, quiet := range []string{
		"UPDATE public.t SET x = 'y' WHERE id > 100 AND id <= 200",
		"DELETE FROM public.t WHERE id > 100 AND id <= 200;",
		"INSERT INTO public.kept SELECT id, x FROM public.t WHERE id > 100 AND id <= 200",
		"INSERT INTO public.kept SELECT t.id, v FROM public.t JOIN public.small s ON s.n = t.other WHERE t.id > 100 AND t.id <= 200",
		"WITH gone AS (DELETE FROM public.t WHERE id > 100 AND id <= 200 RETURNING id, x) INSERT INTO public.kept SELECT * FROM gone",
		"DELETE FROM public.small WHERE n = 1 -- a comment",
	} {
		warning, err := s.ExplainStatement(t.Context(), quiet)
		require.NoError(t, err, quiet)
		require.Empty(t, warning, quiet)
	}
	loud := map[string]string{
		"UPDATE public.t SET x = 'y' WHERE other > 100 AND other <= 200":                                                   "reads all of public.t (about 50000 rows) for every range",
		"UPDATE public.t SET x = v FROM public.big b WHERE b.n = t.other AND id > 100 AND id <= 200":                       "reads all of public.big (about 60000 rows)",
		"INSERT INTO public.kept SELECT a.n, a.v FROM public.big a JOIN public.big b USING (n) JOIN public.t ON other = n": "for every range",
	}
	if value[int](t, s, "SELECT current_setting('server_version_num')::int") >= 150000 {
		loud["MERGE INTO public.kept k USING (SELECT * FROM public.t WHERE other < 9) t ON k.id = t.id WHEN NOT MATCHED THEN INSERT VALUES (t.id, t.x)"] = "reads all of public.t ("
	}
	for loud, says := range loud {
		warning, err := s.ExplainStatement(t.Context(), loud)
		require.NoError(t, err, loud)
		require.Contains(t, warning, says, loud)
	}
	for bad, says := range map[string]string{
		"UPDATE public.missing SET x = 1":                     `relation "public.missing" does not exist`,
		"UPDATE public.t SET x = 'y' WHERE id > :low":         "syntax error",
		"UPDATE public.t SET x = 'y' WHERE id > $1":           "it has a parameter",
		"SELECT * FROM public.t":                              "is not an INSERT, UPDATE, DELETE or MERGE",
		"DROP TABLE public.t":                                 "syntax error",
		"ANALYZE DELETE FROM public.t":                        "syntax error",
		"(ANALYZE) DELETE FROM public.t":                      "syntax error",
		"DELETE FROM public.small; DELETE FROM public.small":  "multiple commands",
		"CREATE TABLE public.u AS SELECT * FROM public.t":     "is not an INSERT",
		"EXECUTE missing":                                     `"missing" does not exist`,
		"INSERT INTO public.kept VALUES ('not a number', '')": "invalid input syntax",
		"": "syntax error",
	} {
		_, err := s.ExplainStatement(t.Context(), bad)
		require.ErrorContains(t, err, says, bad)
		require.Equal(t, task.Config, fault.Of(err).Class, bad)
	}
	require.Equal(t, 50_001, value[int](t, s, "SELECT (SELECT count(*) FROM public.t) + (SELECT count(*) FROM public.small)"), "nothing was run")
}
