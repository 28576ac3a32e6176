package codec

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"godwit/internal/engine"
)

// choose names the codec (and its size) for a pair of types, or says why no
// codec is certain to carry every value.
func choose(src, dst *engine.Type) (name string, size int, why string) {
	switch src.Base {
	case "tinyint", "smallint", "mediumint", "int", "bigint":
		name, why = chooseInteger(src, dst)
	case "year":
		name, why = chooseYear(src, dst)
	case "decimal":
		name, why = chooseDecimal(src, dst)
	case "float", "double":
		name, why = chooseFloat(src, dst)
	case "bit":
		name, why = chooseBit(src, dst)
		size = int(src.Length)
	case "date", "datetime", "timestamp", "time":
		name, why = chooseTemporal(src, dst)
	case "char", "varchar", "tinytext", "text", "mediumtext", "longtext":
		name, why = chooseText(src, dst)
	case "enum":
		name, why = chooseEnum(src, dst)
	case "set":
		name, why = chooseSet(src, dst)
	case "json":
		name, why = chooseJSON(dst)
	case "binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob":
		name, why = only(dst, "bytea", "bytes")
	case "uuid":
		name, why = only(dst, "uuid", "uuid")
	case "inet4", "inet6":
		name, why = only(dst, "inet", "inet")
	default:
		why = unsupported(src)
	}
	return name, size, why
}

func unsupported(src *engine.Type) string {
	return fmt.Sprintf("this version cannot copy %s columns yet", strings.ToUpper(src.Base))
}

// only is for types that have one counterpart.
func only(dst *engine.Type, base, codec string) (string, string) {
	if dst.Base == base {
		return codec, ""
	}
	return notCertain(displayName(base))
}

func notCertain(instead string) (string, string) {
	return "", "not every value is certain to arrive unchanged; use " + instead
}

// displayName is how PostgreSQL writes a type that pg_type has another name for.
func displayName(base string) string {
	switch base {
	case "int2":
		return "smallint"
	case "int4":
		return "integer"
	case "int8":
		return "bigint"
	}
	return base
}

// integerBits are the bits that a signed integer needs for a MySQL type.
func integerBits(t *engine.Type) int {
	bits := map[string]int{"tinyint": 8, "smallint": 16, "mediumint": 24, "int": 32, "bigint": 64}[t.Base]
	if t.Unsigned {
		bits++
	}
	return bits
}

// integerDigits are the decimal digits that a MySQL integer can have.
func integerDigits(t *engine.Type) int {
	switch {
	case t.Base == "bigint" && t.Unsigned:
		return 20
	case t.Base == "mediumint" && t.Unsigned:
		return 8
	}
	return map[string]int{"tinyint": 3, "smallint": 5, "mediumint": 7, "int": 10, "bigint": 19}[t.Base]
}

var postgresBits = map[string]int{"int2": 16, "int4": 32, "int8": 64}

func chooseInteger(src, dst *engine.Type) (string, string) {
	switch dst.Base {
	case "int2", "int4", "int8":
		if integerBits(src) <= postgresBits[dst.Base] {
			return "integer", ""
		}
		return "", "it is too narrow; use " + mapInteger(src).Full
	case "numeric":
		if holdsNumber(dst, integerDigits(src), 0) {
			return "decimal", ""
		}
		return "", fmt.Sprintf("it is too narrow; use numeric(%d,0)", integerDigits(src))
	case "bool":
		if strings.HasPrefix(src.Full, "tinyint(1)") {
			return "boolean", ""
		}
	}
	return notCertain(mapInteger(src).Full)
}

// holdsNumber reports whether a numeric takes any number of so many digits in
// front of and after the point as it is. One without precision takes any.
func holdsNumber(dst *engine.Type, whole, fraction int) bool {
	return dst.Precision == 0 || dst.Scale >= fraction && dst.Precision-dst.Scale >= whole
}

func chooseYear(src, dst *engine.Type) (string, string) {
	switch {
	case strings.HasPrefix(src.Full, "year(2)"):
		return "", "a year of two digits does not say its century; make it year(4) on the source"
	case postgresBits[dst.Base] > 0:
		return "integer", ""
	case dst.Base == "numeric" && holdsNumber(dst, 4, 0):
		return "decimal", ""
	}
	return notCertain("smallint")
}

func chooseDecimal(src, dst *engine.Type) (string, string) {
	if dst.Base != "numeric" {
		return notCertain(fmt.Sprintf("numeric(%d,%d)", src.Precision, src.Scale))
	}
	if holdsNumber(dst, src.Precision-src.Scale, src.Scale) {
		return "decimal", ""
	}
	return "", fmt.Sprintf("it is too narrow; use numeric(%d,%d)", src.Precision, src.Scale)
}

