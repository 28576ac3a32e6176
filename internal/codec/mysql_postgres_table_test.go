package codec

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/task"
)

func mapped(t *testing.T, src *engine.Table, others ...string) (*engine.Table, string) {
	t.Helper()
	opts := Options{Target: map[engine.Name]engine.Name{}}
	for _, other := range append(others, src.Name.Table) {
		opts.Target[engine.Name{Schema: src.Name.Schema, Table: other}] = engine.Name{Schema: "public", Table: other}
	}
	dst, notes, err := MapTable(src, "mysql", engine.Name{Schema: "public", Table: src.Name.Table}, opts)
	require.NoError(t, err)
	text := make([]string, len(notes))
	for i, note := range notes {
		text[i] = note.String()
	}
	return dst, strings.Join(text, "\n")
}

// everyType has a column of every type that is copied.
func everyType() *engine.Table {
	types := []engine.Type{
		my("tinyint(1)", "tinyint"), my("tinyint(4)", "tinyint"), myUnsigned("tinyint(3) unsigned", "tinyint"),
		my("smallint(6)", "smallint"), myUnsigned("smallint(5) unsigned", "smallint"),
		my("mediumint(9)", "mediumint"), myUnsigned("mediumint(8) unsigned", "mediumint"),
		my("int(11)", "int"), myUnsigned("int(10) unsigned", "int"), my("bigint(20)", "bigint"), myUnsigned("bigint(20) unsigned", "bigint"),
		myDecimal("decimal(65,30)", 65, 30), my("float", "float"), my("double", "double"), myLong("bit(1)", "bit", 1), myLong("bit(64)", "bit", 64),
		my("year(4)", "year"), my("date", "date"), myTime("datetime", "datetime", 0), myTime("datetime(6)", "datetime", 6),
		myTime("timestamp(3)", "timestamp", 3), myTime("time(6)", "time", 6),
		myLong("char(0)", "char", 0), myLong("char(255)", "char", 255), myLong("varchar(300)", "varchar", 300),
		my("tinytext", "tinytext"), my("text", "text"), my("mediumtext", "mediumtext"), my("longtext", "longtext"),
		myLong("binary(16)", "binary", 16), myLong("varbinary(300)", "varbinary", 300),
		my("tinyblob", "tinyblob"), my("blob", "blob"), my("mediumblob", "mediumblob"), my("longblob", "longblob"),
		myValues("enum('a','it''s')", "enum", "a", "it's"), myValues("set('a','b')", "set", "a", "b"),
		my("json", "json"), mariaJSON(), my("uuid", "uuid"), my("inet4", "inet4"), my("inet6", "inet6"),
	}
	t := table("shop", "every")
	for i, typ := range types {
		t.Columns = append(t.Columns, engine.Column{Name: fmt.Sprintf("c%d", i), Type: typ})
	}
	return t
}

func TestEveryTypeIsMappedToOneThatItsValuesCanBeCarriedInto(t *testing.T) {
	src := everyType()
	dst, _ := mapped(t, src)
	got := make([]string, len(dst.Columns))
	for i := range dst.Columns {
		got[i] = src.Columns[i].Type.Full + ": " + dst.Columns[i].Type.Full + " " + dst.Columns[i].Type.Base
	}
	require.Equal(t, []string{
		"tinyint(1): smallint int2", "tinyint(4): smallint int2", "tinyint(3) unsigned: smallint int2",
		"smallint(6): smallint int2", "smallint(5) unsigned: integer int4",
		"mediumint(9): integer int4", "mediumint(8) unsigned: integer int4",
		"int(11): integer int4", "int(10) unsigned: bigint int8", "bigint(20): bigint int8", "bigint(20) unsigned: numeric(20,0) numeric",
		"decimal(65,30): numeric(65,30) numeric", "float: real float4", "double: double precision float8", "bit(1): bit(1) bit", "bit(64): bit(64) bit",
		"year(4): smallint int2", "date: date date", "datetime: timestamp(0) without time zone timestamp", "datetime(6): timestamp(6) without time zone timestamp",
		"timestamp(3): timestamp(3) with time zone timestamptz", "time(6): interval(6) interval",
		"char(0): character varying(1) varchar", "char(255): character varying(255) varchar", "varchar(300): character varying(300) varchar",
		"tinytext: text text", "text: text text", "mediumtext: text text", "longtext: text text",
		"binary(16): bytea bytea", "varbinary(300): bytea bytea",
		"tinyblob: bytea bytea", "blob: bytea bytea", "mediumblob: bytea bytea", "longblob: bytea bytea",
		"enum('a','it''s'): text text", "set('a','b'): text[] _text",
		"json: jsonb jsonb", "longtext: jsonb jsonb", "uuid: uuid uuid", "inet4: inet inet", "inet6: inet inet",
	}, got)
	row, err := New(src, dst, "mysql")
	require.NoError(t, err)
	require.Len(t, row.Columns, len(src.Columns))
	require.Equal(t, []engine.Check{
		{Name: "every_c35_check", Expression: `"c35" IN ('a', 'it''s', '')`},
		{Name: "every_c36_check", Expression: `"c36" <@ ARRAY['a', 'b']::text[]`},
	}, dst.Checks)
}

