package postgres

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheKeyIsOneThatTheServerComparesAsItIsOrdered(t *testing.T) {
	s := open(t, "CREATE EXTENSION citext SCHEMA public", "CREATE TYPE public.mood AS ENUM ('well', 'ill')",
		"CREATE DOMAIN public.outside AS varchar(9)", "CREATE DOMAIN public.inside AS public.outside", "CREATE DOMAIN public.weight AS float8",
		"CREATE COLLATION public.folded (provider = icu, locale = 'und-u-ks-level2', deterministic = false)")
	for _, c := range []struct {
		name, definition string
		index            string
		key              []string
		problem          string
	}{
		{name: "primary key", definition: "a int, b int UNIQUE NOT NULL, PRIMARY KEY (b, a)", key: []string{"b", "a"}},
		{name: "narrowest unique key", definition: "a int NOT NULL, b int NOT NULL, c int NOT NULL, UNIQUE (a, b), UNIQUE (c)", key: []string{"c"}},
		{name: "nullable", definition: "a int UNIQUE", problem: "key t_a_key allows NULL in column a"},
		{name: "partial", definition: "a int NOT NULL", index: "CREATE UNIQUE INDEX i ON public.t (a) WHERE a > 0", problem: "key i is partial"},
		{name: "expression", definition: "a int NOT NULL", index: "CREATE UNIQUE INDEX i ON public.t ((a + 1))", problem: "key i is on an expression"},
		{name: "with included columns", definition: "a int NOT NULL, b int", index: "CREATE UNIQUE INDEX i ON public.t (a) INCLUDE (b)", key: []string{"a"}},
		{name: "both orders", definition: "a int NOT NULL, b int NOT NULL", index: "CREATE UNIQUE INDEX i ON public.t (a, b DESC)", problem: "key i mixes ascending and descending columns"},
		{name: "deferrable", definition: "a int PRIMARY KEY DEFERRABLE", problem: "key t_pkey is deferrable"},
		{name: "another operator class", definition: "a text NOT NULL", index: "CREATE UNIQUE INDEX i ON public.t (a text_pattern_ops)", problem: "key i orders column a by an operator class that is not the default"},
		{name: "another collation", definition: `a text NOT NULL`, index: `CREATE UNIQUE INDEX i ON public.t (a COLLATE "POSIX")`, problem: "key i orders column a by another collation than the column's"},
		{name: "nondeterministic", definition: "a text COLLATE public.folded PRIMARY KEY", problem: "key t_pkey is on column a, whose collation folded is nondeterministic"},
		{name: "an extension's type", definition: "a public.citext PRIMARY KEY", problem: "key t_pkey orders column a by an operator class that is not the default of a type of the server's own"},
		{name: "an extension's type beside a good key", definition: "a public.citext PRIMARY KEY, b int NOT NULL UNIQUE", key: []string{"b"}},
		{name: "a domain of a domain", definition: "a public.inside PRIMARY KEY", key: []string{"a"}},
		{name: "a domain of a bad type", definition: "a public.weight PRIMARY KEY", problem: "key t_pkey is on column a, whose float8 values do not compare exactly"},
		{name: "floats", definition: "a real, b int, PRIMARY KEY (b, a)", problem: "key t_pkey is on column a, whose float4 values do not compare exactly"},
		{name: "floats beside a good key", definition: "a real PRIMARY KEY, b int NOT NULL, c uuid NOT NULL, UNIQUE (b, c)", key: []string{"b", "c"}},
		{name: "json", definition: "a jsonb PRIMARY KEY", problem: "key t_pkey is on column a, whose type jsonb has no order that can be cut"},
		{name: "an array", definition: "a int[] PRIMARY KEY", problem: "whose type _int4 has no order that can be cut"},
		{name: "a range", definition: "a int4range PRIMARY KEY", problem: "whose type int4range has no order"},
		{name: "an enum", definition: "a public.mood PRIMARY KEY", key: []string{"a"}},
		{name: "several problems", definition: "a real PRIMARY KEY, b int UNIQUE", problem: "key t_pkey is on column a, whose float4 values do not compare exactly; key t_b_key allows NULL in column b"},
		{name: "none", definition: "a int", problem: "there is no primary key and no unique key"},
	} {
		t.Run(c.name, func(t *testing.T) {
			execute(t, s, "DROP TABLE IF EXISTS public.t", "CREATE TABLE public.t ("+c.definition+")")
			if c.index != "" {
				execute(t, s, c.index)
			}
			got := table(t, s, "public.t")
			require.Equal(t, c.key, got.Key)
			if c.problem == "" {
				require.Empty(t, got.KeyProblem)
				return
			}
			require.Contains(t, got.KeyProblem, c.problem)
		})
	}
}

func TestAKeyOfATableThatOthersInheritFromIsNone(t *testing.T) {
	s := open(t, "CREATE TABLE public.t (a int PRIMARY KEY)", "CREATE TABLE public.child () INHERITS (public.t)", "INSERT INTO public.t VALUES (1)", "INSERT INTO public.child VALUES (1)")
	got := table(t, s, "public.t")
	require.Empty(t, got.Key)
	require.Equal(t, "other tables inherit from it, and its keys do not reach their rows", got.KeyProblem)
}

func TestAnIndexThatIsNotCompleteIsNoKey(t *testing.T) {
	s := open(t, "CREATE TABLE public.t (a int NOT NULL)", "INSERT INTO public.t VALUES (1), (1)")
	_, err := s.Exec(t.Context(), "CREATE UNIQUE INDEX CONCURRENTLY i ON public.t (a)")
	require.ErrorContains(t, err, "could not create unique index")
	require.Equal(t, "there is no primary key and no unique key", table(t, s, "public.t").KeyProblem)
}
