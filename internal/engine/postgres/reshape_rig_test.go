package postgres

import (
	"bytes"
	"context"
	"os/exec"
	"slices"
	"strings"
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
func reshape(t testing.TB, s *Server, name, alter string, with func(*engine.Reshape)) (*engine.Reshaping, error) {
	t.Helper()
	want := &engine.Reshape{Table: table(t, s, name), Alter: alter, KeepOld: true}
	if with != nil {
		with(want)
	}
	return s.Reshape(t.Context(), want)
}

// reshaped makes the shadow, with what notes changes on both, and copies the rows.
func reshaped(t testing.TB, s *Server, name, alter string, with func(*engine.Reshape)) *engine.Reshaping {
	t.Helper()
	r, err := reshape(t, s, name, alter, with)
	require.NoError(t, err)
	require.NoError(t, s.CreateShadow(t.Context(), r))
	require.NoError(t, s.CreateCapture(t.Context(), r.Capture))
	statement, err := s.CopyRows(r.Capture, r.Forward, engine.Part{}, false)
	require.NoError(t, err)
	_, err = s.Exec(t.Context(), statement)
	require.NoError(t, err, statement)
	for _, b := range r.Builds {
		require.NoError(t, s.BuildShadow(t.Context(), r, b), b.SQL)
		require.NoError(t, s.BuildShadow(t.Context(), r, b), "a second time it does nothing")
	}
	require.NoError(t, s.FreshenShadow(t.Context(), r))
	if r.Reverse != nil {
		require.NoError(t, s.CreateCapture(t.Context(), r.Back))
	}
	return r
}

// drainAll makes copies of noted rows anew until nothing is noted.
func drainAll(ctx context.Context, s *Server, q engine.Querier, c *engine.Capture, p *engine.Projection) error {
	for {
		entries, err := s.Entries(ctx, q, c, engine.Window{Until: 1 << 60, Whole: true}, 1)
		if err != nil || len(entries) == 0 {
			return err
		}
		if err := drainSome(ctx, s, q, c, p, 1000); err != nil {
			return err
		}
	}
}

// drainSome makes copies of the rows of so many notes anew.
func drainSome(ctx context.Context, s *Server, q engine.Querier, c *engine.Capture, p *engine.Projection, limit int64) error {
	entries, err := s.Entries(ctx, q, c, engine.Window{Until: 1 << 60, Whole: true}, limit)
	if err != nil || len(entries) == 0 {
		return err
	}
	var keys []engine.Key
	seen := map[string]bool{}
	for _, e := range entries {
		if name := e.Key.String(); !seen[name] {
			seen[name] = true
			keys = append(keys, e.Key)
		}
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
	return nil
}

// swap tries once to change the names.
func swap(t testing.TB, s *Server, swap *engine.Swap) error {
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
		swap.Locked = func(context.Context, engine.Querier) error { return nil }
	}
	if swap.Certain == nil {
		swap.Certain = func(context.Context, engine.Querier) error { return nil }
	}
	return s.Swap(t.Context(), heldSession{conn}, swap)
}

// live is the way back, as a reshaping of the new table into the old one.
func live(r *engine.Reshaping) *engine.Reshaping {
	now, old, back := *r.Made, *r.Table, *r.Back
	now.Name, old.Name, back.Table = r.Table.Name, r.Old, &now
	return &engine.Reshaping{Table: &now, Made: &old, Shadow: r.Old, Old: r.Shadow, Capture: &back, Forward: r.Reverse}
}

// dump is the definition of a database as pg_dump writes it, statement by
// statement, without what online copies have beside their tables.
func dump(t testing.TB, s *Server) []string {
	t.Helper()
	var database string
	require.NoError(t, s.on.QueryRow(t.Context(), "SELECT current_database()").Scan(&database))
	var text, complaint bytes.Buffer
	command := exec.CommandContext(t.Context(), "pg_dump", "--schema-only", "--exclude-schema=godwit", "--exclude-table=*__gw_*", box.URL(database))
	command.Stdout, command.Stderr = &text, &complaint
	require.NoError(t, command.Run(), complaint.String())
	var list []string
	for _, part := range strings.Split(text.String(), ";\n") {
		var lines []string
		for _, line := range strings.Split(part, "\n") {
			if line != "" && !strings.HasPrefix(line, "--") && !strings.HasPrefix(line, `\`) {
				lines = append(lines, line)
			}
		}
		if len(lines) > 0 && !strings.HasPrefix(lines[0], "SET default_t") {
			list = append(list, strings.Join(lines, "\n"))
		}
	}
	slices.Sort(list) // the server writes things in the order in which they were made
	return list
}

// apart are the statements that are in one of two dumps.
func apart(before, after []string) (gone, come []string) {
	for _, statement := range before {
		if !slices.Contains(after, statement) {
			gone = append(gone, statement)
		}
	}
	for _, statement := range after {
		if !slices.Contains(before, statement) {
			come = append(come, statement)
		}
	}
	return gone, come
}

func containsAny(text string, parts ...string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(text, part) })
}

// opened makes a database with the statements of somebody whose names are those
// of the schema public, and connects to it.
func opened(t testing.TB, statements ...string) *Server {
	t.Helper()
	database := newDatabase(t)
	require.NoError(t, box.Exec(t.Context(), database, strings.Join(statements, ";\n")))
	return connect(t, database, "")
}

// public runs statements as such a one.
func public(t testing.TB, s *Server, statements ...string) {
	t.Helper()
	require.NoError(t, box.Exec(t.Context(), value[string](t, s, "SELECT current_database()::text"), strings.Join(statements, ";\n")))
}
