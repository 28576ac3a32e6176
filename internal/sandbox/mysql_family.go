package sandbox

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/go-sql-driver/mysql"
)

// mysqlFamily is what MariaDB and MySQL have in common, which is all but how a data directory comes about.
type mysqlFamily struct {
	server   []string                                   // the program, with what runs it before and the options that must come first after
	program  string                                     // of the client
	settings map[string]string                          // the engine's own defaults
	fast     map[string]string                          // and those that make it fast at the price of durability
	create   func(ctx context.Context, s *Server) error // makes s.data(), with no user that can log in over TCP
}

const (
	userScript  = "user.sql"
	clientFile  = "client.cnf"
	clientRules = `[client]
protocol=tcp
host=127.0.0.1
port=%d
user=%s
password=%s
default-character-set=utf8mb4
[client-mariadb]
skip-ssl
`
)

func (e *mysqlFamily) initialise(ctx context.Context, s *Server) error {
	if err := os.Mkdir(s.tmp(), 0o700); err != nil {
		return err
	}
	if err := e.create(ctx, s); err != nil {
		return err
	}
	// The server runs this before it answers, at every start, one statement a line.
	script := fmt.Sprintf("SET SESSION sql_log_bin = 0;\n"+
		"CREATE USER IF NOT EXISTS %[1]s@'%%' IDENTIFIED BY '%[2]s';\n"+
		"GRANT ALL PRIVILEGES ON *.* TO %[1]s@'%%' WITH GRANT OPTION;\n"+
		"DROP USER IF EXISTS root@localhost;\n", superuser, s.password)
	if err := os.WriteFile(filepath.Join(s.Dir, userScript), []byte(script), 0o600); err != nil {
		return err
	}
	rules := fmt.Sprintf(clientRules, s.Port, superuser, s.password)
	return os.WriteFile(filepath.Join(s.Dir, clientFile), []byte(rules), 0o600)
}

func (e *mysqlFamily) command(s *Server) *exec.Cmd {
	settings := e.effective(s)
	args := append(slices.Clone(e.server[1:]), e.place(s.data())...)
	// The path of a Unix socket is short by law; one that is relative to the data directory always fits.
	args = append(args, "--tmpdir="+s.tmp(), "--socket=server.sock", "--pid-file=server.pid", "--port="+strconv.Itoa(s.Port),
		"--bind-address=127.0.0.1", "--skip-name-resolve", "--init-file="+filepath.Join(s.Dir, userScript))
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		args = append(args, setting(name, settings[name]))
	}
	return exec.Command(e.server[0], args...)
}

// effective are the settings that the server is started with.
func (e *mysqlFamily) effective(s *Server) map[string]string {
	settings := map[string]string{
		"character_set_server": "utf8mb4", "max_connections": "200", "server_id": "1",
		"innodb_buffer_pool_size": "128M", "secure_file_priv": "", "local_infile": "ON",
	}
	maps.Copy(settings, e.settings)
	if !s.options.Durable {
		maps.Copy(settings, e.fast)
	}
	return s.settings(settings)
}

// setting is a bare flag without a value, but for the one setting that is turned off by an empty value.
func setting(name, value string) string {
	if value == "" && name != "secure_file_priv" {
		return "--" + name
	}
	return "--" + name + "=" + value
}

// place names a data directory, and root to a server that is started by root, which it otherwise refuses.
func (e *mysqlFamily) place(data string) []string {
	args := []string{"--datadir=" + data}
	if os.Geteuid() == 0 {
		args = append(args, "--user=root")
	}
	return args
}

func (e *mysqlFamily) stopSignal() syscall.Signal  { return syscall.SIGTERM }
func (e *mysqlFamily) deathSignal() syscall.Signal { return syscall.SIGKILL }

// clear has nothing to do: these servers keep everything in their folder.
func (e *mysqlFamily) clear(string) error { return nil }

func (e *mysqlFamily) url(s *Server, database string) string { return s.address("mysql", database, "") }

func (e *mysqlFamily) quote(name string) string {
	return "`" + strings.ReplaceAll(name, "`", "``") + "`"
}

func (e *mysqlFamily) version(ctx context.Context, s *Server) (version string, err error) {
	err = e.session(ctx, s, "", func(ctx context.Context, conn *sql.Conn) error {
		return conn.QueryRowContext(ctx, "SELECT VERSION()").Scan(&version)
	})
	return version, err
}

func (e *mysqlFamily) exec(ctx context.Context, s *Server, database, statements string) error {
	return e.session(ctx, s, database, func(ctx context.Context, conn *sql.Conn) error {
		_, err := conn.ExecContext(ctx, statements)
		return err
	})
}

func (e *mysqlFamily) session(ctx context.Context, s *Server, database string, use func(context.Context, *sql.Conn) error) (err error) {
	config := mysql.NewConfig()
	config.User, config.Passwd, config.Net, config.Addr, config.DBName = superuser, s.password, "tcp", s.Addr(), database
	config.MultiStatements = true
	config.AllowNativePasswords = true
	config.Logger = &mysql.NopLogger{} // while the server is starting, failing is no news
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return err
	}
	return withConnection(ctx, connector, use)
}

func withConnection(ctx context.Context, connector driver.Connector, use func(context.Context, *sql.Conn) error) (err error) {
	pool := sql.OpenDB(connector)
	defer func() { err = errors.Join(err, pool.Close()) }()
	conn, err := pool.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	return use(ctx, conn)
}

func (e *mysqlFamily) client(s *Server, args []string) *exec.Cmd {
	cmd := exec.Command(e.program, append([]string{"--defaults-file=" + filepath.Join(s.Dir, clientFile)}, args...)...)
	cmd.Env = clientEnvironment("MYSQL")
	return cmd
}
