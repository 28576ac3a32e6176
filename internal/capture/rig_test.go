package capture_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/capture"
	"godwit/internal/connection"
	"godwit/internal/engine"
	"godwit/internal/kind"
	"godwit/internal/sandbox"
)

var servers struct {
	sync.Mutex
	byKind map[sandbox.Kind]*sandbox.Server
}

func TestMain(m *testing.M) {
	code := m.Run()
	for _, s := range servers.byKind {
		if err := s.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = max(code, 1)
		}
	}
	os.Exit(code)
}

// server starts each engine once for all tests.
func server(t testing.TB, kind sandbox.Kind) *sandbox.Server {
	servers.Lock()
	defer servers.Unlock()
	if s := servers.byKind[kind]; s != nil {
		return s
	}
	s, err := sandbox.Start(context.Background(), kind, sandbox.Options{Settings: map[string]string{"max_connections": "200"}})
	require.NoError(t, err)
	if servers.byKind == nil {
		servers.byKind = map[sandbox.Kind]*sandbox.Server{}
	}
	servers.byKind[kind] = s
	return s
}

// everywhere runs a test on each engine, in a database of its own.
func everywhere(t *testing.T, test func(t *testing.T, r *rig)) {
	for _, k := range sandbox.Kinds() {
		t.Run(string(k), func(t *testing.T) { test(t, newRig(t, k)) })
	}
}

var databases struct {
	sync.Mutex
	n int
}

// rig is a database with a table, its capture and a copy of the table.
type rig struct {
	t      testing.TB
	kind   sandbox.Kind
	server *sandbox.Server
	name   string // of the database
	db     kind.Database
	schema string // of tables
}

func newRig(t testing.TB, k sandbox.Kind) *rig { return newRigOn(t, server(t, k)) }

func newRigOn(t testing.TB, s *sandbox.Server) *rig {
	databases.Lock()
	databases.n++
	name := fmt.Sprintf("shop%d", databases.n)
	databases.Unlock()
	require.NoError(t, s.Exec(context.Background(), "", "CREATE DATABASE "+name))
	r := &rig{t: t, kind: s.Kind, server: s, name: name, schema: "public"}
	if s.Kind != sandbox.Postgres {
		r.schema = name
	}
	r.db = r.open(s.URL(name))
	return r
}

// open opens a database with a pool that is large enough for the tests' writers.
func (r *rig) open(url string) kind.Database {
	sign := "?"
	if strings.Contains(url, "?") {
		sign = "&"
	}
	conns, err := connection.Load("", []string{"GODWIT_CONNECTION_SHOP=" + url + sign + "pool=40"})
	require.NoError(r.t, err)
	r.t.Cleanup(conns.Close)
	c, err := conns.Get("shop")
	require.NoError(r.t, err)
	db, err := kind.OpenDatabase(context.Background(), c)
	require.NoError(r.t, err)
	return db
}

func (r *rig) postgres() bool { return r.kind == sandbox.Postgres }

// by picks what is written differently for PostgreSQL.
func (r *rig) by(postgres, mysql string) string {
	if r.postgres() {
		return postgres
	}
	return mysql
}

func (r *rig) exec(statements ...string) {
	r.t.Helper()
	for _, s := range statements {
		_, err := r.db.Exec(context.Background(), s)
		require.NoError(r.t, err, s)
	}
}

// tableName qualifies a table's name.
func (r *rig) tableName(name string) engine.Name { return engine.Name{Schema: r.schema, Table: name} }

func (r *rig) quoted(name string) string { return r.db.QuoteName(r.tableName(name)) }

func (r *rig) table(name string) *engine.Table {
	r.t.Helper()
	t, err := r.db.Table(context.Background(), r.tableName(name))
	require.NoError(r.t, err)
	return t
}

// captured makes the capture of a table.
func (r *rig) captured(name string) *engine.Capture {
	r.t.Helper()
	c := r.db.CaptureOf(r.table(name))
	require.NoError(r.t, r.db.CreateCapture(context.Background(), c))
	return c
}

// same is a projection that takes every column as it is.
func (r *rig) same(c *engine.Capture, into string, more ...engine.Assignment) *engine.Projection {
	p := &engine.Projection{Into: r.table(into), Key: c.Table.Key}
	for _, column := range c.Table.Columns {
		if column.Generated == "" {
			p.Columns = append(p.Columns, engine.Assignment{Column: column.Name, Expr: r.column(column.Name)})
		}
	}
	p.Columns = append(p.Columns, more...)
	require.NoError(r.t, capture.CheckProjection(c, p))
	return p
}

func (r *rig) column(name string) string { return r.db.QuoteName(engine.Name{Table: name}) }

// drainer drains what an always finished copy covers.
func (r *rig) drainer(c *engine.Capture, p *engine.Projection) *capture.Drainer {
	whole := func(context.Context) (capture.Coverage, error) { return capture.Coverage{Whole: true}, nil }
	return capture.NewDrainer(r.db, c, r.db, &capture.Local{DB: r.db, Capture: c, Projection: p}, whole)
}

// rows reads a query as lines.
func (r *rig) rows(query string, columns int) []string {
	r.t.Helper()
	rows, err := r.db.Query(context.Background(), query)
	require.NoError(r.t, err, query)
	defer rows.Close() //nolint:errcheck // Err tells
	var lines []string
	for rows.Next() {
		values, into := make([]*string, columns), make([]any, columns)
		for i := range values {
			into[i] = &values[i]
		}
		require.NoError(r.t, rows.Scan(into...))
		line := make([]string, columns)
		for i, v := range values {
			line[i] = "NULL"
			if v != nil {
				line[i] = *v
			}
		}
		lines = append(lines, strings.Join(line, "|"))
	}
	require.NoError(r.t, rows.Err())
	return lines
}

func (r *rig) ask(query string) string {
	r.t.Helper()
	lines := r.rows(query, 1)
	require.Len(r.t, lines, 1, query)
	return lines[0]
}

// log are the entries of a changelog, operation and key.
func (r *rig) log(c *engine.Capture) []string {
	r.t.Helper()
	list := "op"
	for _, column := range c.Table.Key {
		list += ", " + r.by("CAST("+r.column(c.LogKey(column))+" AS text)", "CAST("+r.column(c.LogKey(column))+" AS CHAR)")
	}
	lines := r.rows("SELECT "+list+" FROM "+r.db.QuoteName(c.Log)+" WHERE id > 0 ORDER BY id", 1+len(c.Table.Key))
	return lines
}

// left are the names of what there is of a capture.
func (r *rig) left() []string {
	if r.postgres() {
		return r.rows(`SELECT relname FROM pg_class WHERE relname LIKE '%gw\_log' UNION ALL SELECT tgname FROM pg_trigger WHERE tgname LIKE 'godwit%'
			UNION ALL SELECT proname FROM pg_proc WHERE proname LIKE '%gw\_log'`, 1)
	}
	return r.rows("SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = '"+r.name+"' AND TABLE_NAME LIKE '%gw\\_log'"+
		" UNION ALL SELECT TRIGGER_NAME FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = '"+r.name+"' AND TRIGGER_NAME LIKE '%gw\\_log%'", 1)
}

// newSeed picks the seed of a test's random choices: GODWIT_SEED repeats one.
func newSeed(t *testing.T) uint64 {
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("GODWIT_SEED"); text != "" {
		var err error
		seed, err = strconv.ParseUint(text, 10, 64)
		require.NoError(t, err)
	}
	t.Logf("GODWIT_SEED=%d", seed)
	return seed
}