func TestWhatCannotBeCopiedIsRefusedByName(t *testing.T) {
	src := table("shop", "places",
		engine.Column{Name: "at", Type: my("point", "point")},
		engine.Column{Name: "v", Type: my("vector(3)", "vector")},
		engine.Column{Name: "y", Type: my("year(2)", "year")},
		engine.Column{Name: "s", Type: myValues("set('a','')", "set", "a", "")},
		engine.Column{Name: "xmin", Type: my("int", "int")},
		engine.Column{Name: strings.Repeat("é", 32), Type: my("int", "int")})
	_, _, err := MapTable(src, "mysql", engine.Name{Schema: "public", Table: strings.Repeat("t", 64)}, Options{})
	require.Equal(t, task.Config, fault.Of(err).Class)
	require.Equal(t, "shop.places", fault.Of(err).Table)
	for _, part := range []string{
		"this version cannot copy POINT columns yet: shop.places.at (point)", "cannot copy VECTOR columns yet: shop.places.v (vector(3))",
		"shop.places.y (year(2)): a year of two digits", "shop.places.s (set('a','')): the set has an empty member",
		"shop.places.xmin: every table of PostgreSQL has a system column of that name",
		"has 64 bytes, PostgreSQL takes 63: rename it on the source", "has 64 bytes, PostgreSQL takes 63: choose another one with `to:`",
	} {
		require.ErrorContains(t, err, part)
	}
	_, _, err = MapTable(src, "postgres", engine.Name{}, Options{})
	require.ErrorContains(t, err, "cannot copy from postgres yet")
}

