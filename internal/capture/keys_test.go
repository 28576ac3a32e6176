package capture_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"godwit/internal/fault"
	"godwit/internal/sandbox"
	"godwit/internal/task"
)

// keyCase is a type of key: its columns, with values that are there before the
// copy and others that come while it runs, each a list of literals.
type keyCase struct {
	name    string
	engines string // of p, m and y; empty for all
	setup   string
	columns []string // name and type
	first   []string // values of rows, comma-separated
	later   []string
}

var keyCases = []keyCase{
	{name: "words without case", engines: "my", columns: []string{"k varchar(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NOT NULL"}, first: []string{"'a'", "'B'", "'ç'", "'it''s'", `'back\\slash'`}, later: []string{"'Z'", "''", "'ÄÖ'"}},
	{name: "words", columns: []string{"k varchar(20) NOT NULL"}, first: []string{"'a'", "'b'", "'it''s'", "'x y '"}, later: []string{"''", "'表'", "'Q'"}},
	{name: "padded", columns: []string{"k char(6) NOT NULL"}, first: []string{"'a'", "'b'", "'c d'"}, later: []string{"'e'", "''"}},
	{name: "latin", engines: "my", columns: []string{"k varchar(20) CHARACTER SET latin1 COLLATE latin1_german1_ci NOT NULL"}, first: []string{"'a'", "'ß'", "'ö'"}, later: []string{"'é'"}},
	{name: "bytes", engines: "my", columns: []string{"k varbinary(8) NOT NULL"}, first: []string{"X'00'", "X'FF00'", "X'0D0A27'"}, later: []string{"X''", "X'80'"}},
	{name: "fixed bytes", engines: "my", columns: []string{"k binary(4) NOT NULL"}, first: []string{"X'00000000'", "X'FF00FF00'"}, later: []string{"X'275C0A00'"}},
	{name: "bytea", engines: "p", columns: []string{"k bytea NOT NULL"}, first: []string{`'\x00'`, `'\xff0027'`}, later: []string{`'\x'`, `'\x5c'`}},
	{name: "enum", engines: "my", columns: []string{"k enum('z','a','it''s') NOT NULL"}, first: []string{"'z'"}, later: []string{"'a'", "'it''s'"}},
	{name: "made enum", engines: "p", setup: "CREATE TYPE public.mood AS ENUM ('z', 'a', 'it''s')", columns: []string{"k public.mood NOT NULL"}, first: []string{"'z'"}, later: []string{"'a'", "'it''s'"}},
	{name: "decimal", columns: []string{"k decimal(30,10) NOT NULL"}, first: []string{"0.1", "-12345678901234567890.0123456789", "7"}, later: []string{"0.1000000001", "-0.5"}},
	{name: "big", engines: "my", columns: []string{"k bigint unsigned NOT NULL"}, first: []string{"0", "18446744073709551615"}, later: []string{"18446744073709551614", "9007199254740993"}},
	{name: "bits", engines: "my", columns: []string{"b bit(64) NOT NULL", "n int NOT NULL"}, first: []string{"b'0', 1", "18446744073709551615, 2", "b'101', 3"}, later: []string{"9223372036854775808, 1", "5, 4"}},
	{name: "moments", engines: "my", columns: []string{"k datetime(6) NOT NULL"}, first: []string{"'2020-01-01 00:00:00.000001'", "'0000-00-00 00:00:00'"}, later: []string{"'1999-12-31 23:59:59.999999'", "'2020-00-00 00:00:00'"}},
	{name: "timestamps", columns: []string{"k timestamp(6) NOT NULL"}, first: []string{"'2020-01-01 00:00:00.000001'", "'2021-06-01 12:00:00'"}, later: []string{"'1999-12-31 23:59:59.999999'"}},
	{name: "dates and times", columns: []string{"d date NOT NULL", "t time(3) NOT NULL"}, first: []string{"'2020-02-29', '23:59:59.999'", "'2020-02-29', '00:00:00'"}, later: []string{"'2020-03-01', '00:00:00.001'"}},
	{name: "uuids", engines: "pm", columns: []string{"k uuid NOT NULL"}, first: []string{"'00000000-0000-0000-0000-000000000001'", "'ffffffff-ffff-4fff-bfff-ffffffffffff'"}, later: []string{"'123e4567-e89b-42d3-a456-426614174000'"}},
	{name: "addresses", engines: "p", columns: []string{"k inet NOT NULL", "b bool NOT NULL"}, first: []string{"'10.0.0.1', true", "'10.0.0.0/8', false"}, later: []string{"'::1', true"}},
	{name: "a domain", engines: "p", setup: "CREATE DOMAIN public.code AS varchar(8)", columns: []string{"k public.code NOT NULL"}, first: []string{"'a'", "'b'"}, later: []string{"'c'"}},
	{name: "a collation", engines: "p", columns: []string{`k text COLLATE "C" NOT NULL`, "n smallint NOT NULL"}, first: []string{"'a', 1", "'B', 2", "'a', 3"}, later: []string{"'Z', 1", "'a', 2"}},
	{name: "composite", columns: []string{"k varchar(8) NOT NULL", "n int NOT NULL", "d decimal(6,2) NOT NULL"}, first: []string{"'a', 1, 0.50", "'a', 1, 1.50", "'b', -1, 0"}, later: []string{"'a', 2, 0.50", "'', 0, 0"}},
	{name: "unique", columns: []string{"k varchar(8) NOT NULL UNIQUE"}, first: []string{"'a'", "'b'"}, later: []string{"'c'"}},
	{name: "generated", columns: []string{"id int NOT NULL", "k int GENERATED ALWAYS AS (id * 2) STORED NOT NULL"}, engines: "py", first: []string{"1", "2"}, later: []string{"3"}},
}

