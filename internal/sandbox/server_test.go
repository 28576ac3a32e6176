package sandbox_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/sandbox"
	"godwit/internal/sandbox/sandboxtest"
)

func onEveryEngine(t *testing.T, scenario func(t *testing.T, kind sandbox.Kind)) {
	for _, kind := range sandbox.Kinds() {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			scenario(t, kind)
		})
	}
}

// read returns what the client program prints for a query, without headings.
func read(t *testing.T, s *sandbox.Server, database, query string) string {
	t.Helper()
	args := []string{"--batch", "--skip-column-names", "--execute=" + query, database}
	if s.Kind == sandbox.Postgres {
		args = []string{"--no-align", "--tuples-only", "--command=" + query, database}
	}
	output, err := s.Client(args...).CombinedOutput()
	require.NoError(t, err, "%s", output)
	return strings.TrimSpace(string(output))
}

// TestOneServer holds what can be seen on a server that is only used.
func TestOneServer(t *testing.T) {
	onEveryEngine(t, func(t *testing.T, kind sandbox.Kind) {
		var log strings.Builder
		began := time.Now()
		s := sandboxtest.Start(t, kind, sandbox.Options{Databases: []string{"shop", `odd "name`}, Log: &log})
		t.Logf("%s %s started in %s", kind, s.Version, time.Since(began).Round(time.Millisecond))
		require.NotEmpty(t, s.Version)
		require.Contains(t, log.String(), "initialising "+string(kind))
		require.NotContains(t, log.String(), s.Password())
		require.FileExists(t, filepath.Join(s.Dir, string(kind)+".log"))

		for name, scenario := range map[string]func(*testing.T, *sandbox.Server){
			"has the databases it was asked for":  hasItsDatabases,
			"tells an error in a later statement": tellsALaterError,
			"lets its user do everything":         letsItsUserDoEverything,
			"does not let strangers in":           doesNotLetStrangersIn,
			"shows its password in no arguments":  showsItsPasswordInNoArguments,
		} {
			t.Run(name, func(t *testing.T) { scenario(t, s) })
		}
	})
}

func hasItsDatabases(t *testing.T, s *sandbox.Server) {
	require.NoError(t, s.Exec(t.Context(), "shop", "CREATE TABLE t (id int PRIMARY KEY, note varchar(20)); INSERT INTO t VALUES (1, '信天翁 🐦');"))
	require.NoError(t, s.Exec(t.Context(), `odd "name`, "CREATE TABLE t (id int PRIMARY KEY)"))
	require.Equal(t, "信天翁 🐦", read(t, s, "shop", "SELECT note FROM t"))
}

func tellsALaterError(t *testing.T, s *sandbox.Server) {
	err := s.Exec(t.Context(), "shop", "CREATE TABLE a (id int); CREATE TABLE b (id int); INSERT INTO nowhere VALUES (1);")
	require.ErrorContains(t, err, "nowhere")
}

func letsItsUserDoEverything(t *testing.T, s *sandbox.Server) {
	statements := []string{
		"CREATE USER other@'%' IDENTIFIED BY 'x'", "GRANT ALL PRIVILEGES ON *.* TO other@'%' WITH GRANT OPTION", "SET GLOBAL max_connections = 50",
	}
	if s.Kind == sandbox.Postgres {
		statements = []string{"CREATE ROLE other SUPERUSER LOGIN", "ALTER SYSTEM SET max_connections = 50"}
	}
	for _, statement := range statements {
		require.NoError(t, s.Exec(t.Context(), "", statement))
	}
}

func doesNotLetStrangersIn(t *testing.T, s *sandbox.Server) {
	for _, name := range []string{"root", "postgres", "mysql", ""} {
		cmd := s.Client("--user="+name, "--execute=SELECT 1")
		cmd.Args = replace(cmd.Args, "--defaults-file=", "--no-defaults", "--protocol=tcp", "--host=127.0.0.1", fmt.Sprintf("--port=%d", s.Port))
		if s.Kind == sandbox.Postgres {
			cmd = s.Client("--no-password", "--username="+name, "--command=SELECT 1")
			cmd.Env = append(cmd.Env, "PGPASSWORD=wrong")
		}
		output, err := cmd.CombinedOutput()
		require.Error(t, err, "user %q got in: %s", name, output)
	}
}