func TestDefaultsAreKeptWhereTheyMeanTheSame(t *testing.T) {
	literal := func(text string) *engine.Default { return &engine.Default{Text: text} }
	expression := func(text string) *engine.Default { return &engine.Default{Text: text, Expression: true} }
	datetime, stamp, words := myTime("datetime(6)", "datetime", 6), myTime("timestamp", "timestamp", 0), myLong("varchar(40)", "varchar", 40)
	for _, c := range []struct {
		typ       engine.Type
		from, to  *engine.Default
		noteParts string
	}{
		{my("int", "int"), literal("-3"), literal("-3"), ""},
		{my("int", "int"), expression("0"), literal("0"), ""},
		{my("int", "int"), expression("(1 + 2)"), nil, "the default (1 + 2) is left out"},
		{my("int", "int"), expression("NULL"), nil, ""},
		{myUnsigned("bigint(20) unsigned zerofill", "bigint"), literal("00000000000000000007"), literal("7"), "zerofill"},
		{myDecimal("decimal(10,2)", 10, 2), literal("1.50"), literal("1.5"), ""},
		{my("double", "double"), literal("1e100"), literal("1e100"), ""},
		{my("year(4)", "year"), literal("2020"), literal("2020"), ""},
		{myLong("bit(4)", "bit", 4), literal("101"), literal("0101"), ""},
		{my("date", "date"), literal("2024-02-29"), literal("2024-02-29"), ""},
		{my("date", "date"), literal("0000-00-00"), nil, "the default 0000-00-00 is left out"},
		{my("date", "date"), expression("curdate()"), expression("CURRENT_DATE"), ""},
		{datetime, expression("CURRENT_TIMESTAMP(6)"), expression("CURRENT_TIMESTAMP(6)"), ""},
		{datetime, literal("2020-01-01 00:00:00.000000"), literal("2020-01-01 00:00:00.000000"), ""},
		{stamp, expression("current_timestamp()"), expression("CURRENT_TIMESTAMP"), ""},
		{stamp, expression("(now(3))"), expression("CURRENT_TIMESTAMP(3)"), ""},
		{stamp, literal("2020-01-01 00:00:00"), literal("2020-01-01 00:00:00+00"), ""},
		{stamp, literal("0000-00-00 00:00:00"), nil, "left out"},
		{myTime("time(3)", "time", 3), literal("-10:11:12.500"), literal("-10:11:12.500"), ""},
		{words, literal("it's \\ NULL\t"), literal("it's \\ NULL\t"), ""},
		{words, literal("NULL"), literal("NULL"), ""},
		{words, literal("current_timestamp"), literal("current_timestamp"), ""},
		{words, expression("uuid()"), expression("gen_random_uuid()::text"), "version 4"},
		{myLong("varchar(20)", "varchar", 20), expression("uuid()"), nil, "left out"},
		{words, expression("concat('a','b')"), nil, "the default concat('a','b') is left out"},
		{my("uuid", "uuid"), expression("uuid()"), expression("gen_random_uuid()"), "version 4"},
		{my("inet6", "inet6"), literal("::1"), literal("::1"), ""},
		{myLong("binary(4)", "binary", 4), literal("x\x00\x00\xff"), literal(`\x780000ff`), ""},
		{myValues("set('x','y z')", "set", "x", "y z"), literal("x,y z"), literal(`{"x","y z"}`), ""},
		{myValues("set('x','y z')", "set", "x", "y z"), literal(""), literal(`{}`), ""},
		{mariaJSON(), literal(`{"a": "\n"}`), literal(`{"a": "\n"}`), ""},
		{mariaJSON(), literal(`{`), nil, "the default { is left out"},
	} {
		t.Run(c.typ.Full+" "+c.from.Text, func(t *testing.T) {
			dst, notes := mapped(t, table("shop", "a", engine.Column{Name: "x", Type: c.typ, Default: c.from}))
			require.Equal(t, c.to, dst.Columns[0].Default)
			if c.noteParts == "" {
				require.Empty(t, notes)
			}
			require.Contains(t, notes, c.noteParts)
		})
	}
}

func TestWhatIsParticularToAColumnIsMappedOrNoted(t *testing.T) {
	src := table("shop", "a",
		engine.Column{Name: "id", Type: myUnsigned("int(10) unsigned", "int"), Identity: true, Comment: "the number"},
		engine.Column{Name: "big", Type: myUnsigned("bigint(20) unsigned", "bigint"), Identity: true},
		engine.Column{Name: "sum", Type: my("int", "int"), Nullable: true, Generated: "`id` + 1", Stored: true},
		engine.Column{Name: "at", Type: myTime("timestamp", "timestamp", 0), OnUpdateNow: true},
		engine.Column{Name: "hidden", Type: my("int", "int"), Invisible: true},
		engine.Column{Name: "kind", Type: myValues("enum('')", "enum", "")})
	src.Comment, src.NextIdentity, src.Key, src.KeyName, src.Rows, src.Bytes = "all of a", 77, []string{"id"}, "PRIMARY", 5, 500
	src.Indexes = []engine.Index{{Name: "PRIMARY", Primary: true, Unique: true, Method: "btree", Parts: []engine.IndexPart{{Column: "id"}}}}
	src.Triggers, src.Partitioned = []string{"audit"}, true
	dst, notes := mapped(t, src)
	require.Equal(t, engine.Column{Name: "id", Type: pg("bigint", "int8"), Identity: true, Comment: "the number"}, dst.Columns[0])
	require.Equal(t, engine.Column{Name: "big", Type: numericType(20, 0), Identity: true}, dst.Columns[1])
	require.Equal(t, engine.Column{Name: "sum", Type: pg("integer", "int4"), Nullable: true}, dst.Columns[2])
	require.Equal(t, `"kind" IN ('')`, dst.Checks[0].Expression)
	require.Equal(t, "all of a", dst.Comment)
	require.Equal(t, uint64(77), dst.NextIdentity)
	require.Equal(t, []string{"id"}, dst.Key)
	require.Equal(t, "a_pkey", dst.KeyName)
	require.False(t, dst.Partitioned)
	for _, part := range []string{
		"column big: it counts on from a sequence", "column sum: it becomes a plain column", "`id` + 1", "column at: ON UPDATE CURRENT_TIMESTAMP is left out",
		"column hidden: it is invisible", "column kind: it sorts by its text", "triggers are left out: audit", "the partitions become one table",
	} {
		require.Contains(t, notes, part)
	}
}

