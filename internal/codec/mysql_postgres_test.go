package codec

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/task"
)

// Types as the engines describe them.

func my(full, base string) engine.Type { return engine.Type{Full: full, Base: base, Fraction: -1} }

func myUnsigned(full, base string) engine.Type {
	return engine.Type{Full: full, Base: base, Unsigned: true, Fraction: -1}
}

func myLong(full, base string, length int64) engine.Type {
	return engine.Type{Full: full, Base: base, Length: length, Fraction: -1}
}

func myDecimal(full string, precision, scale int) engine.Type {
	return engine.Type{Full: full, Base: "decimal", Precision: precision, Scale: scale, Fraction: -1}
}

func myTime(full, base string, fraction int) engine.Type {
	return engine.Type{Full: full, Base: base, Fraction: fraction}
}

func myValues(full, base string, values ...string) engine.Type {
	return engine.Type{Full: full, Base: base, Values: values, Fraction: -1}
}

func mariaJSON() engine.Type {
	return engine.Type{Full: "longtext", Base: "longtext", JSON: true, Fraction: -1, Charset: "utf8mb4", Collation: "utf8mb4_bin"}
}

func pg(full, base string) engine.Type { return plainType(full, base) }

func pgLong(full, base string, length int64) engine.Type {
	return engine.Type{Full: full, Base: base, Length: length, Fraction: -1}
}

func pgTime(full, base string, fraction int) engine.Type {
	return engine.Type{Full: full, Base: base, Fraction: fraction}
}

func pgValues(full string, values ...string) engine.Type {
	return engine.Type{Full: full, Base: full, Values: values, Fraction: -1}
}

func table(schema, name string, columns ...engine.Column) *engine.Table {
	return &engine.Table{Name: engine.Name{Schema: schema, Table: name}, Columns: columns}
}

