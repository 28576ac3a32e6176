package connection

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/fault"
	"godwit/internal/sandbox"
	"godwit/internal/task"
)

// awkward is a password with everything that means something in a URL, in SQL
// or in PostgreSQL's keyword form.
const awkward = `s3cret p@ss:w/rd?#%41&=+;'"\é`

// requireRefusal opens a connection that cannot be opened, and checks that the
// error is of the class, says this, and gives nothing away.
func requireRefusal(t testing.TB, address string, class task.Class, want ...string) {
	t.Helper()
	var logged bytes.Buffer
	was := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&logged, nil))) // and with it the log package
	t.Cleanup(func() { slog.SetDefault(was) })

	err := open(t.Context(), connect(t, address))
	require.Error(t, err)
	require.NotNil(t, fault.Of(err))
	require.Equal(t, class, fault.Of(err).Class, err)
	for _, part := range want {
		require.ErrorContains(t, err, part)
	}
	require.NotContains(t, err.Error(), "\n")
	seen := logged.String()
	for e := err; e != nil; e = errors.Unwrap(e) {
		seen += fmt.Sprintf("%v %+v %#v", e, e, e)
	}
	u, parsing := url.Parse(address)
	require.NoError(t, parsing)
	password, _ := u.User.Password()
	for _, hidden := range []string{secret, password, url.QueryEscape(password), url.PathEscape(password), address} {
		if hidden != "" {
			require.NotContains(t, seen, hidden)
		}
	}
	require.Empty(t, logged.String(), "the drivers have nothing to add")
}

func TestAWrongPasswordIsSaidAndNotShown(t *testing.T) {
	for _, kind := range sandbox.Kinds() {
		t.Run(string(kind), func(t *testing.T) {
			s := server(t, kind)
			want := fmt.Sprintf(`connection "shop": the server at %s does not let user "godwit" in: check user`, s.Addr())
			for _, password := range []string{secret, awkward, ""} {
				requireRefusal(t, urlOf(s, "godwit", password, "shop"), task.Config, want)
			}
			requireRefusal(t, urlOf(s, "nobody_knows", secret, "shop"), task.Config, `does not let user "nobody_knows" in`)
		})
	}
}

func TestAPasswordOfAnyCharactersLetsIn(t *testing.T) {
	for _, kind := range sandbox.Kinds() {
		t.Run(string(kind), func(t *testing.T) {
			s := server(t, kind)
			newUser(t, s, "awkward_user", awkward)
			require.NoError(t, open(t.Context(), connect(t, urlOf(s, "awkward_user", awkward, "shop"))))
		})
	}
}

func TestAnUnknownDatabaseIsNamed(t *testing.T) {
	for _, kind := range sandbox.Kinds() {
		t.Run(string(kind), func(t *testing.T) {
			s := server(t, kind)
			requireRefusal(t, urlOf(s, s.User(), s.Password(), "shpo"), task.Config,
				fmt.Sprintf(`connection "shop": there is no database "shpo" on %s: create it, or name another one (`, s.Addr()))
		})
	}
}

func TestADatabaseThatTheUserMayNotUseIsNamed(t *testing.T) {
	for _, kind := range sandbox.Kinds() {
		t.Run(string(kind), func(t *testing.T) {
			s := server(t, kind)
			newUser(t, s, "limited_user", secret)
			database := "mysql"
			if kind == sandbox.Postgres {
				database = "closed"
				require.NoError(t, s.Exec(t.Context(), "", "DROP DATABASE IF EXISTS closed"))
				require.NoError(t, s.Exec(t.Context(), "", "CREATE DATABASE closed"))
				require.NoError(t, s.Exec(t.Context(), "", "REVOKE CONNECT ON DATABASE closed FROM PUBLIC"))
			}
			requireRefusal(t, urlOf(s, "limited_user", secret, database), task.Config,
				fmt.Sprintf(`connection "shop": user "limited_user" may not use database %q on %s: grant`, database, s.Addr()))
		})
	}
}

func TestAServerWithoutAFreeSessionIsBusy(t *testing.T) {
	for _, kind := range sandbox.Kinds() {
		t.Run(string(kind), func(t *testing.T) {
			s := server(t, kind)
			newUser(t, s, "single_user", secret)
			limit := "ALTER ROLE single_user CONNECTION LIMIT 1"
			if kind != sandbox.Postgres {
				limit = "ALTER USER single_user WITH MAX_USER_CONNECTIONS 1"
			}
			require.NoError(t, s.Exec(t.Context(), "", limit))
			address := urlOf(s, "single_user", secret, "shop")
			require.NoError(t, open(t.Context(), connect(t, address)))
			requireRefusal(t, address, task.Busy, `has no session left for user "single_user": raise its limit, or make the pool smaller`)
		})
	}
}

func TestAServerThatIsNotThereIsTransient(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	place := listener.Addr().String()
	require.NoError(t, listener.Close())
	for _, scheme := range []string{"mysql", "postgres"} {
		requireRefusal(t, scheme+"://u:s3cret@"+place+"/d", task.Transient,
			fmt.Sprintf(`connection "shop": the server at %s cannot be reached (connect: connection refused)`, place))
		requireRefusal(t, scheme+"://u:s3cret@no-such-host.invalid/d", task.Transient,
			`connection "shop": the host "no-such-host.invalid" is not known (`)
		requireRefusal(t, scheme+"://u:s3cret@/d?socket=/not/there", task.Transient,
			`connection "shop": the server at /not/there cannot be reached (connect: no such file or directory)`)
	}
}