func TestAnAutoIncrementBeyondEverySequenceIsLeftOutWithANote(t *testing.T) {
	src := &engine.Table{Name: engine.Name{Schema: "shop", Table: "a"}, NextIdentity: 1<<63 + 1,
		Columns: []engine.Column{{Name: "id", Type: engine.Type{Full: "bigint(20) unsigned", Base: "bigint", Unsigned: true, Fraction: -1}, Identity: true}}}
	dst, notes := mapped(t, src)
	require.False(t, dst.Columns[0].Identity)
	require.Contains(t, notes, "it has come to 9223372036854775809")
	src.NextIdentity = 1 << 63
	dst, _ = mapped(t, src)
	require.True(t, dst.Columns[0].Identity, "its last value is still one of a sequence")
}

func TestIndexesAreMappedOrLeftOutWithANote(t *testing.T) {
	words := myLong("varchar(40)", "varchar", 40)
	words.Collation = "utf8mb4_0900_ai_ci"
	exact := myLong("varchar(40)", "varchar", 40)
	exact.Collation = "utf8mb4_bin"
	src := table("shop", "orders",
		engine.Column{Name: "id", Type: my("int", "int")}, engine.Column{Name: "na\"me", Type: words}, engine.Column{Name: "code", Type: exact},
		engine.Column{Name: "doc", Type: my("blob", "blob")}, engine.Column{Name: "place", Type: my("int", "int")})
	part := func(column string) engine.IndexPart { return engine.IndexPart{Column: column} }
	src.Indexes = []engine.Index{
		{Name: "PRIMARY", Primary: true, Unique: true, Method: "btree", Parts: []engine.IndexPart{part("id")}},
		{Name: "by_name", Method: "btree", Comment: "why", Parts: []engine.IndexPart{{Column: "na\"me", Prefix: 5}, {Column: "id", Descending: true}}},
		{Name: "orders_code", Unique: true, Method: "hash", Parts: []engine.IndexPart{part("code")}},
		{Name: "code", Method: "btree", Parts: []engine.IndexPart{part("code")}},
		{Name: "doc", Unique: true, Method: "btree", Parts: []engine.IndexPart{{Column: "doc", Prefix: 4}}},
		{Name: "whole_doc", Unique: true, Method: "hash", Parts: []engine.IndexPart{part("doc")}},
		{Name: "name", Unique: true, Method: "btree", Invisible: true, Parts: []engine.IndexPart{part("na\"me")}},
		{Name: "words", Method: "fulltext", Parts: []engine.IndexPart{part("na\"me")}},
		{Name: "place", Method: "spatial", Parts: []engine.IndexPart{part("place")}},
		{Name: "fn", Method: "btree", Parts: []engine.IndexPart{{Expression: "lower(`code`)"}}},
		{Name: strings.Repeat("long", 15), Method: "btree", Parts: []engine.IndexPart{part("id")}},
	}
	dst, notes := mapped(t, src)
	got := dst.Indexes
	require.Len(t, got, 8)
	require.Equal(t, engine.Index{Name: "orders_pkey", Primary: true, Unique: true, Method: "btree", Parts: []engine.IndexPart{part("id")}}, got[0])
	require.Equal(t, engine.Index{Name: "orders_by_name", Method: "btree", Comment: "why",
		Parts: []engine.IndexPart{{Expression: `left("na""me", 5)`}, {Column: "id", Descending: true}}}, got[1])
	require.Equal(t, engine.Index{Name: "orders_code", Unique: true, Method: "btree", Parts: []engine.IndexPart{part("code")}}, got[2])
	require.Regexp(t, `^orders_code_[0-9a-f]{8}$`, got[3].Name, "two indexes with one name")
	require.Equal(t, engine.IndexPart{Expression: `substr("doc", 1, 4)`}, got[4].Parts[0])
	require.True(t, got[4].Unique)
	require.Len(t, got[7].Name, 63)
	require.Regexp(t, `^orders_longlong.*_[0-9a-f]{8}$`, got[7].Name)
	for _, part := range []string{
		"fulltext index words is left out", "spatial index place is left out", "functional index fn is left out: its expression lower(`code`)",
		"index name is invisible on the source", "unique index orders_name tells values apart on the target that utf8mb4_0900_ai_ci takes for the same: na\"me",
		"index orders_whole_doc: PostgreSQL refuses values of doc that are over about 2700 bytes",
		"text is compared and sorted by the target's collation, with case and accents, not by utf8mb4_0900_ai_ci: na\"me",
	} {
		require.Contains(t, notes, part)
	}
	require.NotContains(t, notes, "utf8mb4_bin")
}