func TestAPairOfTypesIsCarriedOrRefused(t *testing.T) {
	const refused = ""
	for _, c := range []struct {
		src, dst engine.Type
		codec    string
	}{
		{my("tinyint(4)", "tinyint"), pg("smallint", "int2"), "integer"},
		{myUnsigned("tinyint(3) unsigned", "tinyint"), pg("smallint", "int2"), "integer"},
		{my("smallint", "smallint"), pg("smallint", "int2"), "integer"},
		{myUnsigned("smallint unsigned", "smallint"), pg("smallint", "int2"), refused},
		{myUnsigned("smallint unsigned", "smallint"), pg("integer", "int4"), "integer"},
		{myUnsigned("mediumint unsigned", "mediumint"), pg("integer", "int4"), "integer"},
		{my("int", "int"), pg("integer", "int4"), "integer"},
		{my("int", "int"), pg("smallint", "int2"), refused},
		{my("int", "int"), pg("bigint", "int8"), "integer"},
		{my("int", "int"), numericType(10, 0), "decimal"},
		{my("int", "int"), numericType(12, 2), "decimal"},
		{my("int", "int"), numericType(10, 2), refused},
		{my("int", "int"), numericType(8, -3), refused},
		{my("int", "int"), pg("numeric", "numeric"), "decimal"},
		{my("int", "int"), pg("boolean", "bool"), refused},
		{my("int", "int"), pg("text", "text"), refused},
		{my("int", "int"), pg("real", "float4"), refused},
		{myUnsigned("int(10) unsigned", "int"), pg("integer", "int4"), refused},
		{myUnsigned("int(10) unsigned", "int"), pg("bigint", "int8"), "integer"},
		{my("bigint", "bigint"), pg("bigint", "int8"), "integer"},
		{my("bigint", "bigint"), numericType(19, 0), "decimal"},
		{myUnsigned("bigint unsigned", "bigint"), pg("bigint", "int8"), refused},
		{myUnsigned("bigint unsigned", "bigint"), numericType(20, 0), "decimal"},
		{myUnsigned("bigint unsigned", "bigint"), numericType(19, 0), refused},
		{my("tinyint(1)", "tinyint"), pg("boolean", "bool"), "boolean"},
		{my("tinyint(4)", "tinyint"), pg("boolean", "bool"), refused},
		{my("year(4)", "year"), pg("smallint", "int2"), "integer"},
		{my("year", "year"), pg("date", "date"), refused},
		{my("year(2)", "year"), pg("smallint", "int2"), refused},
		{myDecimal("decimal(10,2)", 10, 2), numericType(10, 2), "decimal"},
		{myDecimal("decimal(10,2)", 10, 2), numericType(12, 4), "decimal"},
		{myDecimal("decimal(10,2)", 10, 2), numericType(10, 4), refused},
		{myDecimal("decimal(10,2)", 10, 2), numericType(12, 1), refused},
		{myDecimal("decimal(10,2)", 10, 2), pg("numeric", "numeric"), "decimal"},
		{myDecimal("decimal(10,2)", 10, 2), pg("double precision", "float8"), refused},
		{my("float", "float"), pg("real", "float4"), "float4"},
		{my("float", "float"), pg("double precision", "float8"), "float8"},
		{my("double", "double"), pg("double precision", "float8"), "float8"},
		{my("double", "double"), pg("real", "float4"), refused},
		{myLong("bit(8)", "bit", 8), pgLong("bit(8)", "bit", 8), "bit"},
		{myLong("bit(8)", "bit", 8), pgLong("bit(9)", "bit", 9), refused},
		{myLong("bit(8)", "bit", 8), pgLong("bit varying(9)", "varbit", 9), "bit"},
		{myLong("bit(8)", "bit", 8), pgLong("bit varying(7)", "varbit", 7), refused},
		{myLong("bit(1)", "bit", 1), pg("boolean", "bool"), "bit-boolean"},
		{myLong("bit(2)", "bit", 2), pg("boolean", "bool"), refused},
		{my("date", "date"), pg("date", "date"), "date"},
		{my("date", "date"), pgTime("timestamp without time zone", "timestamp", 6), refused},
		{myTime("datetime(3)", "datetime", 3), pgTime("timestamp(3) without time zone", "timestamp", 3), "timestamp"},
		{myTime("datetime(3)", "datetime", 3), pgTime("timestamp without time zone", "timestamp", 6), "timestamp"},
		{myTime("datetime(3)", "datetime", 3), pgTime("timestamp(0) without time zone", "timestamp", 0), refused},
		{myTime("datetime", "datetime", 0), pgTime("timestamp with time zone", "timestamptz", 6), refused},
		{myTime("timestamp", "timestamp", 0), pgTime("timestamp with time zone", "timestamptz", 6), "timestamptz"},
		{myTime("timestamp", "timestamp", 0), pgTime("timestamp without time zone", "timestamp", 6), refused},
		{myTime("time(6)", "time", 6), pgTime("interval", "interval", 6), "interval"},
		{myTime("time(6)", "time", 6), pgTime("interval(3)", "interval", 3), refused},
		{myTime("time", "time", 0), pgTime("interval hour to minute", "interval", 6), refused},
		{myTime("time", "time", 0), pgTime("time without time zone", "time", 6), "time"},
		{myLong("char(5)", "char", 5), pgLong("character varying(5)", "varchar", 5), "text"},
		{myLong("char(5)", "char", 5), pgLong("character(5)", "bpchar", 5), "char"},
		{myLong("char(5)", "char", 5), pgLong("character(4)", "bpchar", 4), refused},
		{myLong("varchar(300)", "varchar", 300), pgLong("character varying(300)", "varchar", 300), "text"},
		{myLong("varchar(300)", "varchar", 300), pgLong("character varying(100)", "varchar", 100), refused},
		{myLong("varchar(300)", "varchar", 300), pg("character varying", "varchar"), "text"},
		{myLong("varchar(300)", "varchar", 300), pgLong("character(300)", "bpchar", 300), refused},
		{myLong("varchar(300)", "varchar", 300), pg("text", "text"), "text"},
		{myLong("varchar(36)", "varchar", 36), pg("uuid", "uuid"), refused},
		{myLong("varchar(300)", "varchar", 300), pg("jsonb", "jsonb"), refused},
		{myLong("text", "text", 65535), pgLong("character varying(1000)", "varchar", 1000), refused},
		{myLong("tinytext", "tinytext", 255), pgLong("character varying(255)", "varchar", 255), "text"},
		{myLong("longtext", "longtext", 1<<32-1), pg("text", "text"), "text"},
		{myValues("enum('a','bcd')", "enum", "a", "bcd"), pg("text", "text"), "text"},
		{myValues("enum('a','bcd')", "enum", "a", "bcd"), pgLong("character varying(3)", "varchar", 3), "text"},
		{myValues("enum('a','bcd')", "enum", "a", "bcd"), pgLong("character varying(2)", "varchar", 2), refused},
		{myValues("enum('a','bcd')", "enum", "a", "bcd"), pgValues("size", "bcd", "a", "z"), "label"},
		{myValues("enum('a','bcd')", "enum", "a", "bcd"), pgValues("size", "a", "BCD"), refused},
		{myValues("enum('a','')", "enum", "a", ""), pgValues("size", "a", ""), "text"},
		{myValues("set('a','b')", "set", "a", "b"), pg("text[]", "_text"), "set"},
		{myValues("set('a','b')", "set", "a", "b"), pg("text", "text"), "text"},
		{myValues("set('a','b')", "set", "a", "b"), pgLong("character varying(3)", "varchar", 3), "text"},
		{myValues("set('a','b')", "set", "a", "b"), pgLong("character varying(2)", "varchar", 2), refused},
		{myValues("set('a','')", "set", "a", ""), pg("text[]", "_text"), refused},
		{my("json", "json"), pg("jsonb", "jsonb"), "jsonb"},
		{my("json", "json"), pg("json", "json"), "json"},
		{my("json", "json"), pg("text", "text"), "text"},
		{my("json", "json"), pgLong("character varying(10)", "varchar", 10), refused},
		{mariaJSON(), pg("jsonb", "jsonb"), "jsonb"},
		{mariaJSON(), pg("text", "text"), "text"},
		{myLong("binary(16)", "binary", 16), pg("bytea", "bytea"), "bytes"},
		{myLong("binary(16)", "binary", 16), pg("uuid", "uuid"), refused},
		{myLong("longblob", "longblob", 1<<32-1), pg("bytea", "bytea"), "bytes"},
		{myLong("blob", "blob", 65535), pg("text", "text"), refused},
		{my("uuid", "uuid"), pg("uuid", "uuid"), "uuid"},
		{my("uuid", "uuid"), pg("bytea", "bytea"), refused},
		{my("inet4", "inet4"), pg("inet", "inet"), "inet"},
		{my("inet6", "inet6"), pg("inet", "inet"), "inet"},
		{my("geometry", "geometry"), pg("bytea", "bytea"), refused},
		{my("vector(3)", "vector"), pg("text", "text"), refused},
	} {
		t.Run(c.src.Full+" to "+c.dst.Full, func(t *testing.T) {
			src := table("shop", "orders", engine.Column{Name: "x", Type: c.src})
			dst := table("public", "orders", engine.Column{Name: "x", Type: c.dst})
			row, err := New(src, dst, "mariadb")
			if c.codec != refused {
				require.NoError(t, err)
				require.Equal(t, c.codec, row.Columns[0].Codec)
				return
			}
			require.Error(t, err)
			require.Equal(t, task.Config, fault.Of(err).Class)
			require.Equal(t, "shop.orders", fault.Of(err).Table)
			for _, part := range []string{"shop.orders.x (" + c.src.Full + ")", "public.orders.x (" + c.dst.Full + ")"} {
				require.ErrorContains(t, err, part)
			}
		})
	}
}