func (c keyCase) on(k sandbox.Kind) bool {
	letter := map[sandbox.Kind]string{sandbox.Postgres: "p", sandbox.MariaDB: "m", sandbox.MySQL: "y"}[k]
	return c.engines == "" || strings.Contains(c.engines, letter)
}

func TestEveryTypeOfKeyIsNotedAndFoundAgain(t *testing.T) {
	everywhere(t, func(t *testing.T, r *rig) {
		for i, c := range keyCases {
			if c.on(r.kind) {
				t.Run(c.name, func(t *testing.T) { (&keyRun{rig: r, c: c, no: i}).run(t) })
			}
		}
	})
}

// keyRun copies a table with a type of key, while rows change.
type keyRun struct {
	*rig
	c       keyCase
	no      int
	columns []string // that can be written
}

func (k *keyRun) run(t *testing.T) {
	ctx := context.Background()
	k.rig.t = t
	table, into := fmt.Sprintf("key%d", k.no), fmt.Sprintf("key%d_copy", k.no)
	k.make(table, into)
	c := k.db.CaptureOf(k.table(table))
	require.NotEmpty(t, c.Table.Key, c.Table.KeyProblem)
	p := k.same(c, into)
	for _, values := range k.c.first {
		k.insert(table, values)
	}
	require.NoError(t, k.db.CreateCapture(ctx, c))
	require.NoError(t, k.db.CreateCapture(ctx, c), "again")
	y := k.copying(c, p, 100, 1, 1)
	d := y.drainer(k.db)

	// Before anything is copied, between chunks, and afterwards.
	k.insert(table, k.c.later[0])
	k.exec("UPDATE " + k.quoted(table) + " SET note = 'changed'")
	_, err := d.Sweep(ctx)
	require.NoError(t, err)
	require.Zero(t, k.count(into), "nothing is covered")
	require.NoError(t, y.copy(1))
	k.exec("UPDATE "+k.quoted(table)+" SET note = 'changed again' WHERE "+k.has(k.c.first[0]), "DELETE FROM "+k.quoted(table)+" WHERE "+k.has(k.c.later[0]))
	for _, values := range k.c.later[1:] {
		k.insert(table, values)
	}
	if last := k.c.later[len(k.c.later)-1]; len(k.c.first) > 1 && k.c.name != "generated" {
		k.exec("DELETE FROM "+k.quoted(table)+" WHERE "+k.has(last), "UPDATE "+k.quoted(table)+" SET "+k.set(last)+" WHERE "+k.has(k.c.first[1]))
	}
	settle(t, k.rig, c, d)
	shown := append([]string{"note"}, k.columns...)
	for i := range shown {
		shown[i] = k.by(shown[i]+"::text", shown[i])
	}
	list := strings.Join(shown, ", ")
	order := " ORDER BY " + list
	require.Equal(t, k.rows("SELECT "+list+" FROM "+k.quoted(table)+order, len(k.columns)+1), k.rows("SELECT "+list+" FROM "+k.quoted(into)+order, len(k.columns)+1))
	require.NotZero(t, k.count(into))
	require.NoError(t, k.db.DropCapture(ctx, c))
}

