package codec

import (
	"fmt"

	"godwit/internal/engine"
)

// mapType is the type that PostgreSQL's column gets for a MySQL type, false
// when there is none yet. choose has a codec for every pair it gives.
func mapType(src *engine.Type) (engine.Type, bool) {
	switch src.Base {
	case "tinyint", "smallint", "mediumint", "int", "bigint":
		return mapInteger(src), true
	case "year":
		return plainType("smallint", "int2"), true
	case "decimal":
		return numericType(src.Precision, src.Scale), true
	case "float":
		return plainType("real", "float4"), true
	case "double":
		return plainType("double precision", "float8"), true
	case "bit":
		return sizedType("bit", "bit", src.Length), true
	case "date", "datetime", "timestamp", "time":
		return mapTemporal(src), true
	case "char", "varchar":
		return sizedType("character varying", "varchar", max(src.Length, 1)), true
	case "tinytext", "text", "mediumtext", "longtext":
		if src.JSON {
			return plainType("jsonb", "jsonb"), true
		}
		return plainType("text", "text"), true
	case "enum":
		return plainType("text", "text"), true
	case "set":
		return plainType("text[]", "_text"), true
	case "json":
		return plainType("jsonb", "jsonb"), true
	case "binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob":
		return plainType("bytea", "bytea"), true
	case "uuid":
		return plainType("uuid", "uuid"), true
	case "inet4", "inet6":
		return plainType("inet", "inet"), true
	}
	return engine.Type{}, false
}

func plainType(full, base string) engine.Type {
	return engine.Type{Full: full, Base: base, Fraction: -1}
}

func sizedType(full, base string, length int64) engine.Type {
	return engine.Type{Full: fmt.Sprintf("%s(%d)", full, length), Base: base, Length: length, Fraction: -1}
}

func numericType(precision, scale int) engine.Type {
	return engine.Type{Full: fmt.Sprintf("numeric(%d,%d)", precision, scale), Base: "numeric", Precision: precision, Scale: scale, Fraction: -1}
}

// mapInteger is the narrowest type that holds every value.
func mapInteger(src *engine.Type) engine.Type {
	switch bits := integerBits(src); {
	case bits <= 16:
		return plainType("smallint", "int2")
	case bits <= 32:
		return plainType("integer", "int4")
	case bits <= 64:
		return plainType("bigint", "int8")
	}
	return numericType(20, 0)
}

func mapTemporal(src *engine.Type) engine.Type {
	f := max(src.Fraction, 0)
	switch src.Base {
	case "date":
		return plainType("date", "date")
	case "datetime":
		return engine.Type{Full: fmt.Sprintf("timestamp(%d) without time zone", f), Base: "timestamp", Fraction: f}
	case "timestamp":
		return engine.Type{Full: fmt.Sprintf("timestamp(%d) with time zone", f), Base: "timestamptz", Fraction: f}
	}
	return engine.Type{Full: fmt.Sprintf("interval(%d)", f), Base: "interval", Fraction: f}
}
