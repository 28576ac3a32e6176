package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/engine"
	"godwit/internal/task"
)

// drain reads a stream to its end: columns of a row joined by ¦, NULL shown as <null>.
func drain(t testing.TB, s *Server, sel engine.Select) []string {
	t.Helper()
	stream, err := s.Stream(t.Context(), sel)
	require.NoError(t, err)
	defer func() { require.NoError(t, stream.Close()) }()
	var all []string
	for {
		row, err := stream.Next()
		if err == io.EOF {
			_, err = stream.Next()
			require.Equal(t, io.EOF, err, "the end stays the end")
			return all
		}
		require.NoError(t, err)
		columns := make([]string, len(row))
		for i, c := range row {
			if columns[i] = string(c); c == nil {
				columns[i] = "<null>"
			}
		}
		all = append(all, strings.Join(columns, "¦"))
	}
}

func TestEveryByteComesThroughAsItIs(t *testing.T) {
	s := open(t, "CREATE TABLE public.t (id int, v text, b bytea, last text)")
	texts := []string{"", `\N`, `\\N`, `\`, `\.`, "N", "a\tb", "a\nb", "\r\n", "\b\f\v", `\n`, "ends with \\", "\t", "\n", `"quoted" 'text'`,
		"日本語 中文", "🪿🐦‍⬛ emoji", "\u2028", "a\x01\x7fz", strings.Repeat("wide ", 50_000)}
	for c := 1; c < 128; c++ {
		texts = append(texts, "<"+string(rune(c))+">")
	}
	tx, err := s.begin(t.Context())
	require.NoError(t, err)
	for i, text := range texts {
		_, err := tx.Exec(t.Context(), "INSERT INTO public.t VALUES ($1, $2, $3, $4)", i, text, []byte("\x00"+text+"\xff"), nil)
		require.NoError(t, err)
	}
	_, err = tx.Exec(t.Context(), "INSERT INTO public.t VALUES ($1, NULL, NULL, '')", len(texts))
	require.NoError(t, err)
	require.NoError(t, tx.Commit(t.Context()))

	stream, err := s.Stream(t.Context(), engine.Select{Table: table(t, s, "public.t"), Exprs: []string{"id", "v", "b", "last"}, Where: "true ORDER BY id -- a comment"})
	require.Error(t, err, "a condition cannot be more than a condition")
	require.Nil(t, stream)

	stream, err = s.Stream(t.Context(), engine.Select{Table: table(t, s, "public.t"), Exprs: []string{"id", "v", "b", "last"}, Where: "true -- a comment"})
	require.NoError(t, err)
	defer stream.Close()
	for i, text := range texts {
		row, err := stream.Next()
		require.NoError(t, err)
		require.Equal(t, fmt.Sprint(i), string(row[0]))
		require.NotNil(t, row[1])
		require.Equal(t, text, string(row[1]))
		require.Equal(t, fmt.Sprintf(`\x00%xff`, text), string(row[2]))
		require.Nil(t, row[3])
	}
	row, err := stream.Next()
	require.NoError(t, err)
	require.Nil(t, row[1])
	require.Nil(t, row[2])
	require.NotNil(t, row[3])
	require.Empty(t, row[3])
	_, err = stream.Next()
	require.Equal(t, io.EOF, err)
}

func TestRangesOfEveryKindOfKeyCoverATableExactlyOnce(t *testing.T) {
	keys := []struct{ name, definition, fill string }{
		{"integer", "k int PRIMARY KEY", "SELECT n - 50 FROM generate_series(1, 100) n"},
		{"numeric with a scale", "k numeric(6,2) PRIMARY KEY", "SELECT n * 1.01 - 50 FROM generate_series(1, 100) n"},
		{"text", "k text PRIMARY KEY", `SELECT CASE WHEN n % 3 = 0 THEN 'it''s \' ELSE 'É' END || n FROM generate_series(1, 100) n`},
		{"text in another collation", `k text COLLATE "C" PRIMARY KEY`, "SELECT chr(n + 40) || 'z' FROM generate_series(1, 100) n"},
		{"varchar and char", "k varchar(4), l char(3), PRIMARY KEY (k, l)", "SELECT 'v' || n / 10, 'c' || n % 10 FROM generate_series(1, 100) n"},
		{"bytes", "k bytea PRIMARY KEY", `SELECT decode(lpad(to_hex(n * 655), 4, '0'), 'hex') FROM generate_series(1, 100) n`},
		{"uuid", "k uuid PRIMARY KEY", "SELECT md5(n::text)::uuid FROM generate_series(1, 100) n"},
		{"time", "k timestamptz(3) PRIMARY KEY", "SELECT '2024-03-31 00:00:00+00'::timestamptz + n * interval '37.123 min' FROM generate_series(1, 100) n"},
		{"enum", "k public.mood, l smallint, PRIMARY KEY (k, l)", "SELECT (enum_range(NULL::public.mood))[1 + n % 3], n FROM generate_series(1, 100) n"},
		{"domain", "k public.code PRIMARY KEY", "SELECT n FROM generate_series(1, 100) n"},
		{"composite", "k int, l text, m bytea, PRIMARY KEY (k, l, m)", `SELECT n % 3, 'x' || n % 7, decode(to_hex(n + 16), 'hex') FROM generate_series(1, 100) n`},
		{"descending", "k int NOT NULL, l int NOT NULL", "SELECT n % 10, n FROM generate_series(1, 100) n"},
	}
	s := open(t, "CREATE TYPE public.mood AS ENUM ('sad', 'ok', 'happy')", "CREATE DOMAIN public.code AS int CHECK (VALUE > 0)")
	for _, k := range keys {
		t.Run(k.name, func(t *testing.T) {
			execute(t, s, "DROP TABLE IF EXISTS public.t", "CREATE TABLE public.t ("+k.definition+")", "INSERT INTO public.t "+k.fill)
			if k.name == "descending" {
				execute(t, s, "CREATE UNIQUE INDEX t_desc ON public.t (k DESC, l DESC)")
			}
			described := table(t, s, "public.t")
			require.NotEmpty(t, described.Key, described.KeyProblem)
			exprs := make([]string, len(described.Key))
			for i, column := range described.Key {
				exprs[i] = Quote(column)
			}
			all := drain(t, s, engine.Select{Table: described, Exprs: exprs, Ordered: true})
			require.Len(t, all, 100)
			for _, size := range []int{1, 7, 100} {
				require.Equal(t, all, readInRanges(t, s, described, exprs, size))
			}
		})
	}
}

