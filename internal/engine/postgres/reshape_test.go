package postgres

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"godwit/internal/engine"
)

// offenders runs the tests of a plan and counts the rows that each has found.
func offenders(t *testing.T, s *Server, r *engine.Reshaping) map[string]int {
	t.Helper()
	found := map[string]int{}
	for _, test := range r.Tests {
		rows, err := s.Query(t.Context(), test.Rows+" LIMIT 100")
		require.NoError(t, err, test.Rows)
		n := 0
		for rows.Next() {
			n++
		}
		require.NoError(t, rows.Close(), test.Rows)
		if n > 0 {
			found[test.What] = n
		}
	}
	return found
}

func TestARowThatTheNewFormHasNoPlaceForOrWouldChangeIsFoundBeforehand(t *testing.T) {
	for i, c := range []struct {
		column, values, alter string
		rows                  int
	}{
		{"c text", "('a'), (NULL)", "ALTER c SET NOT NULL, ALTER n TYPE bigint", 1},
		{"c bigint", "(1), (2147483647), (2147483648), (-99999999999)", "ALTER c TYPE int", 2},
		{"c numeric", "(1), (1.5), (1e30), ('NaN'), (32767)", "ALTER c TYPE smallint", 3},
		{"c numeric", "(1.25), (1.255), (12345.5), ('NaN')", "ALTER c TYPE numeric(6,2)", 3},
		{"c numeric(10,2)", "(1.25), (99999999.99)", "ALTER c TYPE numeric(12,3)", 0},
		{"c int", "(5), (100000)", "ALTER c TYPE numeric(7,2)", 1},
		{"c text", "('abc'), ('abcd'), ('äöü')", "ALTER c TYPE varchar(3)", 1},
		{"c varchar(20)", "('abc'), ('ab '), ('abcd')", "ALTER c TYPE char(3)", 2},
		{"c int", "(123), (1234)", "ALTER c TYPE varchar(3)", 1},
		{"c timestamp", "('2024-01-01 00:00:00.5'), ('2024-01-01')", "ALTER c TYPE timestamp(0)", 1},
		{"c timestamp", "('2024-01-01 10:00'), ('2024-01-01')", "ALTER c TYPE date", 1},
		{"c float8", "(0.5), (0.1), (1e300)", "ALTER c TYPE real", 2},
		{"c float8", "(7), (7.5), (1e300), ('NaN')", "ALTER c TYPE int", 3},
		{"c bigint", "(1), (9007199254740993)", "ALTER c TYPE float8", 1},
		{"c text", "('a'), ('b'), ('a'), (NULL), (NULL)", "ADD UNIQUE (c), ALTER n TYPE bigint", 2},
		{"c text UNIQUE", "('a'), ('A')", "ALTER c TYPE text COLLATE public.same", 2},
		{"c text UNIQUE", "('a1'), ('a2')", "ALTER c TYPE char(1) USING left(c, 1)", 2},
		{"c int", "(1), (-1), (NULL)", "ADD CHECK (c > 0), ALTER n TYPE bigint", 1},
		{"c int CHECK (c < 10)", "(1), (5)", "ALTER c TYPE bigint USING c * 3", 1},
		{"c int", "(1), (2)", "ADD FOREIGN KEY (c) REFERENCES public.parents (id), ALTER n TYPE bigint", 1},
		{"c int", "(1), (NULL)", "ALTER c TYPE bigint, ALTER c SET NOT NULL", 1},
		{"c json", `('{"a": 1, "a": 2}')`, "ALTER c TYPE jsonb", 0},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			s := opened(t, "CREATE COLLATION same (provider = icu, locale = 'und-u-ks-level2', deterministic = false)", "CREATE TABLE parents (id int PRIMARY KEY)", "INSERT INTO parents VALUES (1)",
				"CREATE TABLE things (id serial PRIMARY KEY, n int, "+c.column+")", "INSERT INTO things (c) VALUES "+c.values)
			r, err := reshape(t, s, "public.things", c.alter, nil)
			require.NoError(t, err)
			total := 0
			for _, n := range offenders(t, s, r) {
				total += n
			}
			require.Equal(t, c.rows, total, "%v", offenders(t, s, r))
		})
	}
}