func (k *keyRun) make(names ...string) {
	if k.c.setup != "" {
		k.exec(k.c.setup)
	}
	var key []string
	k.columns = nil
	for _, column := range k.c.columns {
		name, _, _ := strings.Cut(column, " ")
		if !strings.Contains(column, "GENERATED") {
			k.columns = append(k.columns, name)
		}
		key = append(key, name)
	}
	if k.c.name == "generated" {
		key = []string{"k"}
	}
	primary := ", PRIMARY KEY (" + strings.Join(key, ", ") + ")"
	if strings.Contains(k.c.columns[0], "UNIQUE") {
		primary = ""
	}
	for _, name := range names {
		k.exec("CREATE TABLE " + k.quoted(name) + " (" + strings.Join(k.c.columns, ", ") + ", note varchar(20)" + primary + ")")
	}
}

func (k *keyRun) insert(table, values string) {
	k.rig.t.Helper()
	k.exec("INSERT INTO " + k.quoted(table) + " (" + strings.Join(k.columns, ", ") + ", note) VALUES (" + values + ", 'new')")
}

func (k *keyRun) has(values string) string { return strings.Join(k.equal(values), " AND ") }
func (k *keyRun) set(values string) string { return strings.Join(k.equal(values), ", ") }

func (k *keyRun) equal(values string) []string {
	list := strings.Split(values, ", ")
	for i := range list {
		list[i] = k.columns[i] + " = " + list[i]
	}
	return list
}

func (k *keyRun) count(table string) int {
	return len(k.rows("SELECT note FROM "+k.quoted(table), 1))
}

func TestAKeyOfWhichOnlyTheCaseChangesIsOneRowInACopyThatTellsCasesApart(t *testing.T) {
	for _, kind := range []sandbox.Kind{sandbox.MariaDB, sandbox.MySQL} {
		t.Run(string(kind), func(t *testing.T) {
			r := newRig(t, kind)
			for name, collation := range map[string]string{"words": "utf8mb4_general_ci", "words_copy": "utf8mb4_bin"} {
				r.exec("CREATE TABLE " + r.quoted(name) + " (k varchar(9) CHARACTER SET utf8mb4 COLLATE " + collation + " NOT NULL PRIMARY KEY, n int)")
			}
			r.exec("INSERT INTO " + r.quoted("words") + " VALUES ('a', 1), ('b', 1)")
			c := r.captured("words")
			y := r.copying(c, r.same(c, "words_copy"), 100, 1, 1)
			require.NoError(t, y.copy(1))
			r.exec("UPDATE "+r.quoted("words")+" SET k = 'A' WHERE k = 'a'", "UPDATE "+r.quoted("words")+" SET n = 2")
			settle(t, r, c, y.drainer(r.db))
			require.Equal(t, []string{"A|2", "b|2"}, r.rows("SELECT k, n FROM "+r.quoted("words_copy")+" ORDER BY k", 2))
		})
	}
}

func TestAKeyOfWhichOnlyTheCaseChangesIsNotLostInACopyThatDoesNotTellCasesApart(t *testing.T) {
	for _, kind := range []sandbox.Kind{sandbox.MariaDB, sandbox.MySQL} {
		t.Run(string(kind), func(t *testing.T) {
			r := newRig(t, kind)
			for name, collation := range map[string]string{"words": "utf8mb4_bin", "words_copy": "utf8mb4_general_ci"} {
				r.exec("CREATE TABLE " + r.quoted(name) + " (k varchar(9) CHARACTER SET utf8mb4 COLLATE " + collation + " NOT NULL PRIMARY KEY, n int)")
			}
			r.exec("INSERT INTO " + r.quoted("words") + " VALUES ('a', 1), ('b', 1), ('c', 1)")
			c := r.captured("words")
			p := r.same(c, "words_copy")
			p.Apart = true
			y := r.copying(c, p, 100, 1, 1)
			require.NoError(t, y.copy(1))
			d := y.drainer(r.db)
			// Both are there for a moment, and it is drained in between.
			r.exec("INSERT INTO " + r.quoted("words") + " VALUES ('A', 2)")
			_, err := d.Sweep(context.Background())
			require.NoError(t, err)
			r.exec("DELETE FROM "+r.quoted("words")+" WHERE k = 'a'", "UPDATE "+r.quoted("words")+" SET k = 'B' WHERE k = 'b'")
			settle(t, r, c, d)
			require.Equal(t, []string{"A|2", "B|1", "c|1"}, r.rows("SELECT k, n FROM "+r.quoted("words_copy")+" ORDER BY n DESC, k", 2))
			// Both stay.
			r.exec("INSERT INTO " + r.quoted("words") + " VALUES ('C', 3)")
			for range 20 {
				if _, err = d.Sweep(context.Background()); err != nil {
					break
				}
			}
			require.Equal(t, task.Data, fault.Of(err).Class)
			require.ErrorContains(t, err, "k=c")
			require.ErrorContains(t, err, "k=C")
		})
	}
}
