package postgres

import (
	"testing"

	"github.com/stretchr/testify/require"

	"godwit/internal/engine"
)

func numberKey(text string) engine.Key { return engine.Key{{Kind: engine.NumberKey, Value: text}} }

func TestComparisonFindsEveryWayInWhichACopyCanBeWrong(t *testing.T) {
	s := opened(t, "CREATE TABLE things (id int PRIMARY KEY, n int, d numeric, f float8, t text, c char(5), j json, b jsonb, p point, a int[], ts timestamptz, raw bytea)",
		`INSERT INTO things SELECT i, i, 1.0, 0, 'x', 'ab', '{"a":1}', '{"a":1.0}', '(1,2)', '{1,2}', '2024-01-01', '\x00' FROM generate_series(1, 50) i`)
	for _, c := range []struct{ damage, what, column string }{
		{"SET n = 7", "different", "n"}, {"SET n = NULL", "different", "n"}, {"SET d = 1.00", "different", "d"}, {"SET f = '-0'", "different", "f"}, {"SET t = 'X'", "different", "t"}, {"SET t = ''", "different", "t"},
		{"SET j = '{\"a\": 1}'", "different", "j"}, {"SET b = '{\"a\":1.00}'", "different", "b"}, {"SET p = '(1,3)'", "different", "p"}, {"SET a = '{1,NULL}'", "different", "a"}, {"SET ts = ts + interval '1us'", "different", "ts"}, {"SET raw = '\\x'", "different", "raw"},
		{"SET id = 1000", "missing", ""},
	} {
		r := reshaped(t, s, "public.things", "ALTER n TYPE bigint", func(want *engine.Reshape) { want.KeepOld = false })
		execute(t, s, `UPDATE public."things__gw_new" `+c.damage+" WHERE id = 33")
		for _, part := range []engine.Part{{Within: engine.Range{After: numberKey("30"), Until: numberKey("40")}}, {Within: engine.Range{After: numberKey("30")}}, {Keys: []engine.Key{numberKey("33"), numberKey("34")}}, {}} {
			found, err := s.Compare(t.Context(), s, r, part, nil)
			require.NoError(t, err)
			require.EqualValues(t, 1, found.Wrong, "%s %+v", c.damage, found)
			rows, err := s.Disagreements(t.Context(), s, r, part, nil, 5)
			require.NoError(t, err)
			require.NotEmpty(t, rows)
			row := rows[0]
			if row.What == "extra" {
				row = rows[1]
			}
			require.Equal(t, c.what, row.What)
			require.Equal(t, numberKey("33"), row.Key)
			if c.column != "" {
				require.Len(t, row.Columns, 1)
				require.Equal(t, c.column, row.Columns[0].Column)
			}
			found, err = s.Compare(t.Context(), s, r, part, []engine.Key{numberKey("33"), numberKey("1000")})
			require.NoError(t, err)
			require.True(t, found.Same(), "left out: %+v", found)
		}
		require.NoError(t, s.DropCapture(t.Context(), r.Capture))
		require.NoError(t, s.DropBeside(t.Context(), r, r.Shadow))
	}
}

func TestCopiesOfNoRowAreFoundAlsoWhereTheOrderOfTheKeyChanges(t *testing.T) {
	s := opened(t, "CREATE TABLE words (word text PRIMARY KEY, n int)", "INSERT INTO words SELECT 'w' || i, i FROM generate_series(1, 50) i")
	for _, alter := range []string{"ALTER n TYPE bigint", `ALTER word TYPE text COLLATE "C"`} {
		r := reshaped(t, s, "public.words", alter, func(want *engine.Reshape) { want.KeepOld = false })
		execute(t, s, `INSERT INTO public."words__gw_new" VALUES ('extra', 1)`)
		low, high := engine.Range{Until: engine.Key{{Kind: engine.TextKey, Value: "w25"}}}, engine.Range{After: engine.Key{{Kind: engine.TextKey, Value: "w25"}}}
		var rows, copies, wrong int64
		var listed []engine.Disagreement
		for _, within := range []engine.Range{low, high} {
			found, err := s.Compare(t.Context(), s, r, engine.Part{Within: within}, nil)
			require.NoError(t, err)
			rows, copies, wrong = rows+found.Rows, copies+found.Copies, wrong+found.Wrong
			list, err := s.Disagreements(t.Context(), s, r, engine.Part{Within: within}, nil, 5)
			require.NoError(t, err)
			listed = append(listed, list...)
		}
		require.EqualValues(t, []int64{50, 51, 0}, []int64{rows, copies, wrong}, alter)
		require.Len(t, listed, 1)
		require.Equal(t, "extra", listed[0].What)
		require.Equal(t, "extra", listed[0].Key[0].Value)
		require.NoError(t, s.DropCapture(t.Context(), r.Capture))
		require.NoError(t, s.DropBeside(t.Context(), r, r.Shadow))
	}
}