// replace puts others in the place of the argument with the prefix.
func replace(args []string, prefix string, others ...string) []string {
	var replaced []string
	for _, arg := range args {
		if strings.HasPrefix(arg, prefix) {
			replaced = append(replaced, others...)
		} else {
			replaced = append(replaced, arg)
		}
	}
	return replaced
}

func TestARestartedServerKeepsItsDataAndItsPort(t *testing.T) {
	onEveryEngine(t, func(t *testing.T, kind sandbox.Kind) {
		s := sandboxtest.Start(t, kind, sandbox.Options{Databases: []string{"shop"}})
		port := s.Port
		require.NoError(t, s.Exec(t.Context(), "shop", "CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (1), (2);"))
		require.NoError(t, s.Restart(t.Context()))
		require.Equal(t, port, s.Port)
		require.Equal(t, "2", read(t, s, "shop", "SELECT count(*) FROM t"))
	})
}

func TestAKilledDurableServerResumesWithAllThatWasCommitted(t *testing.T) {
	onEveryEngine(t, func(t *testing.T, kind sandbox.Kind) {
		s := sandboxtest.Start(t, kind, sandbox.Options{Databases: []string{"shop"}, Durable: true})
		require.NoError(t, s.Exec(t.Context(), "shop", "CREATE TABLE t (id int PRIMARY KEY)"))
		for id := range 50 {
			require.NoError(t, s.Exec(t.Context(), "shop", fmt.Sprintf("INSERT INTO t VALUES (%d)", id)))
		}
		processes := processesOf(t, s)
		require.NoError(t, s.Kill())
		require.Empty(t, running(t, processes), "processes of a killed server")
		require.Error(t, s.Exec(t.Context(), "shop", "SELECT 1"))

		require.NoError(t, s.Resume(t.Context()))
		require.Equal(t, "50", read(t, s, "shop", "SELECT count(*) FROM t"))
		require.NoError(t, s.Resume(t.Context()), "of a server that is up")
		require.Equal(t, "50", read(t, s, "shop", "SELECT count(*) FROM t"))
	})
}

func TestNothingRemainsOfAStoppedServer(t *testing.T) {
	onEveryEngine(t, func(t *testing.T, kind sandbox.Kind) {
		for _, killedBefore := range []bool{false, true} {
			s := sandboxtest.Start(t, kind, sandbox.Options{})
			processes := processesOf(t, s)
			require.NotEmpty(t, running(t, processes))
			segments := sharedMemoryOf(t, processes)
			if kind == sandbox.Postgres {
				require.Equal(t, segments, existing(t, segments))
				require.GreaterOrEqual(t, len(segments), 2, "a segment of each kind")
			}
			if killedBefore {
				require.NoError(t, s.Kill())
			}
			require.NoError(t, s.Stop())
			require.Empty(t, running(t, processes))
			require.NoDirExists(t, s.Dir)
			require.Empty(t, existing(t, segments), "shared memory, killed before: %v", killedBefore)
			_, err := net.Dial("tcp", s.Addr())
			require.Error(t, err)
			require.NoError(t, s.Stop(), "stopping again")
		}
	})
}

func TestAKeptFolderSurvivesItsServer(t *testing.T) {
	s, err := sandbox.Start(t.Context(), sandbox.MariaDB, sandbox.Options{Keep: true})
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(s.Dir) })
	processes := processesOf(t, s)
	require.NoError(t, s.Stop())
	require.Empty(t, running(t, processes))
	sandboxtest.Start(t, sandbox.MariaDB, sandbox.Options{})
	require.DirExists(t, filepath.Join(s.Dir, "data"), "after the next server has swept")
}

