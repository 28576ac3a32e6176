package postgres

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"godwit/internal/engine"
	"godwit/internal/task"
)

func TestAValueThatTheServerWouldChangeWithoutAWordIsAnErrorThatShowsIt(t *testing.T) {
	for _, c := range []struct{ from, into, fits, not, says string }{
		{"numeric(10,2)", "numeric(10,0)", "7.00", "1.50", "c would be changed: 1.50"},
		{"numeric(10,2)", "bigint", "7.00", "1.50", "c would be changed: 1.50"},
		{"float8", "int", "7", "2.5", "c would be changed: 2.5"},
		{"float8", "real", "0.5", "0.1", "c would be changed: 0.1"},
		{"numeric", "float8", "1.500", "0.1234567890123456789", "c would be changed: 0.1234567890123456789"},
		{"bigint", "float8", "7", "9007199254740993", "c would be changed: 9007199254740993"},
		{"timestamp", "timestamp(0)", "2024-01-01 00:00:00", "2024-01-01 00:00:00.5", "c would be changed: 2024-01-01 00:00:00.5"},
		{"timestamp", "date", "2024-01-01 00:00:00", "2024-01-01 10:00:00", "c would be changed: 2024-01-01 10:00:00"},
		{"text", "varchar(3)", "abc", "ab   ", "c would be changed: ab   "},
		{"text", "varchar(3)", "abc", "abcd", "too long"},
		{"varchar(9)", "char(3)", "abc", "ab ", "c would be changed: ab "},
		{"bigint", "int", "7", "3000000000", "out of range"},
	} {
		t.Run(c.from+" to "+c.into+" "+c.not, func(t *testing.T) {
			s := opened(t, "CREATE TABLE things (id int PRIMARY KEY, c "+c.from+")", fmt.Sprintf("INSERT INTO things VALUES (1, '%s'), (2, NULL)", c.fits))
			r := reshaped(t, s, "public.things", "ALTER c TYPE "+c.into, nil)
			require.Empty(t, offenders(t, s, r))
			same, err := s.Compare(t.Context(), s, r, engine.Part{}, nil)
			require.NoError(t, err)
			require.Equal(t, engine.Compared{Rows: 2, Copies: 2}, same)
			public(t, s, fmt.Sprintf("INSERT INTO things VALUES (3, '%s')", c.not))
			err = drainAll(t.Context(), s, s, r.Capture, r.Forward)
			require.ErrorContains(t, err, c.says)
			class, _ := Classify(err)
			require.Equal(t, task.Data, class)
		})
	}
}

func TestNeitherIsAnyValueChangedOnTheWayBack(t *testing.T) {
	s := opened(t, "CREATE TABLE things (id int PRIMARY KEY, c int, at timestamp(0))", "INSERT INTO things VALUES (1, 7, '2024-01-01'), (2, 8, NULL)")
	r := reshaped(t, s, "public.things", "ALTER c TYPE numeric(12,2), ALTER at TYPE timestamp(3)", nil)
	require.NoError(t, swap(t, s, &engine.Swap{Reshaping: r}))
	require.NoError(t, s.DropCapture(t.Context(), r.Capture))
	back := live(r)
	public(t, s, "UPDATE things SET c = 1.5 WHERE id = 1")
	require.ErrorContains(t, drainAll(t.Context(), s, s, back.Capture, back.Forward), "c would be changed: 1.50")
	public(t, s, "UPDATE things SET c = 1, at = '2024-01-01 00:00:00.25' WHERE id = 1")
	require.ErrorContains(t, drainAll(t.Context(), s, s, back.Capture, back.Forward), "at would be changed: 2024-01-01 00:00:00.25")
	public(t, s, "UPDATE things SET at = '2024-01-02' WHERE id = 1")
	require.NoError(t, swap(t, s, &engine.Swap{Reshaping: r, Back: true, Locked: func(ctx context.Context, q engine.Querier) error {
		return drainAll(ctx, s, q, back.Capture, back.Forward)
	}}))
	require.Equal(t, "1|2024-01-02 00:00:00", value[string](t, s, "SELECT concat_ws('|', c, at) FROM public.things WHERE id = 1"))
}

func TestAKeyThatWouldBeRoundedIsRefused(t *testing.T) {
	s := opened(t, "CREATE TABLE things (id numeric PRIMARY KEY, c int)")
	_, err := reshape(t, s, "public.things", "ALTER id TYPE bigint", nil)
	require.ErrorContains(t, err, "column id is of the key")
}

func TestAKeyToWhichDifferentValuesWouldBeTheSameIsRefused(t *testing.T) {
	s := opened(t, "CREATE COLLATION same (provider = icu, locale = 'und-u-ks-level2', deterministic = false)", "CREATE TABLE things (id text PRIMARY KEY, c int)", "INSERT INTO things VALUES ('a', 1)")
	_, err := reshape(t, s, "public.things", "ALTER id TYPE text COLLATE public.same", nil)
	require.ErrorContains(t, err, "compares exactly")
	r := reshaped(t, s, "public.things", "ALTER id TYPE char(5)", nil)
	public(t, s, "INSERT INTO things VALUES ('a ', 2)")
	tx, err := s.begin(t.Context())
	require.NoError(t, err)
	require.ErrorContains(t, drainAll(t.Context(), s, tx, r.Capture, r.Forward), "id would be changed: a ")
	require.NoError(t, tx.Rollback(t.Context()))
	require.Equal(t, int64(1), value[int64](t, s, "SELECT count(*) FROM public.things__gw_new WHERE c = 1"))
}

func TestWhatDependsOnATimeZoneHasToBeSaid(t *testing.T) {
	s := opened(t, "CREATE TABLE things (id int PRIMARY KEY, at timestamp, zoned timestamptz, day date)")
	for _, c := range []string{"ALTER at TYPE timestamptz", "ALTER zoned TYPE timestamp", "ALTER zoned TYPE date", "ALTER day TYPE timestamptz"} {
		_, err := reshape(t, s, "public.things", c, nil)
		require.ErrorContains(t, err, "AT TIME ZONE", c)
		_, err = s.Alter(t.Context(), table(t, s, "public.things"), c, false)
		require.Error(t, err, c)
	}
	_, err := s.Alter(t.Context(), table(t, s, "public.things"), "ALTER at TYPE timestamptz", false)
	require.ErrorContains(t, err, "depends on the time zone", "which the server does in its catalog alone, where the zone is UTC")
}

func TestNumbersThatAreTheSameInAnotherFormAreNotInTheWay(t *testing.T) {
	s := opened(t, "CREATE TABLE things (id int PRIMARY KEY, a numeric(10,2), b numeric, c char(5))", "INSERT INTO things VALUES (1, 1.50, 1e300, 'ab'), (2, 0.1, 'NaN', ''), (3, NULL, 0, NULL)")
	r := reshaped(t, s, "public.things", "ALTER a TYPE real, ALTER b TYPE float8, ALTER c TYPE varchar(5)", nil)
	require.Empty(t, offenders(t, s, r))
	same, err := s.Compare(t.Context(), s, r, engine.Part{}, nil)
	require.NoError(t, err)
	require.True(t, same.Same(), "%+v", same)
}
