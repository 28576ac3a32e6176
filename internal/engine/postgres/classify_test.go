package postgres

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"godwit/internal/task"
)

func TestEveryErrorThatAServerKnowsHasItsClass(t *testing.T) {
	text, err := os.ReadFile("testdata/sqlstates.txt")
	require.NoError(t, err)
	listed := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) != 3 || fields[0] == "#" {
			continue
		}
		listed[fields[0]], listed[fields[0][:2]] = true, true
		class, known := Classify(fmt.Errorf("somewhere: %w", &pgconn.PgError{Code: fields[0]}))
		require.True(t, known)
		require.Equal(t, task.Class(fields[1]), class, line)
	}
	require.Greater(t, len(listed), 250)
	for code := range states {
		require.True(t, listed[code], "%s is an exception that no server makes", code)
	}
	for prefix := range stateClasses {
		require.True(t, listed[prefix] || prefix < "03", "%s is a class that no server has", prefix)
	}
}

func TestErrorsThatAreToldApartByMoreThanTheirCode(t *testing.T) {
	for _, c := range []struct {
		err  pgconn.PgError
		want task.Class
	}{
		{pgconn.PgError{Code: "XX000", Message: "tuple concurrently updated"}, task.Busy},
		{pgconn.PgError{Code: "XX000", Message: "cache lookup failed for type 42"}, task.Human},
		{pgconn.PgError{Code: "0A000", Message: "im Cache gespeicherter Plan", Routine: "RevalidateCachedQuery"}, task.Transient},
		{pgconn.PgError{Code: "0A000", Routine: "DefineIndex"}, task.Config},
		{pgconn.PgError{Code: "45000", Message: "raised by a trigger"}, task.Data},
		{pgconn.PgError{Code: "ZZZZZ"}, task.Data},
		{pgconn.PgError{Code: ""}, task.Data},
	} {
		class, known := Classify(&c.err)
		require.True(t, known)
		require.Equal(t, c.want, class, c.err)
	}
}

func TestErrorsOfTheConnectionAndOfOthersAreToldApart(t *testing.T) {
	for _, c := range []struct {
		err   error
		class task.Class
		known bool
	}{
		{nil, "", false},
		{errors.New("something else"), "", false},
		{context.Canceled, "", false},
		{fmt.Errorf("waiting: %w", context.DeadlineExceeded), "", false},
		{io.ErrUnexpectedEOF, task.Transient, true},
		{io.EOF, task.Transient, true},
		{net.ErrClosed, task.Transient, true},
		{&net.OpError{Op: "read", Err: syscall.ECONNRESET}, task.Transient, true},
		{fmt.Errorf("x: %w", pgconn.ErrConnClosed), task.Transient, true},
		{pgx.ErrTxCommitRollback, "", false},
		{pgx.ErrNoRows, "", false},
		{pgx.ErrTxClosed, "", false},
		{x509.HostnameError{Certificate: &x509.Certificate{}}, task.Config, true},
		{fmt.Errorf("x: %w", x509.UnknownAuthorityError{}), task.Config, true},
	} {
		class, known := Classify(c.err)
		require.Equal(t, c.known, known, "%v", c.err)
		require.Equal(t, c.class, class, "%v", c.err)
	}
}

func TestConnectionsThatCannotBeMadeHaveTheirClass(t *testing.T) {
	classify := func(change func(*pgxpool.Config)) task.Class {
		config, err := pgxpool.ParseConfig(box.URL("postgres"))
		require.NoError(t, err)
		change(config)
		pool, err := pgxpool.NewWithConfig(t.Context(), config)
		require.NoError(t, err)
		defer pool.Close()
		_, err = New(pool).Identity(t.Context())
		require.Error(t, err)
		class, known := Classify(err)
		require.True(t, known, "%v", err)
		return class
	}
	role := newRole(t, "CONNECTION LIMIT 0")
	require.Equal(t, task.Config, classify(func(c *pgxpool.Config) { c.ConnConfig.Password = "wrong" }))
	require.Equal(t, task.Config, classify(func(c *pgxpool.Config) { c.ConnConfig.Database = "nowhere" }))
	require.Equal(t, task.Busy, classify(func(c *pgxpool.Config) { c.ConnConfig.User, c.ConnConfig.Password = role, "secret" }))
	require.Equal(t, task.Transient, classify(func(c *pgxpool.Config) { c.ConnConfig.Port = 1 }))
	require.Equal(t, task.Transient, classify(func(c *pgxpool.Config) {
		c.ConnConfig.ConnectTimeout = 20 * time.Millisecond
		c.ConnConfig.DialFunc = func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
	}))

	pool, err := pgxpool.New(t.Context(), box.URL("postgres"))
	require.NoError(t, err)
	pool.Close()
	_, err = New(pool).Begin(t.Context())
	class, known := Classify(err)
	require.True(t, known)
	require.Equal(t, task.Stopping, class)
}

func TestAPreparedStatementThatATableOutgrewIsTriedAgain(t *testing.T) {
	s := open(t, "CREATE TABLE public.t (a int)")
	conn := acquire(t, s)
	read := func() error {
		rows, err := conn.Query(t.Context(), "SELECT * FROM public.t WHERE a = $1", 1)
		if err != nil {
			return err
		}
		for rows.Next() {
		}
		return rows.Close()
	}
	require.NoError(t, read())
	execute(t, s, "ALTER TABLE public.t ADD b int")
	class, known := Classify(read())
	require.True(t, known)
	require.Equal(t, task.Transient, class)
	require.NoError(t, read())
}