// listen serves every connection with the function, and then closes it.
func listen(t testing.TB, serve func(net.Conn)) (place string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				serve(conn)
			}()
		}
	}()
	return listener.Addr().String()
}

func TestAServerThatSaysNothingIsGivenUp(t *testing.T) {
	place := listen(t, func(conn net.Conn) { <-t.Context().Done() })
	for _, scheme := range []string{"mysql", "postgres"} {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		err := open(ctx, connect(t, scheme+"://u:s3cret@"+place+"/d"))
		require.EqualError(t, err, fmt.Sprintf(`connection "shop": the server at %s does not answer in time`, place))
		require.Equal(t, task.Transient, fault.Of(err).Class)

		ctx, cancel = context.WithCancel(t.Context())
		time.AfterFunc(100*time.Millisecond, cancel)
		err = open(ctx, connect(t, scheme+"://u:s3cret@"+place+"/d"))
		require.ErrorIs(t, err, context.Canceled)
	}
}

func TestAServerOfAnotherKindIsNotSpokenTo(t *testing.T) {
	place := listen(t, func(conn net.Conn) { _, _ = conn.Write([]byte("220 mail.example ESMTP\r\n")) })
	for _, scheme := range []string{"mysql", "postgres"} {
		requireRefusal(t, scheme+"://u:s3cret@"+place+"/d", task.Transient, "the server at "+place)
	}
	s := server(t, sandbox.MariaDB)
	requireRefusal(t, "postgres://u:s3cret@"+s.Addr()+"/d", task.Transient, "or no postgres server")
}

func TestAPoolOfTheOtherEngineIsRefused(t *testing.T) {
	_, err := connect(t, "mysql://u@h/d").Postgres(t.Context())
	require.EqualError(t, err, `connection "shop" is a mysql connection, and a postgres one is needed`)
	require.Equal(t, task.Config, fault.Of(err).Class)
	_, err = connect(t, "postgres://u@h/d").MySQL(t.Context())
	require.EqualError(t, err, `connection "shop" is a postgres connection, and a mysql one is needed`)
}

func TestAPasswordFileThatIsGoneIsSaid(t *testing.T) {
	for _, scheme := range []string{"mysql", "postgres"} {
		file := writeFile(t, "password", secret)
		c := get(t, load(t, fmt.Sprintf("shop: {url: '%s://u@127.0.0.1:1/d', password_file: %s}\n", scheme, file)), "shop")
		require.NoError(t, os.Remove(file))
		// A server is needed only as far as a TCP connection.
		c.address.port = portOf(t, listen(t, func(conn net.Conn) {}))
		err := open(t.Context(), c)
		require.EqualError(t, err, `connection "shop": the password cannot be read: open `+file+`: no such file or directory`)
		require.Equal(t, task.Config, fault.Of(err).Class)
	}
}

func portOf(t testing.TB, place string) int {
	t.Helper()
	resolved, err := net.ResolveTCPAddr("tcp", place)
	require.NoError(t, err)
	return resolved.Port
}

func TestTLSThatCannotBeHadIsSaid(t *testing.T) {
	plain := server(t, sandbox.Postgres)
	requireRefusal(t, urlOf(plain, plain.User(), plain.Password(), "shop")+"?sslmode=require", task.Config,
		`does not encrypt connections: set it up for TLS, or choose another TLS mode`)
	plain = server(t, sandbox.MariaDB)
	requireRefusal(t, urlOf(plain, plain.User(), plain.Password(), "shop")+"?sslmode=require", task.Config,
		`does not encrypt connections: set it up for TLS, or choose another TLS mode`)
	for _, scheme := range []string{"mysql", "postgres"} {
		requireRefusal(t, scheme+"://u:s3cret@h/d?sslrootcert=/not/there", task.Config,
			`connection "shop": TLS authorities: open /not/there: no such file or directory`)
		requireRefusal(t, scheme+"://u:s3cret@h/d?sslrootcert="+writeFile(t, "empty.pem", ""), task.Config, `TLS authorities: no certificate in `)
		requireRefusal(t, scheme+"://u:s3cret@h/d?sslcert=/not/there&sslkey=/nor/here", task.Config, `TLS client certificate: open /not/there`)
	}
}

func TestAClosedRegistryOpensNothing(t *testing.T) {
	s := server(t, sandbox.Postgres)
	r := load(t, "", "GODWIT_CONNECTION_SHOP="+s.URL("shop"), "GODWIT_CONNECTION_OLD="+server(t, sandbox.MariaDB).URL("shop"))
	pool, err := get(t, r, "shop").Postgres(t.Context())
	require.NoError(t, err)
	db, err := get(t, r, "old").MySQL(t.Context())
	require.NoError(t, err)
	r.Close()
	require.Error(t, pool.Ping(t.Context()))
	require.Error(t, db.Ping())
	for _, name := range r.Names() {
		err := open(t.Context(), get(t, r, name))
		require.ErrorContains(t, err, "is closed: the worker is stopping")
		require.Equal(t, task.Stopping, fault.Of(err).Class)
	}
}

func TestAServerThatComesBackIsConnectedTo(t *testing.T) {
	s := server(t, sandbox.Postgres)
	c := connect(t, strings.Replace(s.URL("shop"), s.Addr(), "127.0.0.1:1", 1))
	require.Error(t, open(t.Context(), c), "nobody listens there")
	c.address.port = s.Port
	require.NoError(t, open(t.Context(), c), "a failure is not remembered")
}
