package backfill

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestValuesOfEveryTypeAreChangedAndGivenBack(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		orders, set, same := r.everyType()
		j := r.job("types", set)
		j.all()
		require.Equal(t, "0", r.ask("SELECT count(*) FROM "+orders+" WHERE "+same))
		require.NoError(t, j.rollback())
		require.Empty(t, j.events("row not restored"))
		require.Equal(t, "100", r.ask("SELECT count(*) FROM "+orders+" WHERE "+same))
	})
}

// everyType makes a table of 100 rows, whose columns are of many types and have
// names that must be quoted, a spec that sets them, and the condition that a
// row is as it was.
func (r *rig) everyType() (orders, set, same string) {
	orders = r.table("orders")
	if r.postgres() {
		r.exec("CREATE TYPE public.mood AS ENUM ('a', 'b')",
			"CREATE TABLE "+orders+` (id bigint PRIMARY KEY, "select" int, "a""b" int CHECK ("a""b" >= 0), n numeric, f real, e public.mood, j json, jb jsonb, p point,
			tz timestamptz, b bit(5), bb bytea, arr int[], ch char(4), m money, iv interval)`,
			"INSERT INTO "+orders+` SELECT n, n, n, n::numeric / 7, n / 3.0, 'a', '{"a":  1}', '{"a": 1}', point(n, n), '2020-01-01', B'10101', '\x00ff', array[n, 2], 'x', 3.5, '1 day'
			FROM generate_series(1, 100) n`)
		set = `set: {"select": '"select" * 2', "a\"b": '"a""b" + 1', n: n * 1.10, f: f * 1.1, e: "'b'", j: "'[1]'", jb: "'[1]'", p: "point(1, 2)", tz: "now()", b: "B'00001'", ` +
			`bb: "bb || bb", arr: "arr || 5", ch: "'y'", m: "m * 2", iv: "iv * 2"}` + "\n"
		same = `"select" = id AND "a""b" = id AND n = id::numeric / 7 AND e = 'a' AND j::text = '{"a":  1}' AND p ~= point(id, id) AND tz = '2020-01-01' AND bb = '\x00ff' AND arr = array[id::int, 2] AND iv = '1 day'`
		return orders, set, same
	}
	r.exec("CREATE TABLE "+orders+" (id bigint PRIMARY KEY, `select` int, `a``b` int CHECK (`a``b` >= 0), n decimal(20,4), f float, e enum('a','b'), s set('x','y'), j json, g geometry,"+
		" at timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP, dt datetime(6), b bit(5), bb varbinary(20), ch char(4), y year, tm time(3), inv int DEFAULT 3 INVISIBLE,"+
		" lt longtext, zd date, def int DEFAULT (n + 1), u varchar(40) UNIQUE, tw int AS (`select` * 2) VIRTUAL, ai bigint NOT NULL AUTO_INCREMENT, KEY (ai))",
		"INSERT INTO "+orders+" (id, `select`, `a``b`, n, f, e, s, j, g, at, dt, b, bb, ch, y, tm, lt, zd, u, ai) "+
			r.numbers(100, "n, n, n, n / 7, n / 3, 'a', 'x', '{\"a\": 1.5}', ST_GeomFromText('POINT(1 1)'), '2020-01-01', '2020-01-01', b'10101', x'00ff', 'x', 2020, '10:00:00.123', 'é', '0000-00-00', n, n"))
	set = "set: {select: '`select` * 2', 'a`b': '`a``b` + 1', n: n * 1.10, f: f * 1.1, e: \"'b'\", s: \"'x,y'\", j: \"json_set(j, '$.b', 2)\", g: \"ST_GeomFromText('POINT(2 2)')\", " +
		"dt: 'dt + interval 1 day', b: \"b'00001'\", bb: 'concat(bb, bb)', ch: \"'y'\", y: y + 1, tm: \"'11:00'\", inv: inv + 1, lt: \"concat(lt, '?')\", zd: \"'2020-00-00'\", " +
		"def: tw, u: \"concat('u', u)\", ai: ai + 1000}\n"
	same = "`select` = id AND `a``b` = id AND n = round(id / 7, 4) AND e = 'a' AND s = 'x' AND ST_AsText(g) = 'POINT(1 1)' AND at = '2020-01-01' AND dt = '2020-01-01' AND b = b'10101' AND bb = x'00ff' " +
		"AND y = 2020 AND tm = '10:00:00.123' AND inv = 3 AND lt = 'é' AND zd = '0000-00-00' AND def <> 2 * id AND u = id AND ai = id"
	return orders, set, same
}

func TestARowOfAnyTypesCanBeListedAsNotRestored(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		orders, set, same := r.everyType()
		j := r.job("types", set)
		j.all()
		r.exec("UPDATE " + orders + " SET ch = 'mine' WHERE id = 5")
		require.NoError(t, j.rollback())
		require.Len(t, j.events("row not restored"), 1)
		require.Equal(t, "99", r.ask("SELECT count(*) FROM "+orders+" WHERE "+same))
	})
}