func TestARefusalSaysWhatToUseInstead(t *testing.T) {
	src := table("shop", "orders", engine.Column{Name: "total", Type: myUnsigned("bigint(20) unsigned", "bigint")})
	dst := table("public", "orders", engine.Column{Name: "total", Type: pg("bigint", "int8")})
	_, err := New(src, dst, "mysql")
	require.EqualError(t, err, "shop.orders.total (bigint(20) unsigned) cannot be copied into public.orders.total (bigint): it is too narrow; use numeric(20,0)")
}

func TestAllThatIsWrongWithATableIsSaidAtOnce(t *testing.T) {
	number, words := my("int", "int"), myLong("varchar(10)", "varchar", 10)
	src := table("shop", "orders",
		engine.Column{Name: "id", Type: number},
		engine.Column{Name: "gone", Type: number},
		engine.Column{Name: "maybe", Type: number, Nullable: true},
		engine.Column{Name: "sum", Type: number},
		engine.Column{Name: "note", Type: words, Nullable: true})
	dst := table("public", "orders",
		engine.Column{Name: "id", Type: pg("bigint", "int8")},
		engine.Column{Name: "maybe", Type: pg("integer", "int4")},
		engine.Column{Name: "sum", Type: pg("integer", "int4"), Generated: "id + 1", Stored: true},
		engine.Column{Name: "note", Type: pg("text", "text"), Nullable: true},
		engine.Column{Name: "added", Type: pg("text", "text")},
		engine.Column{Name: "added_with_default", Type: pg("text", "text"), Default: &engine.Default{Text: ""}},
		engine.Column{Name: "added_nullable", Type: pg("text", "text"), Nullable: true},
		engine.Column{Name: "added_identity", Type: pg("bigint", "int8"), Identity: true},
		engine.Column{Name: "added_generated", Type: pg("bigint", "int8"), Generated: "id + 2"})
	_, err := New(src, dst, "mysql")
	require.ErrorContains(t, err, "shop.orders.gone (int) has no column of that name in public.orders")
	require.ErrorContains(t, err, "shop.orders.maybe (int) cannot be copied into public.orders.maybe (integer): the source's column may be NULL")
	require.ErrorContains(t, err, "public.orders.sum (integer): the target's column is generated")
	require.ErrorContains(t, err, "public.orders.added is NOT NULL without a default")
	require.NotContains(t, err.Error(), "added_")
	require.NotContains(t, err.Error(), "orders.id")
	require.NotContains(t, err.Error(), "orders.note")
}