// readInRanges pages through a table by ranges of some rows each, as a copy does.
func readInRanges(t *testing.T, s *Server, described *engine.Table, exprs []string, size int) []string {
	var all []string
	var after engine.Key
	for {
		bound := drain(t, s, engine.Select{Table: described, Exprs: exprs, Ordered: true, Range: engine.Range{After: after}, Offset: int64(size - 1), Limit: 1})
		if len(bound) == 0 {
			return append(all, drain(t, s, engine.Select{Table: described, Exprs: exprs, Ordered: true, Range: engine.Range{After: after}})...)
		}
		until := make(engine.Key, 0, len(exprs))
		for i, value := range strings.Split(bound[0], "¦") {
			until = append(until, keyValue(described.Column(described.Key[i]).Type.Base, value))
		}
		all = append(all, drain(t, s, engine.Select{Table: described, Exprs: exprs, Ordered: true, Range: engine.Range{After: after, Until: until}})...)
		after = until
	}
}

func keyValue(base, text string) engine.KeyValue {
	switch base {
	case "int2", "int4", "int8", "numeric", "code":
		return engine.KeyValue{Kind: engine.NumberKey, Value: text}
	case "bytea":
		var raw []byte
		fmt.Sscanf(text, `\x%x`, &raw)
		return engine.KeyValue{Kind: engine.BytesKey, Value: string(raw)}
	}
	return engine.KeyValue{Kind: engine.TextKey, Value: text}
}

func TestARangeOfACompositeKeyUsesItsIndex(t *testing.T) {
	s := open(t, "CREATE TABLE public.t (a int, b varchar(10), c uuid, PRIMARY KEY (a, b, c))",
		"INSERT INTO public.t SELECT n % 100, 'b' || n, md5(n::text)::uuid FROM generate_series(1, 20000) n", "ANALYZE public.t")
	query, err := selection(engine.Select{Table: table(t, s, "public.t"), Exprs: []string{"a"}, Ordered: true, Limit: 100, Range: engine.Range{
		After: engine.Key{{Kind: engine.NumberKey, Value: "42"}, {Kind: engine.TextKey, Value: "b7"}, {Kind: engine.TextKey, Value: "00000000-0000-0000-0000-000000000000"}}}}).text()
	require.NoError(t, err)
	rows, err := s.Query(t.Context(), "EXPLAIN "+query)
	require.NoError(t, err)
	defer rows.Close()
	var plan strings.Builder
	for rows.Next() {
		var line string
		require.NoError(t, rows.Scan(&line))
		plan.WriteString(line + "\n")
	}
	require.NoError(t, rows.Err())
	require.Contains(t, plan.String(), "Index Cond: (ROW(a, b, c) > ROW(42, 'b7'::text, '00000000-0000-0000-0000-000000000000'::uuid))")
	require.NotContains(t, plan.String(), "Sort")
}

