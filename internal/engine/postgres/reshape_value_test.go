package postgres

import (
	"testing"

	"github.com/stretchr/testify/require"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/task"
)

func TestNamesInTheUsersTextsMeanWhatTheyMeanToTheUser(t *testing.T) {
	s := opened(t, "CREATE TYPE mood AS ENUM ('sad', 'ok')", "CREATE SCHEMA tools", "CREATE FUNCTION twice(int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT $1 * 2'",
		"CREATE FUNCTION tools.same(text, text) RETURNS boolean IMMUTABLE LANGUAGE sql AS 'SELECT pg_catalog.lower($1) OPERATOR(pg_catalog.=) pg_catalog.lower($2)'",
		"CREATE OPERATOR tools.=== (LEFTARG = text, RIGHTARG = text, FUNCTION = tools.same)",
		"CREATE TABLE things (id int PRIMARY KEY, feeling text, a int)", "INSERT INTO things VALUES (1, 'ok', 5), (2, 'sad', 6)")
	execute(t, s, "ALTER DATABASE "+value[string](t, s, "SELECT current_database()::text")+" SET search_path = tools, public")
	s = connect(t, value[string](t, s, "SELECT current_database()::text"), "")
	r := reshaped(t, s, "public.things", "ALTER feeling TYPE mood USING feeling::mood, ADD COLUMN b int NOT NULL, ADD COLUMN c boolean, ADD COLUMN d mood, ADD COLUMN e int", func(want *engine.Reshape) {
		want.Columns = map[string]string{"b": "twice(a)", "c": "feeling === 'OK'", "d": "'sad'", "e": "(SELECT max(o.a) FROM things o WHERE o.id >= things.id)"}
	})
	same, err := s.Compare(t.Context(), s, r, engine.Part{}, nil)
	require.NoError(t, err)
	require.True(t, same.Same())
	require.NoError(t, swap(t, s, &engine.Swap{Reshaping: r}))
	require.Equal(t, "ok|10|true|sad|6", value[string](t, s, "SELECT concat_ws('|', feeling, b, c::text, d, e) FROM public.things WHERE id = 1"))
}

func TestAnExpressionThatIsNotOneValueForEachRowIsRefused(t *testing.T) {
	s := opened(t, "CREATE TABLE things (id int PRIMARY KEY, a int)")
	for _, expr := range []string{"count(*)", "generate_series(1, 2)", "rank() OVER ()", "a, a", "a) + (a), (a"} {
		_, err := reshape(t, s, "public.things", "ADD COLUMN b bigint", func(want *engine.Reshape) { want.Columns = map[string]string{"b": expr} })
		require.ErrorContains(t, err, "the server refuses", expr)
	}
}

func TestAFunctionThatFindsNothingWithoutASearchPathIsRefusedByName(t *testing.T) {
	s := opened(t, "CREATE TABLE codes (code text PRIMARY KEY)", "INSERT INTO codes VALUES ('a')", "CREATE FUNCTION known(text) RETURNS boolean LANGUAGE plpgsql AS 'BEGIN RETURN EXISTS (SELECT FROM codes WHERE code = $1); END'",
		"CREATE TABLE things (id int PRIMARY KEY, code text CHECK (known(code)), a int)", "INSERT INTO things VALUES (1, 'a', 1)")
	_, err := reshape(t, s, "public.things", "ALTER a TYPE bigint", nil)
	require.ErrorContains(t, err, `relation "codes" does not exist`)
	require.ErrorContains(t, err, "ALTER FUNCTION")
	require.Equal(t, task.Config, fault.Of(err).Class)
	public(t, s, "ALTER FUNCTION known SET search_path = public")
	reshaped(t, s, "public.things", "ALTER a TYPE bigint", nil)
}