func TestColumnsBelongTogetherByNameInWhateverOrder(t *testing.T) {
	number, words := my("int", "int"), myLong("varchar(10)", "varchar", 10)
	src := table("shop", "orders",
		engine.Column{Name: "OrderId", Type: number}, engine.Column{Name: "we`ird \"name\"", Type: words}, engine.Column{Name: "at", Type: myTime("timestamp", "timestamp", 0)}, engine.Column{Name: "f", Type: my("float", "float")})
	dst := table("public", "orders",
		engine.Column{Name: "f", Type: pg("real", "float4")}, engine.Column{Name: "at", Type: pgTime("timestamp with time zone", "timestamptz", 6)},
		engine.Column{Name: "we`ird \"name\"", Type: pg("text", "text")}, engine.Column{Name: "orderid", Type: pg("integer", "int4")})
	row, err := New(src, dst, "mysql")
	require.NoError(t, err)
	require.Equal(t, []string{"`OrderId`", "`we``ird \"name\"`", "`at`", "`f`*1e0"}, row.SourceExprs())
	require.Equal(t, []string{"orderid", "we`ird \"name\"", "at", "f"}, row.TargetColumns())
	require.Equal(t, []string{`"orderid"`, `"we` + "`" + `ird ""name"""`, `"at" AT TIME ZONE 'UTC'`, `"f"`}, row.TargetExprs())

	dst.Columns = append(dst.Columns, engine.Column{Name: "ORDERID", Type: pg("integer", "int4"), Nullable: true})
	_, err = New(src, dst, "mysql")
	require.ErrorContains(t, err, "shop.orders.OrderId could be orderid or ORDERID of public.orders")
}

func TestAPlanIsTheSameAfterTheLedger(t *testing.T) {
	src := table("shop", "orders", engine.Column{Name: "b", Type: myLong("bit(3)", "bit", 3)})
	dst := table("public", "orders", engine.Column{Name: "b", Type: pgLong("bit(3)", "bit", 3)})
	row, err := New(src, dst, "mysql")
	require.NoError(t, err)
	text, err := json.Marshal(row)
	require.NoError(t, err)
	require.JSONEq(t, `{"source": {"schema": "shop", "table": "orders"}, "target": {"schema": "public", "table": "orders"},
		"columns": [{"source": "b", "target": "b", "source_expr": "`+"`b`"+`", "target_expr": "\"b\"", "codec": "bit", "size": 3}]}`, string(text))
}

func TestOtherSourcesAreRefusedByName(t *testing.T) {
	_, err := New(table("public", "a"), table("public", "b"), "postgres")
	require.ErrorContains(t, err, "cannot copy from postgres yet")
}
