package postgres

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/engine"
)

// splitRows is how many rows the tables have that are to be cut evenly: enough
// for a sample.
const splitRows = 300_000

// numbered makes a table of rows that are computed from n = 0, 1, 2 …, of which
// the server has no statistics.
func numbered(t *testing.T, s *Server, columns, options, exprs string, rows int) *engine.Table {
	t.Helper()
	execute(t, s, "DROP TABLE IF EXISTS public.t", "CREATE TABLE public.t ("+columns+") WITH (autovacuum_enabled = off)"+options,
		fmt.Sprintf("INSERT INTO public.t SELECT %s FROM generate_series(0, %d) n", exprs, rows-1))
	return table(t, s, "public.t")
}

// shards are the numbers of rows between the bounds.
func shards(t *testing.T, s *Server, sel engine.Select, bounds []engine.Key) (sizes []int) {
	t.Helper()
	for _, r := range chain(sel.Range, bounds) {
		text, err := query{table: sel.Table, exprs: []string{"count(*)"}, within: r}.text()
		require.NoError(t, err)
		sizes = append(sizes, value[int](t, s, text))
	}
	return sizes
}

// splitCases are tables whose keys are spread in all sorts of ways.
var splitCases = []struct{ name, columns, exprs string }{
	{name: "ids without gaps", columns: "id int PRIMARY KEY, x char(50)", exprs: "n, 'x'"},
	{name: "ids with a huge gap", columns: "id bigint PRIMARY KEY, x char(50)", exprs: "CASE WHEN n < 1000 THEN n ELSE 1000000000000 + n END, 'x'"},
	{name: "ids that grow apart", columns: "id numeric PRIMARY KEY, x char(50)", exprs: "n::numeric ^ 3, 'x'"},
	{name: "ids in clusters", columns: "id bigint PRIMARY KEY, x char(50)", exprs: "n % 2000 + (n / 2000)::bigint * (n / 2000) * 1000000000, 'x'"},
	{name: "ids that were written from high to low", columns: "id int PRIMARY KEY, x char(50)", exprs: "-n, 'x'"},
	{name: "lines of orders", columns: "o int, l int, x char(50), PRIMARY KEY (o, l)", exprs: "n / 5, n % 5, 'x'"},
	{name: "a few tenants", columns: "tenant int, id int, x char(50), PRIMARY KEY (tenant, id)", exprs: "CASE WHEN n % 10 < 8 THEN 1 ELSE n % 10 END, n, 'x'"},
	{name: "uuids", columns: "id uuid PRIMARY KEY, x char(50)", exprs: "md5(n::text)::uuid, 'x'"},
	{name: "mail addresses", columns: `id text COLLATE "de-x-icu" PRIMARY KEY, x char(30)`, exprs: "md5(n::text) || '.' || n || '@example.com', 'x'"},
	{name: "times", columns: "at timestamptz, id int, x char(50), PRIMARY KEY (at, id)", exprs: "timestamptz '2020-01-01Z' + make_interval(secs => n::float8 * n / 1000), n, 'x'"},
}

func TestShardsAreAboutAsLargeAsAskedFor(t *testing.T) {
	s := open(t)
	for _, c := range splitCases {
		t.Run(c.name, func(t *testing.T) {
			sel := engine.Select{Table: numbered(t, s, c.columns, "", c.exprs, splitRows)}
			const size = 30_000
			began := time.Now()
			bounds, err := s.Split(t.Context(), sel, size)
			took := time.Since(began)
			require.NoError(t, err)
			sizes := shards(t, s, sel, bounds)
			t.Logf("%s; shards of %d rows", took, sizes)
			require.Positive(t, slices.Min(sizes))
			require.LessOrEqual(t, slices.Max(sizes), 2*size)
			require.InDelta(t, splitRows/size, len(sizes), 3)
			require.NotZero(t, slices.Max(sizes)-slices.Min(sizes), "this is a sample, not the whole table")
		})
	}
}