func TestAPrimaryKeyOnABeginningBecomesAUniqueIndex(t *testing.T) {
	src := table("shop", "docs", engine.Column{Name: "url", Type: my("text", "text")})
	src.Indexes = []engine.Index{{Name: "PRIMARY", Primary: true, Unique: true, Method: "btree", Parts: []engine.IndexPart{{Column: "url", Prefix: 20}}}}
	dst, notes := mapped(t, src)
	require.Equal(t, []engine.Index{{Name: "docs_pkey", Unique: true, Method: "btree", Parts: []engine.IndexPart{{Expression: `left("url", 20)`}}}}, dst.Indexes)
	require.Contains(t, notes, "the primary key becomes the unique index docs_pkey: it is on the beginning of url(20)")
}

func TestIndexesOfTwoTablesNeverGetOneName(t *testing.T) {
	names := map[string]string{}
	for tableName, index := range map[string]string{"order": "items_sku", "order_items": "sku", "order_items_sku": "x"} {
		src := table("shop", tableName, engine.Column{Name: "sku", Type: my("int", "int")})
		src.Indexes = []engine.Index{{Name: index, Method: "btree", Parts: []engine.IndexPart{{Column: "sku"}}}}
		dst, _ := mapped(t, src, "order", "order_items", "order_items_sku")
		name := dst.Indexes[0].Name
		require.Empty(t, names[name], "%s has the name of an index of %s", tableName, names[name])
		names[name] = tableName
		require.NotContains(t, []string{"order", "order_items", "order_items_sku"}, name, "an index has a table's name")
		again, _ := mapped(t, src, "order", "order_items", "order_items_sku")
		require.Equal(t, name, again.Indexes[0].Name, "a name that changes cannot be resumed")
	}
}