func TestATimeThatChangesWithTheRowIsGivenBackThoughATriggerHasAHand(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		if r.postgres() {
			return // it has no such columns
		}
		r.exec("CREATE TABLE "+r.table("orders")+" (id bigint PRIMARY KEY, a int, at timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP)",
			"INSERT INTO "+r.table("orders")+" "+r.numbers(100, "n, n, '2020-01-01'"),
			"CREATE TRIGGER "+r.table("odd")+" BEFORE UPDATE ON "+r.table("orders")+" FOR EACH ROW SET NEW.a = NEW.a + (NEW.a > 200)")
		j := r.job("at", "set: {a: a + 1000}\n")
		j.all()
		require.Equal(t, "0", r.ask("SELECT count(*) FROM "+r.table("orders")+" WHERE at = '2020-01-01'"))
		require.NoError(t, j.rollback())
		require.Equal(t, "100", r.ask("SELECT count(*) FROM "+r.table("orders")+" WHERE at = '2020-01-01'"))
	})
}

func TestOldAndNewValuesAreSavedAlsoWhereTheyAreTooLongForARow(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.exec("CREATE TABLE "+r.table("orders")+" (id bigint PRIMARY KEY, a varchar(10000), b varchar(4000) NOT NULL)",
			"INSERT INTO "+r.table("orders")+" "+r.numbers(100, "n, repeat('a', 9000), 'b'"))
		j := r.job("wide", "set: {a: \"concat(a, 'x')\", b: \"concat(b, 'x')\"}\n")
		j.all()
		require.Equal(t, "100", r.ask("SELECT count(*) FROM "+r.table("orders")+" WHERE a LIKE '%x' AND b = 'bx'"))
		require.NoError(t, j.rollback())
		require.Equal(t, "100", r.ask("SELECT count(*) FROM "+r.table("orders")+" WHERE a LIKE '%a' AND b = 'b'"))
	})
}

func TestColumnsWithLongNamesAndAKeyOfSeveralAreRewritten(t *testing.T) {
	const long = "as_long_as_the_server_lets_a_name_be_all_but_for_the_end_of_é"
	everywhere(t, func(t *testing.T, r *rig) {
		r.exec(fmt.Sprintf("CREATE TABLE %s (k varchar(20) NOT NULL, l int NOT NULL, a int, %sa int, %[2]sb int, PRIMARY KEY (k, l))", r.table("orders"), long),
			"INSERT INTO "+r.table("orders")+" "+r.numbers(3000, "concat(CASE WHEN n % 2 = 0 THEN 'a' ELSE 'B' END, n % 700), n, n, n, n"))
		j := r.job("long", fmt.Sprintf("set: {a: a * 100, %sa: '1', %[1]sb: '2'}\nshards: {rows: 500}\nchunks: {rows: 70}\n", long))
		j.all()
		require.Equal(t, "3000", r.ask("SELECT count(*) FROM "+r.table("orders")+" WHERE a = l * 100"))
		require.NoError(t, j.rollback())
		require.Equal(t, "3000", r.ask(fmt.Sprintf("SELECT count(*) FROM %s WHERE a = l AND %sa = l AND %[2]sb = l", r.table("orders"), long)))
	})
}

func TestTextsInExpressionsAndStatementsStayAsTheyAre(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		r.orders(100)
		j := r.job("text", "set:\n  note: \"'50% ? $1 ; -- # $$ /* ' -- a comment\"\nwhere: \"note IS NULL AND country <> '? %s $$;--' -- all\"\n")
		j.all()
		j.cleanup()
		require.Equal(t, "100", r.ask("SELECT count(*) FROM "+r.table("orders")+" WHERE note = '50% ? $1 ; -- # $$ /* '"))
		r.job("statement", "statement: \"UPDATE "+r.table("orders")+" SET note = ':range ? $1 %s ; $$' WHERE :range -- a comment\"\n").all()
		require.Equal(t, "100", r.ask("SELECT count(*) FROM "+r.table("orders")+" WHERE note = ':range ? $1 %s ; $$'"))
	})
}

func TestATableOfAnotherSchemaIsChangedAndGivenBack(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		other := "other_" + r.schema
		if r.postgres() {
			r.exec("CREATE SCHEMA " + other)
		} else {
			r.exec("CREATE DATABASE " + other)
		}
		r.schema = other
		r.orders(3000)
		before := r.snapshot()
		j := r.job("other", region)
		j.all()
		require.NotEqual(t, before, r.snapshot())
		require.NoError(t, j.rollback())
		require.Equal(t, before, r.snapshot())
	})
}

func TestTablesWithKeysOfAnyTypeAreGoneThroughOnce(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		moment, bytes, digest := "'2020-01-01 00:00:00' + interval n minute", "varbinary(20)", "unhex(left(sha2(n, 256), 20))"
		if r.postgres() {
			moment, bytes, digest = "timestamp '2020-01-01' + n * interval '1' minute", "bytea", "decode(md5(n::text), 'hex')"
		}
		for i, key := range []struct{ typ, expr string }{{"decimal(20,4)", "n"}, {"varchar(30)", "concat('é''%?', n)"}, {"timestamp", moment}, {bytes, digest}} {
			table := r.table(fmt.Sprint("keys", i))
			r.exec("CREATE TABLE "+table+" (k "+key.typ+" NOT NULL PRIMARY KEY, a bigint)", "INSERT INTO "+table+" "+r.numbers(3000, key.expr+", n"))
			j := r.job(fmt.Sprint("keys", i), "set: {a: a * 100}\nshards: {rows: 700}\nchunks: {rows: 150}\n")
			j.spec.Backfill.Table = table
			j.all()
			require.Equal(t, "450150000", r.ask("SELECT sum(a) FROM "+table), key.typ)
			require.NoError(t, j.rollback())
			require.Equal(t, "4501500", r.ask("SELECT sum(a) FROM "+table), key.typ)
		}
	})
}
