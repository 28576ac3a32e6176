package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"godwit/internal/engine"
	"godwit/internal/mysqlwire"
	"godwit/internal/sandbox"
)

// boxes are the servers, started by the first test that needs them.
var boxes = struct {
	sync.Mutex
	running   map[sandbox.Kind]*sandbox.Server
	databases int
}{running: map[sandbox.Kind]*sandbox.Server{}}

func TestMain(m *testing.M) {
	code := m.Run()
	for _, box := range boxes.running {
		if err := box.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// testServer is a Server with a database for one test.
type testServer struct {
	*Server
	box      *sandbox.Server
	kind     sandbox.Kind
	database string
	settings []func(*mysql.Config)
}

func (s *testServer) isMariaDB() bool { return s.kind == sandbox.MariaDB }

// onBoth runs a test on MariaDB and on MySQL.
func onBoth(t *testing.T, test func(t *testing.T, s *testServer)) {
	for _, kind := range []sandbox.Kind{sandbox.MariaDB, sandbox.MySQL} {
		t.Run(string(kind), func(t *testing.T) { test(t, start(t, kind)) })
	}
}

func start(t testing.TB, kind sandbox.Kind, settings ...func(*mysql.Config)) *testServer {
	t.Helper()
	boxes.Lock()
	defer boxes.Unlock()
	box := boxes.running[kind]
	if box == nil {
		var err error
		box, err = sandbox.Start(context.Background(), kind, sandbox.Options{Settings: map[string]string{"innodb_buffer_pool_size": "512M", "max_allowed_packet": "64M"}})
		require.NoError(t, err, "a test needs a server")
		boxes.running[kind] = box
	}
	boxes.databases++
	s := &testServer{box: box, kind: kind, database: fmt.Sprintf("test%d", boxes.databases), settings: settings}
	require.NoError(t, box.Exec(t.Context(), "", "CREATE DATABASE "+s.database+" CHARACTER SET utf8mb4"))
	t.Cleanup(func() { require.NoError(t, box.Exec(context.Background(), "", "DROP DATABASE "+s.database)) })
	s.Server = New(s.pool(t, box.User(), box.Password()))
	return s
}

// pool makes a pool as internal/connection does.
func (s *testServer) pool(t testing.TB, user, password string) *sql.DB {
	t.Helper()
	config := mysql.NewConfig()
	config.Net, config.Addr, config.User, config.Passwd, config.DBName = "tcp", s.box.Addr(), user, password, s.database
	config.InterpolateParams, config.ClientFoundRows, config.MaxAllowedPacket, config.Logger = true, true, 0, &mysql.NopLogger{}
	config.Params = map[string]string{"time_zone": "'+00:00'",
		"sql_mode": "'STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,NO_ENGINE_SUBSTITUTION,NO_AUTO_VALUE_ON_ZERO'"}
	config.Collation = "utf8mb4_bin"
	require.NoError(t, config.Apply(mysql.Charset("utf8mb4", "utf8mb4_bin")))
	for _, set := range s.settings {
		set(config)
	}
	connector, err := mysqlwire.NewConnector(config)
	require.NoError(t, err)
	db := sql.OpenDB(connector)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

// exec runs statements that may hold zero dates and the like.
func (s *testServer) exec(t testing.TB, statements ...string) {
	t.Helper()
	all := append([]string{"SET NAMES utf8mb4", "SET sql_mode = 'NO_AUTO_VALUE_ON_ZERO', time_zone = '+00:00'"}, statements...)
	require.NoError(t, s.box.Exec(t.Context(), s.database, strings.Join(all, ";\n")))
}

func (s *testServer) name(table string) engine.Name {
	return engine.Name{Schema: s.database, Table: table}
}

func (s *testServer) describe(t testing.TB, table string) *engine.Table {
	t.Helper()
	described, err := s.Table(t.Context(), s.name(table))
	require.NoError(t, err)
	return described
}

// columns are the quoted columns of a table, to be selected.
func columns(t *engine.Table) []string {
	var exprs []string
	for _, column := range t.Columns {
		exprs = append(exprs, Quote(column.Name))
	}
	return exprs
}

// read returns the rows of a selection, each as one text.
func (s *testServer) read(t testing.TB, sel engine.Select) []string {
	t.Helper()
	stream, err := s.Stream(t.Context(), sel)
	require.NoError(t, err)
	defer func() { require.NoError(t, stream.Close()) }()
	var rows []string
	for {
		row, err := stream.Next()
		if err == io.EOF {
			return rows
		}
		require.NoError(t, err)
		rows = append(rows, fmt.Sprintf("%q", row))
	}
}
