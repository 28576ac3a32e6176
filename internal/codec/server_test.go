package codec_test

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"godwit/internal/codec"
	"godwit/internal/connection"
	"godwit/internal/digest"
	"godwit/internal/engine"
	"godwit/internal/engine/mysql"
	"godwit/internal/engine/postgres"
	"godwit/internal/sandbox"
	"godwit/internal/sandbox/sandboxtest"
)

//go:embed testdata/edges.sql
var edges string

//go:embed testdata/mariadb.sql
var mariadbOnly string

// pair is a source and a target server.
type pair struct {
	source  *sandbox.Server
	from    *mysql.Server
	to      *postgres.Server
	targets map[engine.Name]engine.Name
}

func connect(t *testing.T, kind sandbox.Kind, statements string) *pair {
	source := sandboxtest.Start(t, kind, sandbox.Options{Databases: []string{"edges"}})
	target := sandboxtest.Start(t, sandbox.Postgres, sandbox.Options{Databases: []string{"edges"}})
	require.NoError(t, source.Exec(t.Context(), "edges", statements))
	registry, err := connection.Load("", []string{"GODWIT_CONNECTION_SOURCE=" + source.URL("edges"), "GODWIT_CONNECTION_TARGET=" + target.URL("edges")})
	require.NoError(t, err)
	t.Cleanup(registry.Close)
	sourceConn, err := registry.Get("source")
	require.NoError(t, err)
	from, err := sourceConn.MySQL(t.Context())
	require.NoError(t, err)
	targetConn, err := registry.Get("target")
	require.NoError(t, err)
	to, err := targetConn.Postgres(t.Context())
	require.NoError(t, err)
	p := &pair{source: source, from: mysql.New(from), to: postgres.New(to), targets: map[engine.Name]engine.Name{}}
	names, err := p.from.Tables(t.Context(), "edges")
	require.NoError(t, err)
	for _, name := range names {
		p.targets[name] = engine.Name{Schema: "edges", Table: name.Table}
	}
	require.NoError(t, p.to.EnsureSchema(t.Context(), "edges"))
	return p
}

// prepare makes the target's table.
func (p *pair) prepare(t *testing.T, name engine.Name) (src, dst *engine.Table, row *codec.Row) {
	src, err := p.from.Table(t.Context(), name)
	require.NoError(t, err)
	identity, err := p.from.Identity(t.Context())
	require.NoError(t, err)
	dst, notes, err := codec.MapTable(src, identity.Flavor, p.targets[name], codec.Options{Target: p.targets})
	require.NoError(t, err)
	for _, note := range notes {
		t.Logf("%s: %s", name, note)
	}
	require.NoError(t, p.to.EnsureTable(t.Context(), dst))
	row, err = codec.New(src, dst, identity.Flavor)
	require.NoError(t, err)
	return src, dst, row
}

// copyRows copies a table's rows and returns how many there are.
func (p *pair) copyRows(t *testing.T, src *engine.Table, row *codec.Row) (int64, error) {
	stream, err := p.from.Stream(t.Context(), engine.Select{Table: src, Exprs: row.SourceExprs()})
	require.NoError(t, err)
	defer stream.Close() //nolint:errcheck // Next tells
	var lines []byte
	for {
		raw, err := stream.Next()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		if lines, err = row.Append(lines, raw); err != nil {
			return 0, err
		}
	}
	tx, err := p.to.Begin(t.Context())
	require.NoError(t, err)
	rows, err := tx.(*postgres.Tx).Load(t.Context(), row.Target, row.TargetColumns(), bytes.NewReader(lines))
	require.NoError(t, err)
	require.NoError(t, tx.Commit(t.Context()))
	return rows, nil
}

func (p *pair) read(side interface {
	Stream(context.Context, engine.Select) (engine.Stream, error)
}, table *engine.Table, exprs []string) func(context.Context) (engine.Stream, error) {
	return func(ctx context.Context) (engine.Stream, error) {
		return side.Stream(ctx, engine.Select{Table: table, Exprs: exprs})
	}
}

func (p *pair) compare(t *testing.T, src, dst *engine.Table, row *codec.Row) int64 {
	key, err := row.Positions(src.Key)
	require.NoError(t, err)
	differences, total, err := digest.Diff(t.Context(), p.read(p.from, src, row.SourceExprs()), p.read(p.to, dst, row.TargetExprs()), row, key, digest.Options{Report: 10})
	require.NoError(t, err)
	require.Len(t, differences, int(min(total, 10)))
	for _, d := range differences {
		t.Logf("%s: %+v", src.Name, d)
	}
	return total
}

