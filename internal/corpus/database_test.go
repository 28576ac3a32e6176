package corpus

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver pgx
	"github.com/stretchr/testify/require"

	"godwit/internal/sandbox"
)

// place is one of the two that a trial has its tables in.
type place string

// Tables are where the migration finds them, the reference beside it.
const (
	main      place = "main"
	reference place = "reference"
)

// referenceSchema is the reference's, in the same database of PostgreSQL.
const referenceSchema = "gwref"

// database is a trial's: on MySQL and MariaDB there are two.
type database struct {
	*trial
	t      *testing.T
	server *sandbox.Server
	name   string
	pool   *sql.DB
}

func newDatabase(t *testing.T, c *trial, server *sandbox.Server) *database {
	t.Helper()
	d := &database{trial: c, t: t, server: server, name: databaseName(c.name)}
	ctx := context.Background()
	require.NoError(t, server.Exec(ctx, "", "CREATE DATABASE "+c.quote(d.name)))
	var err error
	if c.postgres() {
		require.NoError(t, server.Exec(ctx, d.name, "CREATE SCHEMA "+referenceSchema))
		d.pool, err = sql.Open("pgx", server.URL(d.name)+"&default_query_exec_mode=simple_protocol")
	} else {
		require.NoError(t, server.Exec(ctx, "", "CREATE DATABASE "+c.quote(d.schema(reference))))
		config := mysql.NewConfig()
		config.Net, config.Addr, config.User, config.Passwd, config.DBName = "tcp", server.Addr(), server.User(), server.Password(), d.name
		config.Params = map[string]string{"charset": "utf8mb4"}
		d.pool, err = sql.Open("mysql", config.FormatDSN())
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.pool.Close()) })
	return d
}

func databaseName(name string) string { return "corpus_" + strings.ReplaceAll(name, "-", "_") }

// schema is the schema of PostgreSQL, or the database of the others, that is a place.
func (d *database) schema(p place) string {
	switch {
	case d.postgres() && p == main:
		return "public"
	case d.postgres():
		return referenceSchema
	case p == main:
		return d.name
	}
	return d.name + "_ref"
}

// session is a session of the trial's own, in one place or the other.
type session struct {
	*sql.Conn
	d *database
}

func (d *database) session() *session {
	d.t.Helper()
	conn, err := d.pool.Conn(context.Background())
	require.NoError(d.t, err)
	d.t.Cleanup(func() { require.NoError(d.t, conn.Close()) })
	return &session{conn, d}
}

func (s *session) exec(statement string) error {
	_, err := s.ExecContext(context.Background(), statement)
	return err
}

// enter makes names without a schema mean those of a place.
func (s *session) enter(p place) error {
	if s.d.postgres() {
		return s.exec("SET search_path TO " + s.d.schema(p))
	}
	return s.exec("USE " + s.d.quote(s.d.schema(p)))
}

// script runs statements in a place.
func (s *session) script(p place, statements []string) {
	s.d.t.Helper()
	require.NoError(s.d.t, s.enter(p))
	for _, statement := range statements {
		require.NoError(s.d.t, s.exec(statement), "%s: %s", p, statement)
	}
}

// rows are a query's, as text.
func (s *session) rows(query string) (found [][]string) {
	s.d.t.Helper()
	rows, err := s.QueryContext(context.Background(), query)
	require.NoError(s.d.t, err, query)
	defer rows.Close() //nolint:errcheck // Err tells
	columns, err := rows.Columns()
	require.NoError(s.d.t, err)
	for rows.Next() {
		values, targets := make([]sql.NullString, len(columns)), make([]any, len(columns))
		for i := range values {
			targets[i] = &values[i]
		}
		require.NoError(s.d.t, rows.Scan(targets...), query)
		row := make([]string, len(columns))
		for i, v := range values {
			if row[i] = v.String; !v.Valid {
				row[i] = "NULL"
			}
		}
		found = append(found, row)
	}
	require.NoError(s.d.t, rows.Err(), query)
	return found
}

// lines are a query's rows, one line each.
func (s *session) lines(query string) (list []string) {
	s.d.t.Helper()
	for _, row := range s.rows(query) {
		list = append(list, strings.Join(row, "|"))
	}
	return list
}

// tables are those of a place, but for Godwit's own.
func (s *session) tables(p place) []string {
	s.d.t.Helper()
	return s.lines(fmt.Sprintf(`SELECT table_name FROM information_schema.tables WHERE table_schema = '%s' AND table_type = 'BASE TABLE'
		AND table_name NOT LIKE '$_godwit$_%%' ESCAPE '$' ORDER BY 1`, s.d.schema(p)))
}