func TestSettingsReachTheServer(t *testing.T) {
	onEveryEngine(t, func(t *testing.T, kind sandbox.Kind) {
		settings, query, want := map[string]string{"log-bin": "trail", "binlog_format": "ROW", "innodb_buffer_pool_size": "256M", "server-id": "7"},
			"SELECT concat_ws(' ', if(@@log_bin, 'ON', 'OFF'), @@binlog_format, @@innodb_buffer_pool_size, @@server_id)", "ON ROW 268435456 7"
		if kind == sandbox.Postgres {
			settings, query, want = map[string]string{"wal_level": "logical", "shared_buffers": "32MB"},
				"SELECT current_setting('wal_level'), current_setting('shared_buffers')", "logical|32MB"
		}
		s := sandboxtest.Start(t, kind, sandbox.Options{Settings: settings, Databases: []string{"shop"}})
		require.Equal(t, want, read(t, s, "shop", query))
	})
}

func TestAWrongSettingIsReportedInTheServersOwnWords(t *testing.T) {
	onEveryEngine(t, func(t *testing.T, kind sandbox.Kind) {
		dir := openDir(t)
		_, err := sandbox.Start(t.Context(), kind, sandbox.Options{Dir: dir, Settings: map[string]string{"no_such_setting": "1"}})
		require.ErrorContains(t, err, "no_such_setting")
		left, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Empty(t, left)
	})
}

func TestATakenPortIsNamed(t *testing.T) {
	onEveryEngine(t, func(t *testing.T, kind sandbox.Kind) {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer listener.Close()
		port := listener.Addr().(*net.TCPAddr).Port
		_, err = sandbox.Start(t.Context(), kind, sandbox.Options{Port: port})
		require.ErrorContains(t, err, "taken by another program")
		require.ErrorContains(t, err, fmt.Sprint(port))
	})
}

func TestAnAbandonedStartLeavesNothing(t *testing.T) {
	onEveryEngine(t, func(t *testing.T, kind sandbox.Kind) {
		dir := openDir(t)
		for _, patience := range []time.Duration{150, 250, 400, 600} {
			segments := abandonStart(t, kind, dir, patience*time.Millisecond)
			left, err := os.ReadDir(dir)
			require.NoError(t, err)
			require.Empty(t, left)
			require.Empty(t, mentioning(t, dir))
			require.Empty(t, existing(t, segments), "shared memory")
		}
	})
}

// abandonStart gives a start up after a while and returns the shared memory that was used until then.
func abandonStart(t *testing.T, kind sandbox.Kind, dir string, patience time.Duration) (segments []string) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ended := make(chan error)
	go func() {
		s, err := sandbox.Start(ctx, kind, sandbox.Options{Dir: dir})
		if err == nil {
			err = s.Stop() // it was fast enough
		}
		ended <- err
	}()
	for {
		segments = append(segments, sharedMemoryOf(t, mentioning(t, dir))...)
		select {
		case err := <-ended:
			if err != nil {
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.NotContains(t, err.Error(), "clean up")
			}
			return segments
		case <-time.After(2 * time.Millisecond):
		}
	}
}

func TestServersRunSideBySide(t *testing.T) {
	first := sandboxtest.Start(t, sandbox.MariaDB, sandbox.Options{Databases: []string{"a"}})
	second := sandboxtest.Start(t, sandbox.MariaDB, sandbox.Options{Databases: []string{"b"}})
	require.NotEqual(t, first.Addr(), second.Addr())
	require.NotEqual(t, first.Password(), second.Password())
	require.Equal(t, "b", read(t, second, "b", "SELECT database()"))
	require.Equal(t, "a", read(t, first, "a", "SELECT database()"))
}

// openDir is a folder that servers under other users may enter; those of testing.T are closed to them.
func openDir(t *testing.T) string {
	dir, err := os.MkdirTemp("", "godwit-test-")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o755))
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