func chooseFloat(src, dst *engine.Type) (string, string) {
	switch {
	case dst.Base == "float8":
		return "float8", ""
	case dst.Base == "float4" && src.Base == "float":
		return "float4", ""
	}
	return notCertain(map[string]string{"float": "real", "double": "double precision"}[src.Base])
}

func chooseBit(src, dst *engine.Type) (string, string) {
	switch {
	case dst.Base == "bit" && dst.Length == src.Length,
		dst.Base == "varbit" && (dst.Length == 0 || dst.Length >= src.Length):
		return "bit", ""
	case dst.Base == "bool" && src.Length == 1:
		return "bit-boolean", ""
	}
	return notCertain(fmt.Sprintf("bit(%d)", src.Length))
}

var temporalTargets = map[string][]string{
	"date":      {"date"},
	"datetime":  {"timestamp"},
	"timestamp": {"timestamptz"},
	"time":      {"interval", "time"},
}

func chooseTemporal(src, dst *engine.Type) (string, string) {
	if !slices.Contains(temporalTargets[src.Base], dst.Base) {
		switch {
		case src.Base == "datetime" && dst.Base == "timestamptz":
			return "", "a datetime does not say in which time zone it is; use " + mapTemporal(src).Full
		case src.Base == "timestamp" && dst.Base == "timestamp":
			return "", "a timestamp is a point in time, the target's is not; use " + mapTemporal(src).Full
		}
		return notCertain(mapTemporal(src).Full)
	}
	if dst.Base == "interval" && dst.Full != "interval" && !strings.HasPrefix(dst.Full, "interval(") {
		return "", "its fields are restricted; use " + mapTemporal(src).Full
	}
	if src.Base != "date" && fraction(dst) < fraction(src) {
		return "", "it has fewer fractional digits; use " + mapTemporal(src).Full
	}
	return dst.Base, ""
}

// fraction is the number of fractional digits; PostgreSQL's types have six
// when they do not say.
func fraction(t *engine.Type) int {
	if t.Fraction < 0 {
		return 6
	}
	return t.Fraction
}

// maxCharacters is the most characters that a MySQL text type holds, and bytes
// that a binary one does.
func maxCharacters(t *engine.Type) int64 {
	switch t.Base {
	case "tinytext", "tinyblob":
		return 1<<8 - 1
	case "text", "blob":
		return 1<<16 - 1
	case "mediumtext", "mediumblob":
		return 1<<24 - 1
	case "longtext", "longblob":
		return 1<<32 - 1
	}
	return t.Length
}

// holdsText reports whether a target type takes any text of so many
// characters as it is.
func holdsText(dst *engine.Type, characters int64) bool {
	switch dst.Base {
	case "text", "citext":
		return true
	case "varchar":
		return dst.Length == 0 || dst.Length >= characters
	}
	return false
}

func chooseText(src, dst *engine.Type) (string, string) {
	if src.JSON && (dst.Base == "json" || dst.Base == "jsonb") {
		return chooseJSON(dst)
	}
	characters := maxCharacters(src)
	switch {
	case holdsText(dst, characters):
		return "text", ""
	case dst.Base == "varchar":
		return "", fmt.Sprintf("it is too narrow; use varchar(%d) or text", characters)
	case dst.Base == "bpchar" && src.Base == "char" && dst.Length >= characters:
		// MySQL gives a CHAR without trailing blanks, which character(n) ignores.
		return "char", ""
	case dst.Base == "bpchar":
		return "", "character(n) does not keep trailing blanks apart; use varchar or text"
	}
	return notCertain("text")
}

func chooseEnum(src, dst *engine.Type) (string, string) {
	if len(dst.Values) > 0 {
		for _, label := range src.Values {
			if !slices.Contains(dst.Values, label) {
				return "", fmt.Sprintf("the target's enum has no label '%s'; add it there", label)
			}
		}
		if slices.Contains(src.Values, "") {
			return "text", ""
		}
		return "label", ""
	}
	longest := 0
	for _, label := range src.Values {
		longest = max(longest, utf8.RuneCountInString(label))
	}
	if holdsText(dst, int64(longest)) {
		return "text", ""
	}
	return notCertain("text")
}

func chooseSet(src, dst *engine.Type) (string, string) {
	if slices.Contains(src.Values, "") {
		return "", "the set has an empty member, which MySQL does not tell apart from the empty set; rename that member"
	}
	whole := max(len(src.Values)-1, 0) // the commas
	for _, member := range src.Values {
		whole += utf8.RuneCountInString(member)
	}
	switch {
	case dst.Base == "_text":
		return "set", ""
	case holdsText(dst, int64(whole)):
		return "text", ""
	}
	return notCertain("text[]")
}

func chooseJSON(dst *engine.Type) (string, string) {
	switch dst.Base {
	case "json", "jsonb":
		return dst.Base, ""
	case "text", "blob":
		return "text", ""
	}
	return notCertain("jsonb")
}