// contents are all rows of a table, in no order that means anything.
func (s *session) contents(p place, table string) []string {
	s.d.t.Helper()
	columns := s.rows(fmt.Sprintf(`SELECT column_name, data_type FROM information_schema.columns WHERE table_schema = '%s' AND table_name = '%s' ORDER BY 1`,
		s.d.schema(p), strings.ReplaceAll(table, "'", "''")))
	values := make([]string, len(columns))
	for i, c := range columns {
		name := s.d.quote(c[0])
		switch {
		case s.d.postgres():
			name = fmt.Sprintf("%s::text", name)
		case c[1] == "float": // as text it would be rounded
			name = fmt.Sprintf("CAST(%s AS DOUBLE)", name)
		}
		values[i] = fmt.Sprintf("%s AS %s", name, s.d.quote(c[0]))
	}
	rows := s.rows(fmt.Sprintf("SELECT %s FROM %s.%s", strings.Join(values, ", "), s.d.quote(s.d.schema(p)), s.d.quote(table)))
	list := make([]string, len(rows))
	for i, row := range rows {
		var b strings.Builder
		for j, value := range row {
			fmt.Fprintf(&b, "%s=%q ", columns[j][0], value)
		}
		list[i] = b.String()
	}
	slices.Sort(list)
	return list
}

// definition is everything that is defined in a place, as the server's own
// tools write it, with the place itself left out.
func (d *database) definition(s *session, p place) string {
	d.t.Helper()
	if d.postgres() {
		return d.dump(p) + "\n" + strings.Join(s.lines(`SELECT sequencename, coalesce(last_value, -1) FROM pg_sequences WHERE schemaname = '`+d.schema(p)+`' ORDER BY 1`), "\n")
	}
	var parts []string
	for _, table := range s.tables(p) {
		for _, row := range s.rows("SHOW CREATE TABLE " + d.quote(d.schema(p)) + "." + d.quote(table)) {
			parts = append(parts, row[1])
		}
	}
	parts = append(parts, s.lines(`SELECT table_name, view_definition FROM information_schema.views WHERE table_schema = '`+d.schema(p)+`' ORDER BY 1`)...)
	parts = append(parts, s.lines(`SELECT trigger_name, event_object_table, event_manipulation, action_timing, action_statement FROM information_schema.triggers
		WHERE trigger_schema = '`+d.schema(p)+`' ORDER BY 1`)...)
	return strings.ReplaceAll(strings.Join(parts, "\n"), d.quote(d.schema(p))+".", "")
}

// dump is pg_dump's.
func (d *database) dump(p place) string {
	d.t.Helper()
	client := d.server.Client()
	cmd := exec.Command(filepath.Join(filepath.Dir(client.Path), "pg_dump"), "--schema-only", "--schema="+d.schema(p), d.name)
	cmd.Env = client.Env
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(d.t, err, stderr.String())
	var lines []string
	for line := range strings.Lines(string(out)) {
		line = strings.ReplaceAll(strings.TrimRight(line, "\n"), d.schema(p)+".", "")
		if line == "" || strings.HasPrefix(line, "--") || strings.Contains(line, " SCHEMA ") || strings.HasPrefix(line, `\`) {
			continue
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// beside are the things of Godwit's that are beside a table of a place.
func (s *session) beside() []string {
	s.d.t.Helper()
	if s.d.postgres() {
		return s.lines(`SELECT relname::text FROM pg_class WHERE relname LIKE '%$_$_gw%' ESCAPE '$' AND relkind IN ('r', 'S', 'i')
			UNION ALL SELECT tgname::text FROM pg_trigger WHERE tgname LIKE '%gw%' AND NOT tgisinternal
			UNION ALL SELECT proname::text FROM pg_proc WHERE proname LIKE '%$_$_gw%' ESCAPE '$'`)
	}
	return s.lines(`SELECT table_name FROM information_schema.tables WHERE table_schema = '` + s.d.name + `' AND (table_name LIKE '%$_$_gw%' ESCAPE '$' OR table_name LIKE '$_godwit$_try%' ESCAPE '$')
		UNION ALL SELECT trigger_name FROM information_schema.triggers WHERE trigger_schema = '` + s.d.name + `' AND trigger_name LIKE '%gw%'`)
}

// events are the last ones in the ledger.
func (s *session) events() []string {
	table, no := "`"+s.d.name+"`._godwit_event", "`no`"
	if s.d.postgres() {
		table, no = "godwit.event", `"no"`
	}
	return s.lines(fmt.Sprintf("SELECT at, what, phase, detail, error FROM %s ORDER BY %s DESC LIMIT 12", table, no))
}