func TestAKeyThatCannotBeAskedForIsRefused(t *testing.T) {
	s := open(t, "CREATE TABLE public.t (k text PRIMARY KEY)", "CREATE TABLE public.bare (k text)")
	_, err := s.Stream(t.Context(), engine.Select{Table: table(t, s, "public.t"), Exprs: []string{"k"}, Range: engine.Range{After: engine.Key{{Kind: engine.TextKey, Value: "a\x00b"}}}})
	require.ErrorContains(t, err, "zero byte")
	_, err = s.Stream(t.Context(), engine.Select{Table: table(t, s, "public.t"), Exprs: []string{"k"}, Range: engine.Range{Until: engine.Key{{}, {}}}})
	require.ErrorContains(t, err, "does not fit the key (k)")
	_, err = s.Stream(t.Context(), engine.Select{Table: table(t, s, "public.bare"), Exprs: []string{"k"}, Ordered: true})
	require.ErrorContains(t, err, "no key")
	requireAllGivenBack(t, s)
}

func TestBlockRangesCoverATableExactlyOnce(t *testing.T) {
	s := open(t, "CREATE TABLE public.t (n int, filler text)", "INSERT INTO public.t SELECT n, repeat('x', 300) FROM generate_series(1, 5000) n",
		"DELETE FROM public.t WHERE n % 7 = 0", "CREATE TABLE public.empty (n int)",
		"CREATE TABLE public.parts (n int, filler text) PARTITION BY RANGE (n)", "CREATE TABLE public.p1 PARTITION OF public.parts FOR VALUES FROM (0) TO (1000)",
		"CREATE TABLE public.p2 PARTITION OF public.parts FOR VALUES FROM (1000) TO (9999)", "INSERT INTO public.parts SELECT * FROM public.t")
	for _, name := range []string{"public.t", "public.parts"} {
		described := table(t, s, name)
		blocks, err := s.Blocks(t.Context(), described.Name)
		require.NoError(t, err)
		require.Greater(t, blocks, int64(100))
		seen := map[string]int{}
		for from := int64(0); from < blocks; from += 23 {
			r := BlockRange{From: from, Until: from + 23}
			if r.Until >= blocks {
				r.Until = 0
				execute(t, s, "INSERT INTO "+name+" SELECT n, 'late' FROM generate_series(5001, 5100) n") // the last range is open
			}
			for _, row := range drain(t, s, engine.Select{Table: described, Exprs: []string{"n"}, Where: r.Where()}) {
				seen[row]++
			}
		}
		late := 0
		for n := 1; n <= 5100; n++ {
			if n > 5000 {
				late += seen[fmt.Sprint(n)]
			} else if n%7 == 0 {
				require.Zero(t, seen[fmt.Sprint(n)])
			} else {
				require.Equal(t, 1, seen[fmt.Sprint(n)], n)
			}
		}
		require.Greater(t, late, 50)
		require.LessOrEqual(t, late, 100)
	}
	blocks, err := s.Blocks(t.Context(), engine.ParseName("public.empty"))
	require.NoError(t, err)
	require.Zero(t, blocks)
	require.Empty(t, drain(t, s, engine.Select{Table: table(t, s, "public.empty"), Exprs: []string{"n"}, Where: BlockRange{}.Where()}))
}

