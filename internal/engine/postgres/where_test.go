package postgres

import (
	"testing"

	"github.com/stretchr/testify/require"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/task"
)

func TestAConditionIsTriedBeforeAnythingIsRead(t *testing.T) {
	s := open(t, "CREATE TABLE public.t (a int PRIMARY KEY, b varchar(10))")
	for _, good := range []string{"a > 0", "b = ')'", "a = 1 -- a comment", "a = 1 OR b = 'x'", "a = '7'", "EXISTS (SELECT FROM public.t o WHERE o.a = t.a + 1)", "b = $$)$$", "(a, b) > (1, 'x')"} {
		require.NoError(t, s.CheckWhere(t.Context(), tableT, good), good)
	}
	for bad, says := range map[string]string{
		"c = 1":                       `column "c" does not exist`,
		"a = ":                        "syntax error",
		"a = 1) OR (1 = 1":            "syntax error",
		"a = 1 /* open":               "unterminated /* comment",
		"a = 1; DELETE FROM public.t": "syntax error",
		"a = 1); DELETE FROM public.t; SELECT (1": "multiple commands",
		"true ORDER BY a":                         "syntax error",
		"a END OR CASE WHEN TRUE THEN a":          "syntax error",
		"a":                                       "must be type boolean",
		"a = 'x'":                                 "invalid input syntax for type integer",
		"count(*) > 1":                            "aggregate functions are not allowed in WHERE",
		"a > $1":                                  "it has a parameter ($1)",
		"b = 'x\x00y'":                            "zero byte",
		"":                                        "syntax error",
		"now() > a":                               "operator does not exist",
	} {
		err := s.CheckWhere(t.Context(), tableT, bad)
		require.ErrorContains(t, err, "where of public.t", bad)
		require.ErrorContains(t, err, says, bad)
		require.Equal(t, task.Config, fault.Of(err).Class, bad)
	}
	require.ErrorContains(t, s.CheckWhere(t.Context(), engine.ParseName("public.missing"), "true"), `relation "public.missing" does not exist`)
	requireAllGivenBack(t, s)
}

func TestAnExpressionForAColumnIsTriedBeforeAnythingIsWritten(t *testing.T) {
	s := open(t, "CREATE TYPE public.mood AS ENUM ('well', 'ill')",
		"CREATE TABLE public.t (id int PRIMARY KEY, n int, v varchar(5), at timestamptz, m public.mood, j jsonb, doubled int GENERATED ALWAYS AS (n * 2) STORED, \"a \"\"b\" int)",
		"INSERT INTO public.t (id, n, v) VALUES (1, 2, 'x')")
	for _, good := range [][2]string{{"n", "n * 100"}, {"n", "'7'"}, {"n", "NULL"}, {"n", "n -- a comment"}, {"n", "(SELECT max(id) FROM public.t)"}, {"n", "1.5"}, {"v", "n::text"}, {"v", "'too long for it'"},
		{"v", "CASE WHEN n IN (1, 2) THEN 'a,b' ELSE ')' END"}, {"at", "now()"}, {"m", "'ill'"}, {"j", `'{"a": 1}'`}, {"n", "t.id"}, {"n", "coalesce(n, 0, 1)"}, {`a "b`, "1"}} {
		require.NoError(t, s.CheckExpr(t.Context(), tableT, good[0], good[1]), good)
	}
	for _, c := range []struct{ column, expr, says string }{
		{"n", "missing + 1", `column "missing" does not exist`},
		{"missing", "1", `column "missing" of relation "t" does not exist`},
		{"n", "now()", `column "n" is of type integer but expression is of type timestamp with time zone`},
		{"n", "'x'", "invalid input syntax for type integer"},
		{"m", "'bored'", "invalid input value for enum"},
		{"m", "v", "is of type public.mood but expression is of type character varying"},
		{"n", "sum(n)", "aggregate functions are not allowed in UPDATE"},
		{"n", "row_number() OVER ()", "window functions are not allowed in UPDATE"},
		{"n", "generate_series(1, 2)", "set-returning functions are not allowed in UPDATE"},
		{"n", "1, 2", "is of type integer but expression is of type record"},
		{"n", "1), v = ('x'", "syntax error"},
		{"n", "1; DELETE FROM public.t", "syntax error"},
		{"n", "1); DELETE FROM public.t; SELECT (1", "multiple commands"},
		{"n", "SELECT 1", "syntax error"},
		{"n", "DEFAULT", "DEFAULT"},
		{"n", "$1", "it has a parameter"},
		{"n", "1) WHERE (false", "syntax error"},
		{"n", "", "syntax error"},
		{"doubled", "3", `column "doubled" can only be updated to DEFAULT`},
		{"n", "upper(v", "syntax error"},
		{"n", "1 /*", "unterminated /* comment"},
	} {
		err := s.CheckExpr(t.Context(), tableT, c.column, c.expr)
		require.ErrorContains(t, err, "set of public.t."+c.column, c.expr)
		require.ErrorContains(t, err, c.says, c.expr)
		require.Equal(t, task.Config, fault.Of(err).Class, c.expr)
	}
	require.Equal(t, 2, value[int](t, s, "SELECT n FROM public.t"))
}