func TestForeignKeysFollowTheirTables(t *testing.T) {
	words := myLong("varchar(40)", "varchar", 40)
	words.Collation = "latin1_swedish_ci"
	src := table("shop", "orders", engine.Column{Name: "id", Type: my("int", "int")}, engine.Column{Name: "customer", Type: my("int", "int")}, engine.Column{Name: "country", Type: words})
	src.Indexes = []engine.Index{{Name: "fk_customer", Method: "btree", Parts: []engine.IndexPart{{Column: "customer"}}}}
	fk := func(name, column, schema, ref string) engine.ForeignKey {
		return engine.ForeignKey{Name: name, Columns: []string{column}, Ref: engine.Name{Schema: schema, Table: ref}, RefColumns: []string{"id"}, OnDelete: "CASCADE", OnUpdate: "NO ACTION"}
	}
	src.ForeignKeys = []engine.ForeignKey{fk("fk_customer", "customer", "shop", "customers"), fk("parent", "id", "", "orders"),
		fk("elsewhere", "customer", "billing", "accounts"), fk("fk_country", "country", "shop", "countries")}
	dst, notes, err := MapTable(src, "mariadb", engine.Name{Schema: "new", Table: "sales"}, Options{Target: map[engine.Name]engine.Name{
		{Schema: "shop", Table: "customers"}: {Schema: "crm", Table: "clients"},
		{Schema: "shop", Table: "countries"}: {Schema: "new", Table: "countries"},
	}})
	require.NoError(t, err)
	require.Equal(t, []engine.ForeignKey{fk("fk_customer", "customer", "crm", "clients"), fk("parent", "id", "new", "sales"), fk("fk_country", "country", "new", "countries")}, dst.ForeignKeys)
	require.Equal(t, "sales_fk_customer", dst.Indexes[0].Name)
	require.Contains(t, notes, Note{Text: "foreign key elsewhere is left out: billing.accounts, which it refers to, is not part of the migration"})
	require.Contains(t, notes, Note{Text: "foreign key fk_country compares country exactly on the target; latin1_swedish_ci takes different texts for the same"})
}

func TestChecksAreKeptWhereTheyMeanTheSame(t *testing.T) {
	for expression, want := range map[string]string{
		"`n` < 5":   `("n" < 5)`,
		"(`n` < 5)": `("n" < 5)`,
		"((`d` between 0.5 and 100) and (`n` in (1,2,-(3))) and (`d` is not null))": `((("d" BETWEEN 0.5 AND 100) AND ("n" IN (1, 2, (-3)))) AND ("d" IS NOT NULL))`,
		"`d` between 0.5 and 100 and `n` in (1,2,-3) or not `n` = `d`":              `((("d" BETWEEN 0.5 AND 100) AND ("n" IN (1, 2, (-3)))) OR (NOT ("n" = "d")))`,
		"`n` not between 1 and 2":             `("n" NOT BETWEEN 1 AND 2)`,
		"`n` NOT IN (1)":                      `("n" NOT IN (1))`,
		"(((`n`)) >= ((1)))":                  `("n" >= 1)`,
		"`n` <> 1 and (`n` != 2 or `n` <= 3)": `(("n" <> 1) AND (("n" != 2) OR ("n" <= 3)))`,

		"`v` <> 'zz'": "", "`v` = `v`": "", "`f` > 0": "", "`n`": "", "(`n` > 1) = 1": "", "`n` + 1 > 2": "", "`n` > 1 xor `d` > 1": "",
		"char_length(`v`) > 1": "", "`n` > 1 and": "", "`n` > 1)": "", "(`n` > 1": "", "`gone` > 1": "", "not `n`": "", "`n` <=> 1": "",
		"`n` in ()": "", "`n` between 1 and (`d` > 2)": "", "`n` is null is null": "", "": "", "`n` in (1": "", "1 < `n` < 3": "", "`n` > 1 && `d` > 1": "",
		"json_valid(`v`)": "", "`n` > 0x10": "", "`n` div 2 = 0": "", "`n` = true": "",
	} {
		src := table("shop", "a", engine.Column{Name: "n", Type: my("int", "int")}, engine.Column{Name: "d", Type: myDecimal("decimal(10,2)", 10, 2)},
			engine.Column{Name: "f", Type: my("double", "double")}, engine.Column{Name: "v", Type: myLong("varchar(5)", "varchar", 5)})
		src.Checks = []engine.Check{{Name: "good", Expression: expression}}
		dst, notes := mapped(t, src)
		if want == "" {
			require.Empty(t, dst.Checks, expression)
			require.Contains(t, notes, "check good is left out: "+expression)
			continue
		}
		require.Equal(t, []engine.Check{{Name: "good", Expression: want}}, dst.Checks)
		require.Empty(t, notes)
	}
}
