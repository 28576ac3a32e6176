package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"godwit/internal/process"
)

// postgresEngine runs the programs in bin.
type postgresEngine struct {
	bin     string
	account *account
}

func findPostgres() (engine, error) {
	account, err := unprivileged("postgres", "nobody")
	if err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	return &postgresEngine{bin: postgresPrograms(), account: account}, nil
}

// postgresPrograms is the folder of the newest server: distributions keep several side by side and outside PATH.
func postgresPrograms() string {
	var found []string
	for _, pattern := range []string{"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin"} {
		matches, _ := filepath.Glob(filepath.Join(pattern, "initdb")) // only a bad pattern is an error
		found = append(found, matches...)
	}
	if len(found) > 0 {
		return filepath.Dir(newest(found, func(path string) string { return filepath.Base(filepath.Dir(filepath.Dir(path))) }))
	}
	initdb, err := exec.LookPath("initdb")
	if err != nil {
		return ""
	}
	return filepath.Dir(initdb)
}

func (e *postgresEngine) program(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(e.bin, name), args...)
	cmd.SysProcAttr = e.account.attributes()
	return cmd
}

func (e *postgresEngine) initialise(ctx context.Context, s *Server) error {
	if err := e.account.checkEntry(s.data()); err != nil {
		return err
	}
	if s.options.primary != nil {
		return e.copyPrimary(ctx, s)
	}
	password := filepath.Join(s.Dir, "password")
	if err := os.WriteFile(password, []byte(s.password+"\n"), 0o600); err != nil {
		return err
	}
	defer os.Remove(password)
	if err := os.Mkdir(s.data(), 0o700); err != nil {
		return err
	}
	if err := errors.Join(e.account.own(password), e.account.own(s.data())); err != nil {
		return err
	}
	locale := "C.UTF-8"
	if runtime.GOOS != "linux" {
		locale = "C" // the one that every system has
	}
	log, err := s.openLog()
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := e.program("initdb", "--pgdata="+s.data(), "--username="+superuser, "--pwfile="+password, "--auth=scram-sha-256",
		"--encoding=UTF8", "--locale="+locale, "--no-sync", "--no-instructions")
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = s.Dir, serverEnvironment(), log, log
	// It runs servers, and those leave shared memory that nobody finds again when they are killed.
	return process.RunGently(ctx, cmd)
}

func (e *postgresEngine) command(s *Server) *exec.Cmd {
	settings := map[string]string{"max_connections": "200", "max_wal_size": "2GB"}
	if !s.options.Durable {
		maps.Copy(settings, map[string]string{"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"})
	}
	settings = s.settings(settings)
	args := []string{"-D", s.data(), "-p", strconv.Itoa(s.Port), "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="}
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		args = append(args, "-c", name+"="+settings[name])
	}
	return e.program("postgres", args...)
}

// stopSignal is PostgreSQL's fast shutdown: sessions are ended, committed data is written.
func (e *postgresEngine) stopSignal() syscall.Signal { return syscall.SIGINT }

// deathSignal is the immediate shutdown. A postmaster that is simply killed leaves busy backends behind.
func (e *postgresEngine) deathSignal() syscall.Signal { return syscall.SIGQUIT }

// clear removes the shared memory of a server that was killed. Only the next start over the same data directory knows
// which it is, and a start without a server is enough for that.
func (e *postgresEngine) clear(dir string) error {
	data := filepath.Join(dir, "data")
	if _, err := os.Stat(filepath.Join(data, "postmaster.pid")); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	// As a standby it would not start without its postmaster.
	if err := os.Remove(filepath.Join(data, "standby.signal")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopLimit)
	defer cancel()
	cmd := e.program("postgres", "--single", "-D", data, "-c", "fsync=off", "-c", "unix_socket_directories=", "postgres")
	cmd.Dir, cmd.Env = dir, serverEnvironment()
	return process.Run(ctx, cmd)
}

func (e *postgresEngine) url(s *Server, database string) string {
	return s.address("postgres", database, "sslmode=disable")
}

func (e *postgresEngine) quote(name string) string { return pgx.Identifier{name}.Sanitize() }

func (e *postgresEngine) version(ctx context.Context, s *Server) (version string, err error) {
	err = e.session(ctx, s, "", func(ctx context.Context, conn *pgx.Conn) error {
		return conn.QueryRow(ctx, "SHOW server_version").Scan(&version)
	})
	return version, err
}

func (e *postgresEngine) exec(ctx context.Context, s *Server, database, sql string) error {
	return e.session(ctx, s, database, func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.PgConn().Exec(ctx, sql).ReadAll()
		return err
	})
}

func (e *postgresEngine) session(ctx context.Context, s *Server, database string, use func(context.Context, *pgx.Conn) error) error {
	conn, err := pgx.Connect(ctx, e.url(s, cmp.Or(database, "postgres")))
	if err != nil {
		return err
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = conn.Close(closing) // what was to be done is done, or has its own error
	}()
	return use(ctx, conn)
}

func (e *postgresEngine) client(s *Server, args []string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(e.bin, "psql"), args...)
	cmd.Env = clientEnvironment("PG", "PGHOST=127.0.0.1", "PGPORT="+strconv.Itoa(s.Port), "PGUSER="+superuser, "PGPASSWORD="+s.password,
		"PGDATABASE=postgres", "PGSSLMODE=disable", "PSQLRC="+os.DevNull)
	return cmd
}
