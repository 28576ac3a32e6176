package postgres

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"godwit/internal/engine"
	"godwit/internal/task"
)

var tableT = engine.Name{Schema: "public", Table: "t"}

// hookedReader calls a hook once, after some bytes were read.
type hookedReader struct {
	io.Reader
	after int
	hook  func() error
	read  int
	err   error
}

func (h *hookedReader) Read(p []byte) (int, error) {
	if h.err != nil {
		return 0, h.err
	}
	n, err := h.Reader.Read(p[:min(len(p), 1000)])
	if h.read += n; h.read >= h.after && h.hook != nil {
		h.err, h.hook = h.hook(), nil
	}
	return n, err
}

func numbers(n int) string {
	var b bytes.Buffer
	for i := range n {
		b.WriteString(strconv.Itoa(i))
		b.WriteString("\tvalue of the row\n")
	}
	return b.String()
}

func TestLoadedRowsAreCountedAndThereAfterTheCommit(t *testing.T) {
	s := open(t, "CREATE TABLE public.t (b text, a int)")
	n, err := load(t, s, "public.t", []string{"a", "b"}, numbers(50_000))
	require.NoError(t, err)
	require.EqualValues(t, 50_000, n)
	require.EqualValues(t, 50_000, value[int64](t, s, "SELECT count(DISTINCT a) FROM public.t WHERE b = 'value of the row'"))

	n, err = load(t, s, "public.t", []string{"a", "b"}, "")
	require.NoError(t, err)
	require.Zero(t, n)
}

func TestAConnectionLostInMidLoadLeavesNothing(t *testing.T) {
	s := open(t, "CREATE TABLE public.t (a int, b text)")
	conn := acquire(t, s)
	tx, err := conn.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "INSERT INTO public.t VALUES (-1, 'in the same transaction')")
	require.NoError(t, err)
	rows := &hookedReader{Reader: strings.NewReader(numbers(200_000)), after: 1_000_000, hook: func() error {
		return s.KillSession(t.Context(), conn.Session())
	}}
	n, err := tx.Load(t.Context(), tableT, []string{"a", "b"}, rows)
	require.Error(t, err)
	require.Zero(t, n)
	class, known := Classify(err)
	require.True(t, known, "%v", err)
	require.Equal(t, task.Transient, class)
	require.NoError(t, tx.Rollback(t.Context()))
	require.False(t, value[bool](t, s, "SELECT EXISTS (SELECT FROM public.t)"))
	conn.Release()
	requireAllGivenBack(t, s)
}

func TestAnErrorOfTheReaderEndsTheLoadAndComesBackAsItself(t *testing.T) {
	s := open(t, "CREATE TABLE public.t (a int, b text)")
	failure := errors.New("the source is gone, secret=hunter2")
	conn := acquire(t, s)
	for _, after := range []int{0, 70_000, 400_000} {
		tx, err := conn.Begin(t.Context())
		require.NoError(t, err)
		_, err = tx.Load(t.Context(), tableT, []string{"a", "b"}, &hookedReader{
			Reader: strings.NewReader(numbers(100_000)), after: after, hook: func() error { return failure }})
		require.True(t, err == failure, "%v", err)
		require.NoError(t, tx.Rollback(t.Context()))
	}
	require.False(t, value[bool](t, s, "SELECT EXISTS (SELECT FROM public.t)"))
	_, err := conn.Exec(t.Context(), "SELECT 1")
	require.NoError(t, err, "the session is still good")
}

func TestAReaderThatReturnsNothingForEverIsAnError(t *testing.T) {
	s := open(t, "CREATE TABLE public.t (a int, b text)")
	tx, err := s.begin(t.Context())
	require.NoError(t, err)
	defer tx.Rollback(t.Context())
	_, err = tx.Load(t.Context(), tableT, []string{"a", "b"}, idleReader{})
	require.ErrorIs(t, err, io.ErrNoProgress)
}

type idleReader struct{}

func (idleReader) Read([]byte) (int, error) { return 0, nil }