func TestAMillionRowsAreCutInAMoment(t *testing.T) {
	s := open(t)
	for name, exprs := range map[string]string{"in the order of the key": "n", "in no order": "hashint8(n)::bigint * 1000003 + n"} {
		t.Run(name, func(t *testing.T) {
			sel := engine.Select{Table: numbered(t, s, "id bigint PRIMARY KEY, x char(50)", "", exprs+", 'x'", 1_000_000)}
			for wish, about := range map[int64]int{250_000: 4, 10_000: 100, 2_000_000: 1} {
				began := time.Now()
				bounds, err := s.Split(t.Context(), sel, wish)
				took := time.Since(began)
				require.NoError(t, err)
				sizes := shards(t, s, sel, bounds)
				t.Logf("%s for %d shards of up to %d rows", took, len(sizes), slices.Max(sizes))
				require.Less(t, took, 2*time.Second)
				require.InEpsilon(t, about, len(sizes), 0.3)
				require.Positive(t, slices.Min(sizes))
				require.LessOrEqual(t, slices.Max(sizes), 3*int(wish))
			}
		})
	}
}

func TestASmallTableIsMeasuredOutExactly(t *testing.T) {
	s := open(t)
	for rows, want := range map[int][]int{0: {0}, 1: {1}, 2: {2}, 100: {100}, 149: {149}, 150: {75, 75}, 299: {99, 100, 100}, 1000: {100, 100, 100, 100, 100, 100, 100, 100, 100, 100}} {
		sel := engine.Select{Table: numbered(t, s, "id int PRIMARY KEY", "", "n * n", rows)}
		bounds, err := s.Split(t.Context(), sel, 100)
		require.NoError(t, err)
		require.Equal(t, want, shards(t, s, sel, bounds))
	}
}

func TestPartOfATableIsSplitLikeAWhole(t *testing.T) {
	s := open(t)
	sel := engine.Select{Table: numbered(t, s, "id int PRIMARY KEY, x char(50)", "", "n, 'x'", splitRows)}
	number := func(n int) engine.Key { return engine.Key{{Kind: engine.NumberKey, Value: fmt.Sprint(n)}} }
	for _, part := range []engine.Range{{After: number(10_000), Until: number(50_000)}, {After: number(9_999)}, {Until: number(289_999)}, {After: number(splitRows)}} {
		sel.Range = part
		bounds, err := s.Split(t.Context(), sel, 10_000)
		require.NoError(t, err)
		sizes := shards(t, s, sel, bounds)
		total := value[int](t, s, "SELECT count(*) FROM public.t WHERE id > $1 AND id <= $2", lowOr(part.After, -1), lowOr(part.Until, splitRows))
		sum := 0
		for _, size := range sizes {
			sum += size
			require.LessOrEqual(t, size, 25_000)
		}
		require.Equal(t, total, sum, "%s", part)
		require.InDelta(t, max(1, total/10_000), len(sizes), 8)
	}
}

// lowOr is the number in a bound, or another one when it is open.
func lowOr(key engine.Key, open int) (n int) {
	if n = open; key != nil {
		fmt.Sscan(key[0].Value, &n)
	}
	return n
}

func TestATableThatIsMostlyEmptySpaceIsMeasuredByItsRows(t *testing.T) {
	s := open(t)
	sel := engine.Select{Table: numbered(t, s, "id int PRIMARY KEY, x char(50)", "", "n, 'x'", splitRows)}
	execute(t, s, "DELETE FROM public.t WHERE id % 20 <> 0 OR id > 200000")
	bounds, err := s.Split(t.Context(), sel, 5_000)
	require.NoError(t, err)
	require.Equal(t, []int{5000, 5001}, shards(t, s, sel, bounds))
}

func TestPartitionsAreSplitAsOneTable(t *testing.T) {
	s := open(t, "CREATE TABLE public.t (id int, part int, x char(50), PRIMARY KEY (id, part)) PARTITION BY LIST (part)")
	for part := range 40 {
		execute(t, s, fmt.Sprintf("CREATE TABLE public.t%d PARTITION OF public.t FOR VALUES IN (%[1]d)", part))
	}
	execute(t, s, fmt.Sprintf("INSERT INTO public.t SELECT n, n %% 40, 'x' FROM generate_series(1, %d) n", splitRows))
	sel := engine.Select{Table: table(t, s, "public.t")}
	bounds, err := s.Split(t.Context(), sel, 50_000)
	require.NoError(t, err)
	sizes := shards(t, s, sel, bounds)
	require.InDelta(t, 6, len(sizes), 2)
	require.Positive(t, slices.Min(sizes))
	require.LessOrEqual(t, slices.Max(sizes), 120_000)
}
