package mysql

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"godwit/internal/engine"
)

// splitRows is how many rows the tables have that are to be cut evenly.
const splitRows = 60_000

// numbered makes a table of rows that are computed from n = 0, 1, 2 …
func (s *testServer) numbered(t *testing.T, columns, exprs string) *engine.Table {
	t.Helper()
	limit := "SET cte_max_recursion_depth = 1000000"
	if s.isMariaDB() {
		limit = "SET max_recursive_iterations = 1000000"
	}
	s.exec(t, limit, "CREATE TABLE t ("+columns+")",
		fmt.Sprintf("INSERT INTO t WITH RECURSIVE s AS (SELECT 0 AS n UNION ALL SELECT n + 1 FROM s WHERE n < %d) SELECT %s FROM s", splitRows-1, exprs),
		"ANALYZE TABLE t")
	return s.describe(t, "t")
}

// rowsRead is how many rows the session has read so far.
func (s *testServer) rowsRead(t *testing.T) (sum int64) {
	t.Helper()
	rows, err := s.db.QueryContext(t.Context(), "SHOW SESSION STATUS LIKE 'Handler_read%'")
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var name string
		var n int64
		require.NoError(t, rows.Scan(&name, &n))
		sum += n
	}
	require.NoError(t, rows.Err())
	return sum
}

func (s *testServer) count(t *testing.T, table *engine.Table, r engine.Range) (n int64) {
	t.Helper()
	text, err := query{table: table, exprs: []string{"COUNT(*)"}, within: r}.text()
	require.NoError(t, err)
	require.NoError(t, s.db.QueryRowContext(t.Context(), text).Scan(&n))
	return n
}

// splitCases are tables whose keys are spread in all sorts of ways.
var splitCases = []struct {
	name, columns, exprs string
	walks                bool // no telling where rows are but by looking
}{
	{name: "ids without gaps", columns: "id int PRIMARY KEY, x char(50)", exprs: "n, 'x'"},
	{name: "ids with a huge gap", columns: "id bigint PRIMARY KEY, x char(50)", exprs: "IF(n < 1000, n, 1000000000000 + n), 'x'"},
	{name: "ids that grow apart", columns: "id bigint PRIMARY KEY, x char(50)", exprs: "n * n * n, 'x'"},
	{name: "ids in clusters", columns: "id bigint unsigned PRIMARY KEY, x char(50)", exprs: "n % 2000 + (n DIV 2000) * (n DIV 2000) * 1000000000000, 'x'"},
	{name: "negative decimals", columns: "id decimal(20,4) PRIMARY KEY, x char(50)", exprs: "n / 7 - 10000, 'x'"},
	{name: "lines of orders", columns: "o int, l int, x char(50), PRIMARY KEY (o, l)", exprs: "n DIV 5, n % 5, 'x'"},
	{name: "a few tenants", columns: "tenant int, id int, x char(50), PRIMARY KEY (tenant, id)", exprs: "IF(n % 10 < 8, 1, n % 10), n, 'x'"},
	{name: "a few tenants and kinds", columns: "tenant int, kind enum('z','b','a'), id int, x char(50), PRIMARY KEY (tenant, kind, id)", exprs: "n % 3, 1 + n % 2, n, 'x'"},
	{name: "uuids as text", columns: "id char(36) CHARACTER SET ascii PRIMARY KEY, x char(50)",
		exprs: "CONCAT(SUBSTR(SHA2(n, 256), 1, 8), '-', SUBSTR(SHA2(n, 256), 9, 4), '-4000-8000-', SUBSTR(SHA2(n, 256), 13, 12)), 'x'"},
	{name: "uuids that begin alike", columns: "id varchar(36) PRIMARY KEY, x char(50)",
		exprs: "CONCAT('018f', LPAD(HEX(n * 3), 4, '0'), '-', SUBSTR(SHA2(n, 256), 1, 4), '-7000-8000-', SUBSTR(SHA2(n, 256), 13, 12)), 'x'"},
	{name: "uuids as bytes", columns: "id binary(16) PRIMARY KEY, x char(50)", exprs: "UNHEX(SUBSTR(SHA2(n, 256), 1, 32)), 'x'"},
	{name: "mail addresses", columns: "id varchar(60) PRIMARY KEY, x char(50)", exprs: "CONCAT(SUBSTR(SHA2(n, 256), 1, 6), '.', n, '@example.com'), 'x'"},
	{name: "times", columns: "at datetime(3), id int, x char(50), PRIMARY KEY (at, id)", exprs: "'2020-01-01' + INTERVAL n * n SECOND, n, 'x'"},
	{name: "Chinese", columns: "id varchar(60) COLLATE utf8mb4_bin PRIMARY KEY, x char(50)", exprs: "CONCAT(CHAR(0xE4B880 + n % 60 USING utf8mb4), n), 'x'", walks: true},
	{name: "times of day", columns: "at time(6), x char(50), PRIMARY KEY (at)", exprs: "SEC_TO_TIME(n / 10), 'x'", walks: true},
}