func TestACancelledLoadReturnsOnlyWhenItsReaderIsLeftAlone(t *testing.T) {
	s := open(t, "CREATE TABLE public.t (a int, b text)")
	ctx, cancel := context.WithCancel(t.Context())
	tx, err := s.begin(ctx)
	require.NoError(t, err)
	reading, finished := make(chan struct{}), false // finished is not guarded: the race detector tells
	_, err = tx.Load(ctx, tableT, []string{"a", "b"}, readerFunc(func(p []byte) (int, error) {
		close(reading)
		cancel()
		time.Sleep(100 * time.Millisecond)
		finished = true
		return 0, ctx.Err()
	}))
	<-reading
	require.ErrorIs(t, err, context.Canceled)
	require.True(t, finished)
	require.NoError(t, tx.Rollback(ctx))
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestAValueThatDoesNotFitIsNamed(t *testing.T) {
	s := open(t, `CREATE TABLE public.t (id int PRIMARY KEY, "the total" numeric(5,2) NOT NULL, code varchar(3), CONSTRAINT positive CHECK ("the total" >= 0))`)
	columns := []string{"id", "the total", "code"}
	cases := []struct {
		name, rows string
		want       Description
	}{
		{"not a number", "1\t1.00\ta\n2\tabc\tb\n", Description{Line: 2, Column: "the total", Value: "abc"}},
		{"out of range", "1\t1234567.00\ta\n", Description{Line: 1, Column: "the total", Value: "1234567.00"}},
		{"too long", "1\t1.00\ta\n2\t1\tb\n3\t1\t\"long\", it's\n", Description{Line: 3, Column: "code", Value: `"long", it's`}},
		{"too few columns", "1\t1.00\ta\n2\t1.00\n", Description{Line: 2}},
		{"invalid UTF-8", "1\t1.00\ta\n2\t1.00\t\xff\n", Description{Line: 2}},
		{"null", "1\t1.00\ta\n2\t\\N\tb\n", Description{Line: 2, Column: "the total"}},
		{"duplicate", "1\t1.00\ta\n2\t1.00\tb\n1\t2.00\tc\n", Description{Line: 3, Constraint: "t_pkey"}},
		{"check", "1\t-1.00\ta\n", Description{Line: 1, Constraint: "positive"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := load(t, s, "public.t", columns, c.rows)
			var e *pgconn.PgError
			require.ErrorAs(t, err, &e)
			class, _ := Classify(err)
			require.Equal(t, task.Data, class)
			got := Describe(e)
			switch c.name {
			case "null", "check":
				require.Contains(t, got.Detail, "Failing row contains")
			case "duplicate":
				require.Equal(t, "Key (id)=(1) already exists.", got.Detail)
			}
			got.Detail = ""
			require.Equal(t, c.want, got)
		})
	}
	require.False(t, value[bool](t, s, "SELECT EXISTS (SELECT FROM public.t)"))
}

func TestNoticesOfTheServerDoNotHoldALoadUp(t *testing.T) {
	s := open(t, "CREATE TABLE public.t (a int, b text)",
		`CREATE FUNCTION public.chat() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE '%', repeat('x', 1000); RETURN NEW; END $$`,
		`CREATE TRIGGER chat BEFORE INSERT ON public.t FOR EACH ROW EXECUTE FUNCTION public.chat()`)
	n, err := load(t, s, "public.t", []string{"a", "b"}, numbers(50_000))
	require.NoError(t, err)
	require.EqualValues(t, 50_000, n)
}

func TestALoadEndsSoonAfterABadRow(t *testing.T) {
	s := open(t, "CREATE TABLE public.t (a int, b text)")
	tx, err := s.begin(t.Context())
	require.NoError(t, err)
	defer tx.Rollback(t.Context())
	read := 0
	endless := io.MultiReader(strings.NewReader("bad\trow\n"), readerFunc(func(p []byte) (int, error) {
		n := copy(p, "1\tgood row\n")
		read += n
		return n, nil
	}))
	_, err = tx.Load(t.Context(), tableT, []string{"a", "b"}, endless)
	require.ErrorContains(t, err, "invalid input syntax for type integer")
	require.Less(t, read, 64<<20)
}
