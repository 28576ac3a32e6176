package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/engine"
)

// heldSession is a Conn as the kinds have it.
type heldSession struct{ *Conn }

func (s heldSession) ID() string { return s.Session() }

func (s heldSession) Begin(ctx context.Context) (engine.Tx, error) { return s.Conn.Begin(ctx) }

// reshape plans an online copy of a table.
func (s *testServer) reshape(t testing.TB, table, alter string, with func(*engine.Reshape)) (*engine.Reshaping, error) {
	t.Helper()
	want := &engine.Reshape{Table: s.describe(t, table), Alter: alter, KeepOld: true}
	if with != nil {
		with(want)
	}
	return s.Reshape(t.Context(), want)
}

// copied makes the shadow, with what notes changes on both, and copies the rows.
func (s *testServer) copied(t testing.TB, table, alter string, with func(*engine.Reshape)) *engine.Reshaping {
	t.Helper()
	r, err := s.reshape(t, table, alter, with)
	require.NoError(t, err)
	require.NoError(t, s.CreateShadow(t.Context(), r))
	require.NoError(t, s.CreateCapture(t.Context(), r.Capture))
	if r.Reverse != nil {
		require.NoError(t, s.CreateCapture(t.Context(), r.Back))
	}
	statement, err := s.CopyRows(r.Capture, r.Forward, engine.Part{}, false)
	require.NoError(t, err)
	_, err = s.Exec(t.Context(), statement)
	require.NoError(t, err, statement)
	for _, b := range r.Builds {
		require.NoError(t, s.BuildShadow(t.Context(), r, b))
	}
	require.NoError(t, s.FreshenShadow(t.Context(), r))
	return r
}

// drain makes copies of noted rows anew until nothing is noted.
func (s *testServer) drain(ctx context.Context, q engine.Querier, c *engine.Capture, p *engine.Projection) error {
	for {
		entries, err := s.Entries(ctx, q, c, engine.Window{Until: 1 << 60, Whole: true}, 500)
		if err != nil || len(entries) == 0 {
			return err
		}
		keys := make([]engine.Key, len(entries))
		for i, e := range entries {
			keys[i] = e.Key
		}
		remove, err := s.RemoveKeys(p, keys)
		if err != nil {
			return err
		}
		write, err := s.CopyRows(c, p, engine.Part{Keys: keys}, false)
		if err != nil {
			return err
		}
		for _, statement := range []string{remove, write, s.ForgetEntries(c, entries)} {
			if _, err := q.Exec(ctx, statement); err != nil {
				return err
			}
		}
	}
}

// swap tries once to change the names.
func (s *testServer) swap(t testing.TB, swap *engine.Swap) error {
	conn, err := s.Acquire(t.Context())
	require.NoError(t, err)
	defer conn.Destroy()
	if swap.Wait == 0 {
		swap.Wait = 500 * time.Millisecond
	}
	if swap.Hold == 0 {
		swap.Hold = 3 * time.Second
	}
	if swap.Locked == nil {
		swap.Locked = func(ctx context.Context, q engine.Querier) error {
			if swap.Back {
				return s.drain(ctx, q, live(swap.Reshaping).Capture, swap.Reverse)
			}
			return s.drain(ctx, q, swap.Capture, swap.Forward)
		}
	}
	if swap.Certain == nil {
		swap.Certain = func(context.Context, engine.Querier) error { return nil }
	}
	return s.Swap(t.Context(), heldSession{conn}, swap)
}

// live is the way back when the names have changed.
func live(r *engine.Reshaping) *engine.Reshaping {
	table, back, old := *r.Made, *r.Back, *r.Table
	table.Name, old.Name = r.Table.Name, r.Old
	back.Table = &table
	return &engine.Reshaping{Table: &table, Made: &old, Shadow: r.Old, Old: r.Shadow, Capture: &back, Forward: r.Reverse}
}

// sameCopy requires that every row has its copy.
func (s *testServer) sameCopy(t testing.TB, r *engine.Reshaping, rows int64) {
	t.Helper()
	found, err := s.Compare(t.Context(), s.Server, r, engine.Part{}, nil)
	require.NoError(t, err)
	list, err := s.Disagreements(t.Context(), s.Server, r, engine.Part{}, nil, 5)
	require.NoError(t, err)
	require.Empty(t, list)
	require.Equal(t, engine.Compared{Rows: rows, Copies: rows}, found)
}

// numbered is a query for n from 1 to so many.
func numbered(rows int) string {
	digits := "(SELECT 0 d UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9)"
	return fmt.Sprintf("SELECT 1 + a.d + 10*b.d + 100*c.d + 1000*e.d + 10000*f.d AS n FROM %s a, %s b, %s c, %s e, %s f HAVING n <= %d", digits, digits, digits, digits, digits, rows)
}

func (s *testServer) ask(t testing.TB, query string) string {
	t.Helper()
	var answer sql.NullString
	require.NoError(t, s.db.QueryRowContext(t.Context(), query).Scan(&answer), query)
	return orNull(answer)
}

// tables are those of the test's database.
func (s *testServer) tables(t testing.TB) []string {
	t.Helper()
	names, err := s.Tables(t.Context(), s.database)
	require.NoError(t, err)
	list := make([]string, len(names))
	for i, n := range names {
		list[i] = n.Table
	}
	return list
}