func TestEveryValueArrivesAsItIs(t *testing.T) {
	for kind, statements := range map[sandbox.Kind]string{sandbox.MariaDB: edges + mariadbOnly, sandbox.MySQL: edges} {
		t.Run(string(kind), func(t *testing.T) {
			p := connect(t, kind, statements)
			sources, targets := map[engine.Name]*engine.Table{}, map[engine.Name]*engine.Table{}
			for name := range p.targets {
				src, dst, row := p.prepare(t, name)
				rows, err := p.copyRows(t, src, row)
				require.NoError(t, err)
				require.NotZero(t, rows)
				require.Zero(t, p.compare(t, src, dst, row), "%s arrived with differences", name)
				sources[name], targets[name] = src, dst
			}
			p.finish(t, targets)
			for name, src := range sources {
				p.reread(t, src, targets[name])
			}
			p.checkValues(t)
		})
	}
}

// finish makes what comes after the rows.
func (p *pair) finish(t *testing.T, targets map[engine.Name]*engine.Table) {
	for _, dst := range targets {
		for _, index := range dst.Indexes {
			if index.Primary {
				require.NoError(t, p.to.EnsurePrimaryKey(t.Context(), dst.Name, index))
			} else {
				require.NoError(t, p.to.EnsureIndex(t.Context(), dst.Name, index))
			}
		}
	}
	for _, dst := range targets {
		for _, key := range dst.ForeignKeys {
			require.NoError(t, p.to.EnsureForeignKey(t.Context(), dst.Name, key))
		}
	}
}

// reread is the way of `schema: existing`: the table as the server describes
// it takes the same codecs as the one that MapTable made.
func (p *pair) reread(t *testing.T, src, made *engine.Table) {
	identity, err := p.from.Identity(t.Context())
	require.NoError(t, err)
	found, err := p.to.Table(t.Context(), made.Name)
	require.NoError(t, err)
	want, err := codec.New(src, made, identity.Flavor)
	require.NoError(t, err)
	have, err := codec.New(src, found, identity.Flavor)
	require.NoError(t, err)
	require.Equal(t, want, have)
	for i := range made.Columns {
		type_ := made.Columns[i].Type
		type_.Values, found.Columns[i].Type.Values = nil, nil
		require.Equal(t, type_, found.Columns[i].Type, "%s.%s is described in another way than it was made", made.Name, made.Columns[i].Name)
		require.Equal(t, made.Columns[i].Identity, found.Columns[i].Identity)
		require.Equal(t, made.Columns[i].Nullable, found.Columns[i].Nullable)
	}
	require.Len(t, found.Indexes, len(made.Indexes))
	require.Len(t, found.ForeignKeys, len(made.ForeignKeys))
	require.Len(t, found.Checks, len(made.Checks))
	require.Equal(t, made.Comment, found.Comment)
}