func TestAStreamWhoseConnectionIsLostIsAnErrorAndNotItsEnd(t *testing.T) {
	s := open(t)
	for name, kill := range map[string]func(stream *stream){
		"by the server": func(*stream) {
			_, err := s.Exec(t.Context(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'COPY%' AND datname = current_database()")
			require.NoError(t, err)
		},
		"by the network": func(st *stream) { st.pg.Conn().Close() },
	} {
		t.Run(name, func(t *testing.T) {
			stream := manyRows(t, s, t.Context())
			kill(stream)
			var err error
			for err == nil {
				_, err = stream.Next()
			}
			require.NotErrorIs(t, err, io.EOF)
			class, known := Classify(err)
			require.True(t, known, "%v", err)
			require.Equal(t, task.Transient, class)
			_, again := stream.Next()
			require.Equal(t, err, again)
			require.NoError(t, stream.Close())
			require.NoError(t, stream.Close())
		})
	}
	requireAllGivenBack(t, s)
}

// manyRows starts a stream that is far too long for the buffers on the way.
func manyRows(t *testing.T, s *Server, ctx context.Context) *stream {
	execute(t, s, "CREATE TABLE IF NOT EXISTS public.one (n int)", "TRUNCATE public.one", "INSERT INTO public.one VALUES (1)")
	st, err := s.Stream(ctx, engine.Select{Table: table(t, s, "public.one"), Exprs: []string{"generate_series(1, 3000000)", "repeat('x', 100)"}})
	require.NoError(t, err)
	_, err = st.Next()
	require.NoError(t, err)
	return st.(*stream)
}

func TestAnErrorInMidStreamComesAfterTheRowsBeforeIt(t *testing.T) {
	s := open(t, "CREATE TABLE public.t AS SELECT n FROM generate_series(1, 10) n")
	st, err := s.Stream(t.Context(), engine.Select{Table: table(t, s, "public.t"), Exprs: []string{"1 / (5 - n)"}})
	require.NoError(t, err)
	for range 4 {
		_, err := st.Next()
		require.NoError(t, err)
	}
	_, err = st.Next()
	require.ErrorContains(t, err, "division by zero")
	pid := st.(*stream).pg.PID()
	require.NoError(t, st.Close())
	require.Equal(t, pid, value[uint32](t, s, "SELECT pg_backend_pid()"), "the connection is kept")
}

func TestAStreamThatIsClosedEarlyKeepsItsConnection(t *testing.T) {
	s := open(t)
	for range 20 {
		st := manyRows(t, s, t.Context())
		pid := st.pg.PID()
		require.NoError(t, st.Close())
		_, err := st.Next()
		require.ErrorContains(t, err, "closed")
		requireAllGivenBack(t, s)
		require.True(t, value[bool](t, s, "SELECT state = 'idle' OR pid = pg_backend_pid() FROM pg_stat_activity WHERE pid = $1", pid))
	}
}

func TestACancelledStreamEndsAtOnceAndLeavesTheConnectionFit(t *testing.T) {
	s := open(t, "CREATE TABLE public.t (n int)", "INSERT INTO public.t VALUES (1)")
	for _, exprs := range [][]string{{"pg_sleep(60)"}, {"generate_series(1, 1000000000)"}} {
		ctx, cancel := context.WithCancelCause(t.Context())
		described := table(t, s, "public.t")
		reason := errors.New("the operator paused")
		began := time.Now()
		time.AfterFunc(50*time.Millisecond, func() { cancel(reason) })
		st, err := s.Stream(ctx, engine.Select{Table: described, Exprs: exprs})
		if err == nil {
			defer st.Close()
		}
		for err == nil {
			_, err = st.Next()
		}
		require.ErrorIs(t, err, reason)
		if st != nil {
			require.NoError(t, st.Close())
		}
		require.Less(t, time.Since(began), 5*time.Second)
		requireAllGivenBack(t, s)
		require.Equal(t, 1, value[int](t, s, "SELECT 1"))
		require.Eventually(t, func() bool {
			return value[int](t, s, "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'COPY%' AND state = 'active' AND datname = current_database()") == 0
		}, 30*time.Second, 20*time.Millisecond, "the server does not go on")
	}
}

func TestReadingARowAllocatesNothing(t *testing.T) {
	s := open(t)
	st := manyRows(t, s, t.Context())
	defer st.Close()
	allocations := testing.AllocsPerRun(100_000, func() {
		if _, err := st.Next(); err != nil {
			t.Fatal(err)
		}
	})
	require.Zero(t, allocations)
}

func TestATableThatIsGoneIsAnErrorBeforeTheFirstRow(t *testing.T) {
	s := open(t, "CREATE TABLE public.t (n int)")
	described := table(t, s, "public.t")
	execute(t, s, "DROP TABLE public.t")
	_, err := s.Stream(t.Context(), engine.Select{Table: described, Exprs: []string{"n"}})
	require.ErrorContains(t, err, `relation "public.t" does not exist`)
	requireAllGivenBack(t, s)
}