func TestASteadySessionSeesOneMoment(t *testing.T) {
	s := opened(t, "CREATE TABLE n (id int)")
	conn, err := s.Acquire(t.Context())
	require.NoError(t, err)
	defer conn.Destroy()
	count := func(q engine.Querier) (n int) {
		require.NoError(t, readOne(t.Context(), q, "SELECT count(*) FROM public.n", &n))
		return n
	}
	for _, steady := range []bool{false, true} {
		if steady {
			for _, statement := range s.Steady() {
				_, err := conn.Exec(t.Context(), statement)
				require.NoError(t, err)
			}
		}
		tx, err := conn.Begin(t.Context())
		require.NoError(t, err)
		before := count(tx)
		execute(t, s, "INSERT INTO public.n VALUES (1)")
		require.Equal(t, steady, before == count(tx))
		require.NoError(t, tx.Rollback(t.Context()))
	}
}

func TestPartsOfABigTableAreComparedAndTheRowsThatAreLeftOutAreNotCounted(t *testing.T) {
	s := opened(t, "CREATE TABLE big (id int PRIMARY KEY, n int, price numeric(10,2), note text, at timestamptz DEFAULT now())",
		"INSERT INTO big SELECT i, i, i, repeat('x', 120) FROM generate_series(1, 100000) i")
	execute(t, s, "VACUUM ANALYZE public.big")
	r := reshaped(t, s, "public.big", "ALTER n TYPE bigint", func(want *engine.Reshape) { want.KeepOld = false })
	require.NoError(t, s.FreshenShadow(t.Context(), r))
	for _, c := range []struct {
		part engine.Part
		rows int64
	}{
		{engine.Part{}, 99_999},
		{engine.Part{Within: engine.Range{After: numberKey("25000"), Until: numberKey("50000")}}, 25_000},
		{engine.Part{Keys: []engine.Key{numberKey("3"), numberKey("99999")}}, 1},
	} {
		found, err := s.Compare(t.Context(), s, r, c.part, []engine.Key{numberKey("3")})
		require.NoError(t, err)
		require.Equal(t, engine.Compared{Rows: c.rows, Copies: c.rows}, found)
	}
}

func TestARowThatIsTwiceInACopyThatWouldTakeItIsFound(t *testing.T) {
	s := opened(t, "CREATE TABLE things (id int PRIMARY KEY, n int)", "INSERT INTO things (id) SELECT generate_series(1, 5)")
	r := reshaped(t, s, "public.things", "DROP CONSTRAINT things_pkey, ADD UNIQUE (id, n)", nil)
	execute(t, s, "INSERT INTO public.things__gw_new VALUES (3, NULL)")
	found, err := s.Compare(t.Context(), s, r, engine.Part{}, nil)
	require.NoError(t, err)
	require.False(t, found.Same(), "%+v", found)
	rows, err := s.Disagreements(t.Context(), s, r, engine.Part{}, nil, 10)
	require.NoError(t, err)
	require.Len(t, rows, 1)
	require.Equal(t, "extra", rows[0].What)
	require.Equal(t, "3", rows[0].Key[0].Value)
}
