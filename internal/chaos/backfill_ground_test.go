package chaos

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver pgx
	"github.com/stretchr/testify/require"

	"godwit/internal/sandbox"
)

// ground is a stage whose migrations are backfills of a table orders, in a
// database of its own on one of the engines.
type ground struct {
	*stage
	kind   sandbox.Kind
	server *sandbox.Server
	sql    *sql.DB // the application's way into the database
	size   int64   // rows of the table at the beginning
}

// onEveryEngine runs a test on each engine, all of them at the same time.
func onEveryEngine(t *testing.T, rows int64, test func(g *ground)) {
	t.Helper()
	for _, kind := range sandbox.Kinds() {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			test(newGround(t, kind, rows))
		})
	}
}

// newGround makes one on the servers that tests share.
func newGround(t *testing.T, kind sandbox.Kind, rows int64) *ground {
	t.Helper()
	return groundOn(t, rigOf(t, kind), kind, rows)
}

// rigOf is the rig that tests share which has such a server.
func rigOf(t *testing.T, kind sandbox.Kind) *rig {
	t.Helper()
	shared := sturdy
	if kind == sandbox.MySQL {
		shared = mysqlRig
	}
	r, err := shared()
	require.NoError(t, err)
	return r
}

// groundOn makes one on a rig's target, which is PostgreSQL, or its source.
func groundOn(t *testing.T, r *rig, kind sandbox.Kind, rows int64) *ground {
	t.Helper()
	g := bareGround(t, r, kind)
	g.size = rows
	g.seed()
	return g
}

// bareGround makes one without any table.
func bareGround(t *testing.T, r *rig, kind sandbox.Kind) *ground {
	t.Helper()
	g := &ground{stage: newStage(t, r), kind: kind, server: r.target}
	var err error
	if g.postgres() {
		g.sql, err = sql.Open("pgx", r.target.URL(g.name))
	} else {
		g.server = r.source
		g.ownSource("SELECT 1")
		config := mysql.NewConfig()
		config.User, config.Passwd, config.Net, config.Addr, config.DBName = r.source.User(), r.source.Password(), "tcp", r.source.Addr(), g.from
		g.sql, err = sql.Open("mysql", config.FormatDSN())
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, g.sql.Close()) })
	return g
}

func (g *ground) postgres() bool { return g.kind == sandbox.Postgres }

// gap is how far apart the keys are, so that rows can be put in between.
const gap = 10

// seed makes the table orders. Every value follows from its row's number n;
// the key is n * gap.
func (g *ground) seed() {
	g.t.Helper()
	g.exec(`CREATE TABLE orders (id bigint NOT NULL PRIMARY KEY, country varchar(2) NOT NULL, region varchar(8), balance bigint NOT NULL,
		visits bigint NOT NULL, note varchar(200))`)
	numbers, whole := g.numbers(), "integer"
	if !g.postgres() {
		whole = "SIGNED"
	}
	g.exec(fmt.Sprintf(`INSERT INTO orders (id, country, balance, visits, note)
		SELECT n * %d, CASE n %% 3 WHEN 0 THEN 'CN' WHEN 1 THEN 'JP' ELSE 'DE' END, n %% 1000 + 1, 0, concat('order ', n, ', ', repeat('.', CAST(n %% 100 AS %s))) FROM `, gap, whole)+numbers,
		"CREATE TABLE orders_before AS SELECT * FROM orders", "CREATE UNIQUE INDEX orders_before_id ON orders_before (id)")
	if g.postgres() {
		g.exec("ANALYZE orders")
	} else {
		g.exec("ANALYZE TABLE orders")
	}
}

// numbers is what follows FROM in a query for n from 1 to the size.
func (g *ground) numbers() string {
	if g.postgres() {
		return fmt.Sprintf("generate_series(1, %d) n", g.size)
	}
	digits := "(SELECT 0 d UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9)"
	return fmt.Sprintf("(SELECT 1 + a.d + 10*b.d + 100*c.d + 1000*e.d + 10000*f.d + 100000*h.d AS n FROM %[1]s a, %[1]s b, %[1]s c, %[1]s e, %[1]s f, %[1]s h) numbers WHERE n <= %[2]d",
		digits, g.size)
}

func (g *ground) exec(statements ...string) {
	g.t.Helper()
	for _, statement := range statements {
		_, err := g.sql.ExecContext(context.Background(), statement)
		require.NoError(g.t, err, statement)
	}
}

