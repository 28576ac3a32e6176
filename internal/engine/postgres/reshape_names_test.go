package postgres

import (
	"testing"

	"github.com/stretchr/testify/require"

	"godwit/internal/engine"
)

func TestAColumnThatGetsTheNameOfAnotherOneKeepsItsValues(t *testing.T) {
	for _, c := range []struct {
		alter   string
		renames map[string]string
		query   string
		want    string
	}{
		{"DROP COLUMN a, RENAME COLUMN b TO a, ALTER n TYPE bigint", map[string]string{"b": "a"}, "SELECT concat_ws('|', a, c) FROM public.things WHERE id = 3", "30|300"},
		{"RENAME COLUMN a TO z, RENAME COLUMN b TO a, RENAME COLUMN z TO b", map[string]string{"a": "b", "b": "a"}, "SELECT concat_ws('|', a, b, c) FROM public.things WHERE id = 3", "30|3|300"},
		{"ALTER b TYPE bigint USING b * 2, RENAME COLUMN b TO d, RENAME COLUMN a TO b", map[string]string{"a": "b", "b": "d"}, "SELECT concat_ws('|', b, d, c) FROM public.things WHERE id = 3", "3|60|300"},
		{"RENAME COLUMN a TO y, RENAME COLUMN y TO z", map[string]string{"a": "z"}, "SELECT concat_ws('|', z, b, c) FROM public.things WHERE id = 3", "3|30|300"},
	} {
		t.Run(c.alter, func(t *testing.T) {
			s := opened(t, "CREATE TABLE things (id int PRIMARY KEY, a int, b int, c int, n int)", "INSERT INTO things SELECT i, i, i * 10, i * 100, i FROM generate_series(1, 5) i")
			r := reshaped(t, s, "public.things", c.alter, func(want *engine.Reshape) { want.Renames = c.renames })
			require.NoError(t, swap(t, s, &engine.Swap{Reshaping: r}))
			require.Equal(t, c.want, value[string](t, s, c.query))
			require.NoError(t, s.DropCapture(t.Context(), r.Capture))
			if r.Reverse == nil {
				return
			}
			public(t, s, "UPDATE things SET n = 7 WHERE id = 4")
			require.NoError(t, drainAll(t.Context(), s, s, live(r).Capture, r.Reverse))
			require.NoError(t, swap(t, s, &engine.Swap{Reshaping: r, Back: true}))
			require.Equal(t, "30|300|3", value[string](t, s, "SELECT concat_ws('|', b, c, n) FROM public.things WHERE id = 3"), "and has them again")
		})
	}
}

func TestAnExpressionOverColumnsThatHaveOtherNamesByThenIsRefused(t *testing.T) {
	s := opened(t, "CREATE TABLE things (id int PRIMARY KEY, a int, b int)")
	_, err := reshape(t, s, "public.things", "DROP COLUMN a, RENAME COLUMN b TO a, ALTER a TYPE bigint USING a * 2", func(want *engine.Reshape) { want.Renames = map[string]string{"b": "a"} })
	require.ErrorContains(t, err, "write it before that")
}