func TestShardsAreAboutAsLargeAsAskedFor(t *testing.T) {
	onBoth(t, func(t *testing.T, s *testServer) {
		for _, c := range splitCases {
			t.Run(c.name, func(t *testing.T) {
				s.exec(t, "DROP TABLE IF EXISTS t")
				table := s.numbered(t, c.columns, c.exprs)
				const size = 5_000
				s.db.SetMaxOpenConns(1)
				before := s.rowsRead(t)
				bounds, err := s.Split(t.Context(), engine.Select{Table: table}, size)
				require.NoError(t, err)
				read := s.rowsRead(t) - before
				s.db.SetMaxOpenConns(0)

				var sizes []int64
				for _, r := range chain(engine.Range{}, bounds) {
					n := s.count(t, table, r)
					require.Positive(t, n, "a shard without rows: %s", r)
					sizes = append(sizes, n)
				}
				t.Logf("%d rows read; shards of %d rows", read, sizes)
				for i, n := range sizes {
					require.LessOrEqual(t, n, int64(2*size), "shard %d", i)
				}
				require.GreaterOrEqual(t, len(sizes), splitRows/size*2/3)
				require.LessOrEqual(t, len(sizes), splitRows/size*3/2+1)
				if !c.walks {
					require.Less(t, read, int64(splitRows/20), "the estimates were not enough")
				}
			})
		}
	})
}

func TestASmallTableIsOneShard(t *testing.T) {
	onBoth(t, func(t *testing.T, s *testServer) {
		s.exec(t, "CREATE TABLE t (a int PRIMARY KEY)")
		for i := range 3 {
			bounds, err := s.Split(t.Context(), engine.Select{Table: s.describe(t, "t")}, 100)
			require.NoError(t, err)
			require.Empty(t, bounds)
			s.exec(t, fmt.Sprintf("INSERT INTO t VALUES (%d)", i))
		}
	})
}

func TestATableWithoutAKeyIsNotSplit(t *testing.T) {
	onBoth(t, func(t *testing.T, s *testServer) {
		table := s.numbered(t, "a int", "n")
		bounds, err := s.Split(t.Context(), engine.Select{Table: table}, 100)
		require.NoError(t, err)
		require.Empty(t, bounds)
		_, _, err = s.Bound(t.Context(), engine.Select{Table: table}, 10)
		require.ErrorContains(t, err, "no primary key and no unique key")
		require.Len(t, s.read(t, engine.Select{Table: table, Exprs: []string{"a"}, Ordered: true}), splitRows)
	})
}

func TestAStaleEstimateDoesNotMakeOneHugeShard(t *testing.T) {
	onBoth(t, func(t *testing.T, s *testServer) {
		s.exec(t, "CREATE TABLE t (id int PRIMARY KEY) STATS_AUTO_RECALC=0 STATS_PERSISTENT=1", "ANALYZE TABLE t")
		s.exec(t, "INSERT INTO t WITH RECURSIVE s AS (SELECT 0 AS n UNION ALL SELECT n + 1 FROM s WHERE n < 900) SELECT a.n * 1000 + b.n FROM s a, s b WHERE b.n < 50")
		table := s.describe(t, "t")
		bounds, err := s.Split(t.Context(), engine.Select{Table: table}, 5000)
		require.NoError(t, err)
		require.GreaterOrEqual(t, len(bounds), 6)
	})
}

func TestPartOfATableIsSplitLikeAWhole(t *testing.T) {
	onBoth(t, func(t *testing.T, s *testServer) {
		table := s.numbered(t, "id int PRIMARY KEY, x char(50)", "n, 'x'")
		number := func(n string) engine.Key { return engine.Key{{Kind: engine.NumberKey, Value: n}} }
		part := engine.Range{After: number("10000"), Until: number("50000")}
		bounds, err := s.Split(t.Context(), engine.Select{Table: table, Range: part}, 10_000)
		require.NoError(t, err)
		require.GreaterOrEqual(t, len(bounds), 2)
		var total int64
		for _, r := range chain(part, bounds) {
			n := s.count(t, table, r)
			require.Positive(t, n)
			total += n
		}
		require.Equal(t, int64(40_000), total)
	})
}