func TestWhatBecomesOfEachColumnIsSaidAndNotGuessed(t *testing.T) {
	s := opened(t, "CREATE TABLE things (id int PRIMARY KEY, a int, b text NOT NULL, at timestamp, g int GENERATED ALWAYS AS (a * 2) STORED)")
	for _, c := range []struct {
		alter            string
		renames, columns map[string]string
		says             string
	}{
		{alter: "RENAME a TO z", says: "renames: {a: z}"},
		{alter: "RENAME COLUMN a TO z", renames: map[string]string{"a": "y"}, says: "a becomes y, but the ALTER says z"},
		{alter: "ALTER b TYPE varchar(9)", renames: map[string]string{"a": "y"}, says: "the ALTER does not say so"},
		{alter: "ALTER b TYPE varchar(9)", renames: map[string]string{"iid": "y"}, says: `did you mean "id"?`},
		{alter: "ALTER b TYPE varchar(9)", columns: map[string]string{"bb": "1"}, says: "there are id, a, b"},
		{alter: "ALTER b TYPE varchar(9)", columns: map[string]string{"g": "1"}, says: "generated"},
		{alter: "ALTER b TYPE varchar(9)", columns: map[string]string{"b": "no_such(a)"}, says: "the server refuses"},
		{alter: "ADD COLUMN x int NOT NULL", says: "columns: {x: …}"},
		{alter: "ALTER at TYPE timestamptz", says: "AT TIME ZONE"},
		{alter: "DROP COLUMN id", says: "is of the key"},
		{alter: "ALTER id TYPE bigint USING id + 1", says: "cannot get another value"},
		{alter: "ALTER b TYPE int", says: "the server refuses"},
	} {
		_, err := reshape(t, s, "public.things", c.alter, func(want *engine.Reshape) { want.Renames, want.Columns = c.renames, c.columns })
		require.ErrorContains(t, err, c.says, c.alter)
	}
}

func TestRowsAreMadeInTheNewFormAndInTheOldOneAgain(t *testing.T) {
	s := opened(t, "CREATE TABLE things (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, a int, b text NOT NULL DEFAULT 'none', c text, at timestamp)",
		"INSERT INTO things (a, b, c, at) SELECT i, 'b' || i, 'c' || i, '2024-06-01 12:00' FROM generate_series(1, 5) i")
	r := reshaped(t, s, "public.things", "ALTER at TYPE timestamptz USING at AT TIME ZONE 'UTC', RENAME COLUMN a TO z, DROP COLUMN b, ADD COLUMN x int NOT NULL, ADD COLUMN r float8 DEFAULT random(), ADD COLUMN s bigserial", func(want *engine.Reshape) {
		want.Renames, want.Columns = map[string]string{"a": "z"}, map[string]string{"x": "a * 10"}
	})
	require.Empty(t, r.OneWay)
	require.Equal(t, []string{"b", "at"}, r.Reverse.Kept)
	require.NoError(t, swap(t, s, &engine.Swap{Reshaping: r}))
	require.Equal(t, "3|30|c3|2024-06-01 12:00:00+00", value[string](t, s, "SELECT concat_ws('|', z, x, c, at AT TIME ZONE 'UTC' || '+00') FROM public.things WHERE id = 3"))
	require.Equal(t, int64(5), value[int64](t, s, "SELECT count(DISTINCT s) FROM public.things WHERE r BETWEEN 0 AND 1"))
	require.NoError(t, s.DropCapture(t.Context(), r.Capture))
	public(t, s, "INSERT INTO things (z, x) VALUES (7, 7)", "SELECT nextval('things_s_seq')")
	require.Equal(t, int64(6), value[int64](t, s, "SELECT max(id)::bigint FROM public.things"))
}

func TestNoWayBackIsSaidBeforehand(t *testing.T) {
	s := opened(t, "CREATE TABLE things (id int PRIMARY KEY, must text NOT NULL, n int)")
	r, err := reshape(t, s, "public.things", "DROP COLUMN must", nil)
	require.NoError(t, err)
	require.Contains(t, r.OneWay, "must")
	require.Nil(t, r.Reverse)
}