// checkValues looks at the target without any codec.
func (p *pair) checkValues(t *testing.T) {
	zero := map[sandbox.Kind]string{sandbox.MySQL: "-0", sandbox.MariaDB: "0"}[p.source.Kind] // MariaDB stores no -0
	for query, want := range map[string]string{
		`SELECT t || ' ' || bu || ' ' || b64::text || ' ' || d FROM edges.numbers WHERE id = 2`: "127 18446744073709551615 " + "1111111111111111111111111111111111111111111111111111111111111111" +
			" 99999999999999999999999999999999999.999999999999999999999999999999",
		`SELECT f || ' ' || r FROM edges.numbers WHERE id = 5`:                                                                     "1e-45 5e-324",
		`SELECT f || ' ' || r FROM edges.numbers WHERE id = 7`:                                                                     zero + " " + zero,
		`SELECT f || ' ' || f2 || ' ' || r FROM edges.numbers WHERE id = 6`:                                                        "1.6777216e+07 1 1.2345678901234568e+17",
		`SELECT b1::text || ' ' || b12::text || ' ' || y || ' ' || doubled FROM edges.numbers WHERE id = 4`:                        "0 101010111100 1901 0",
		`SELECT t6 || ' ' || t FROM edges.times WHERE id = 3`:                                                                      "-00:00:00.5 00:00:00",
		`SELECT t6 || ' ' || t FROM edges.times WHERE id = 1`:                                                                      "-838:59:59 -838:59:59",
		`SELECT d || ' ' || dt || ' ' || ts3 FROM edges.times WHERE id = 3`:                                                        "0009-06-05 0099-01-01 01:02:03 2024-03-31 01:30:00.12+00",
		`SELECT c || '|' || v || '|' || l || '|' || t3 FROM edges.words WHERE id = 1`:                                              "a|b  |café €|日本",
		`SELECT lt FROM edges.words WHERE id = 1`:                                                                                  "tab\there\nline\r\\back\\N",
		`SELECT length(lt) || ' ' || length(mt) || ' ' || length(t3) FROM edges.words WHERE id = 4`:                                "100000 3000 5000",
		`SELECT encode(b, 'hex') || ' ' || encode(bl, 'hex') FROM edges.bytes WHERE id = 1`:                                        "61620000 6100",
		`SELECT length(lb)::text FROM edges.bytes WHERE id = 2`:                                                                    "70000",
		`SELECT e || '|' || s[1] || s[2] || s[3] || s[4] || s[5] || s[6] || '|' || cardinality(s) FROM edges.choices WHERE id = 3`: `ü, comma|ab c"q"\NULL{x}|6`,
		`SELECT '[' || e || ']' || cardinality(s) FROM edges.choices WHERE id = 5`:                                                 "[]1",
		`SELECT cardinality(s)::text FROM edges.choices WHERE id = 2`:                                                              "0",
		`SELECT j #>> '{a,1}' FROM edges.documents WHERE id = 1`:                                                                   map[sandbox.Kind]string{sandbox.MySQL: "2.5", sandbox.MariaDB: "2.50"}[p.source.Kind],
		`SELECT j #>> '{}' FROM edges.documents WHERE id = 3`:                                                                      "日本 \u0001 \"q\" \\ \t 😀",
		`SELECT count(*)::text FROM edges.children WHERE id = 1`:                                                                   "3",
	} {
		rows, err := p.to.Query(t.Context(), query)
		require.NoError(t, err, query)
		require.True(t, rows.Next(), query)
		var got string
		require.NoError(t, rows.Scan(&got), query)
		require.Equal(t, want, got, query)
		require.NoError(t, rows.Close())
	}
}

func TestAValueThatPostgresCannotHoldIsFoundBeforeItIsSent(t *testing.T) {
	p := connect(t, sandbox.MariaDB, `SET sql_mode = 'ALLOW_INVALID_DATES';
		CREATE TABLE a (id int NOT NULL PRIMARY KEY, v date); INSERT INTO a VALUES (1, '2024-01-01'), (2, '0000-00-00');
		CREATE TABLE b (id int NOT NULL PRIMARY KEY, v datetime(3)); INSERT INTO b VALUES (1, '2024-02-31 10:00:00');
		CREATE TABLE c (id int NOT NULL PRIMARY KEY, v timestamp NULL); INSERT INTO c VALUES (1, '0000-00-00 00:00:00');
		CREATE TABLE d (id int NOT NULL PRIMARY KEY, v varchar(10)); INSERT INTO d VALUES (1, 'a\0b');
		CREATE TABLE e (id int NOT NULL PRIMARY KEY, v json); INSERT INTO e VALUES (1, '"\\u0000"');
		CREATE TABLE f (id int NOT NULL PRIMARY KEY, v json); INSERT INTO f VALUES (1, '1.');
		CREATE TABLE g (id int NOT NULL PRIMARY KEY, v date); INSERT INTO g VALUES (1, '0000-05-05')`)
	for table, value := range map[string]string{"a": "0000-00-00", "b": "2024-02-31 10:00:00.000", "c": "0000-00-00 00:00:00", "d": `"a\x00b"`, "e": `'"\u0000"'`, "f": "'1.'", "g": "0000-05-05"} {
		src, _, row := p.prepare(t, engine.Name{Schema: "edges", Table: table})
		_, err := p.copyRows(t, src, row)
		var refused *codec.ValueError
		require.True(t, errors.As(err, &refused), "%s: %v", table, err)
		require.Equal(t, "v", refused.Column)
		require.Equal(t, value, refused.Value)
	}
}