// number asks the database for one number.
func (g *ground) number(query string) int64 {
	g.t.Helper()
	var n int64
	require.NoError(g.t, g.sql.QueryRowContext(context.Background(), query).Scan(&n), query)
	return n
}

// texts asks the database for one column of texts.
func (g *ground) texts(query string) (found []string) {
	g.t.Helper()
	rows, err := g.sql.QueryContext(context.Background(), query)
	require.NoError(g.t, err, query)
	defer rows.Close()
	for rows.Next() {
		var text string
		require.NoError(g.t, rows.Scan(&text))
		found = append(found, text)
	}
	require.NoError(g.t, rows.Err(), query)
	return found
}

// same writes that two values are the same, two NULLs included.
func (g *ground) same(a, b string) string {
	if g.postgres() {
		return a + " IS NOT DISTINCT FROM " + b
	}
	return a + " <=> " + b
}

// differing counts the rows of orders that are not what they were before but
// for the columns that are given with their new values, as SQL over b.
func (g *ground) differing(changed map[string]string) int64 {
	g.t.Helper()
	conditions := []string{"o.id IS NULL"}
	for _, column := range []string{"country", "region", "balance", "visits", "note"} {
		expected, found := changed[column]
		if !found {
			expected = "b." + column
		}
		conditions = append(conditions, "NOT ("+g.same("o."+column, "("+expected+")")+")")
	}
	return g.number("SELECT count(*) FROM orders_before b LEFT JOIN orders o ON o.id = b.id WHERE "+strings.Join(conditions, " OR ")) +
		g.number("SELECT count(*) FROM orders o LEFT JOIN orders_before b ON o.id = b.id WHERE b.id IS NULL")
}

// became fails the test unless every row is as it was before but for the
// columns that are given.
func (g *ground) became(changed map[string]string) {
	g.t.Helper()
	require.Equal(g.t, g.size, g.number("SELECT count(*) FROM orders_before"), "an oracle that compares nothing finds no difference")
	require.Zero(g.t, g.differing(changed), "rows that are not as they should be")
}

// definition is that of the table orders, as the server writes it.
func (g *ground) definition() string {
	g.t.Helper()
	if g.postgres() {
		return strings.Join(g.texts(catalog), "\n")
	}
	var name, text string
	require.NoError(g.t, g.sql.QueryRowContext(context.Background(), "SHOW CREATE TABLE orders").Scan(&name, &text))
	return text
}

// savedTables are the tables of old values that there are.
func (g *ground) savedTables() []string {
	g.t.Helper()
	schema := g.name
	if g.postgres() {
		schema = "godwit"
	}
	return g.texts("SELECT table_name FROM information_schema.tables WHERE table_name LIKE '%saved|_%' ESCAPE '|' AND table_schema = '" + schema + "'")
}

// connection is the name of the database's connection.
func (g *ground) connection() string {
	if g.postgres() {
		return "warehouse"
	}
	return "legacy"
}

// qualified puts the tables' schema in the place of braces: Godwit's sessions
// on PostgreSQL have an empty search_path.
func (g *ground) qualified(text string) string {
	schema := g.name
	if g.postgres() {
		schema = "public"
	}
	for _, table := range []string{"orders", "archive"} {
		text = strings.ReplaceAll(text, "{"+table+"}", schema+"."+table)
	}
	return text
}

// ledger names a table of the ledger.
func (g *ground) ledger(table string) string {
	if g.postgres() {
		return "godwit." + table
	}
	return "_godwit_" + table
}

// spec writes a backfill's spec file; the lines are what it has besides its
// connection and table.
func (g *ground) spec(lines ...string) string {
	g.t.Helper()
	file := filepath.Join(g.t.TempDir(), "backfill.yaml")
	text := "kind: backfill\ndatabase: " + g.connection() + "\ntable: orders\n" + strings.Join(lines, "\n") + "\n"
	require.NoError(g.t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

// start starts a backfill from a spec's lines and returns at once.
func (g *ground) start(lines ...string) *backfill {
	g.t.Helper()
	g.stage.count++
	m := &backfill{&migration{g.stage, fmt.Sprintf("backfill-%s-%d", g.name, g.stage.count)}, g}
	g.must("run", g.spec(lines...), "--id", m.id)
	return m
}
