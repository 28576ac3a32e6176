package mysql

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"godwit/internal/engine"
)

// conversion is how a value of one type becomes one of another.
type conversion struct {
	// expr is the value, of the new type as far as that can be written.
	expr string
	// broken are conditions of values that the new type has no place for, or
	// would change; none when it takes all.
	broken []string
	// silent says that the server would change such a value without an error.
	silent bool
}

// guarded is the value, or an error where it would be changed silently: a number
// that is out of range, in which the server shows the condition.
func (c conversion) guarded() string {
	if !c.silent || len(c.broken) == 0 {
		return c.expr
	}
	broken := c.condition()
	return "CASE WHEN " + broken + " AND 18446744073709551615 + " + broken + " THEN NULL ELSE " + c.expr + " END"
}

func (c conversion) condition() string { return "(" + strings.Join(c.broken, " OR ") + ")" }

func (c *conversion) breaks(silent bool, format string, args ...any) {
	c.broken = append(c.broken, fmt.Sprintf(format, args...))
	c.silent = c.silent || silent
}

// family groups the types that have the same kind of values.
func family(t engine.Type) string {
	switch t.Base {
	case "tinyint", "smallint", "mediumint", "int", "bigint":
		return "int"
	case "char", "varchar", "tinytext", "text", "mediumtext", "longtext":
		return "text"
	case "binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob":
		return "bytes"
	}
	return t.Base
}

// convert writes how a column's value becomes one of another type; false for
// types between which the way has to be said. What depends on the time zone of a
// session is one of these.
func convert(from, to engine.Type, column string) (conversion, bool) {
	c := conversion{expr: column}
	if from.Full == to.Full && from.Charset == to.Charset && from.Collation == to.Collation && from.JSON == to.JSON {
		return c, true
	}
	known := true
	switch way := family(from) + " to " + family(to); way {
	case "int to int", "year to int":
		c.bounded(from, to)
	case "int to decimal", "decimal to decimal", "decimal to int":
		c.digits(from, to)
	case "int to double":
		if from.Base == "bigint" {
			c.breaks(true, "%s > 9007199254740992 OR %s < -9007199254740992", column, column)
		}
	case "float to double":
	case "bit to bit":
		if to.Length < from.Length {
			c.breaks(false, "(%s + 0) >> %d > 0", column, to.Length)
		}
	case "text to text", "int to text", "decimal to text", "date to text", "time to text", "datetime to text", "year to text", "enum to text", "set to text", "json to text":
		c.texts(from, to)
	case "text to bytes", "bytes to bytes":
		c.bytes(from, to)
	case "text to int", "text to decimal":
		c.parsed(to)
	case "text to json":
		c.breaks(false, "NOT JSON_VALID(%s)", column)
		c.expr = "CAST(" + column + " AS JSON)"
	case "text to enum", "enum to enum":
		c.chosen(from, to)
	case "set to set":
		known = c.members(from, to)
	case "date to datetime":
	case "datetime to date":
		c.breaks(true, "TIME_TO_SEC(%s) > 0 OR MICROSECOND(%s) > 0", column, column)
		c.expr = "DATE(" + column + ")"
	case "datetime to datetime", "timestamp to timestamp", "time to time":
		if to.Fraction < from.Fraction {
			c.breaks(true, "MICROSECOND(%s) %% %d > 0", column, power(6-to.Fraction))
		}
	default:
		known = geometries[from.Base] && geometries[to.Base] && (to.Base == from.Base || to.Base == "geometry")
	}
	return c, known
}

func power(digits int) int64 {
	n := int64(1)
	for range digits {
		n *= 10
	}
	return n
}

// bits are the sizes of the integers.
var bits = map[string]int{"tinyint": 8, "smallint": 16, "mediumint": 24, "int": 32, "bigint": 64}

// limits are the bounds of an integer.
func limits(t engine.Type) (low, high string) {
	n := bits[t.Base]
	if t.Unsigned {
		return "0", strconv.FormatUint(1<<(n-1)-1+1<<(n-1), 10)
	}
	return strconv.FormatInt(-1<<(n-1), 10), strconv.FormatInt(1<<(n-1)-1, 10)
}

// bounded is for integers, which the server refuses when they are out of bounds.
func (c *conversion) bounded(from, to engine.Type) {
	low, high := limits(to)
	if to.Unsigned && !from.Unsigned && from.Base != "year" || !to.Unsigned && !from.Unsigned && bits[to.Base] < bits[from.Base] {
		c.breaks(false, "%s < %s", c.expr, low)
	}
	if bits[to.Base] < bits[from.Base] || bits[to.Base] == bits[from.Base] && from.Unsigned && !to.Unsigned || from.Base == "year" && to.Base == "tinyint" {
		c.breaks(false, "%s > %s", c.expr, high)
	}
}

// digits is for exact numbers: digits that would be rounded away are lost silently.
func (c *conversion) digits(from, to engine.Type) {
	whole := to.Precision - to.Scale
	if family(to) == "int" {
		low, high := limits(to)
		c.breaks(false, "%s < %s OR %s > %s", c.expr, low, c.expr, high)
	} else if family(from) == "int" || from.Precision-from.Scale > whole {
		c.breaks(false, "ABS(%s) >= 1%s", c.expr, strings.Repeat("0", whole))
	}
	if to.Unsigned && !from.Unsigned {
		c.breaks(false, "%s < 0", c.expr)
	}
	if to.Scale < from.Scale {
		c.breaks(true, "%s <> ROUND(%s, %d)", c.expr, c.expr, to.Scale)
	}
}

// textLimit is how long a text may be, in characters or in bytes.
func textLimit(t engine.Type) (chars, bytes int64) {
	switch t.Base {
	case "char", "varchar":
		return t.Length, 0
	case "binary", "varbinary":
		return 0, t.Length
	}
	switch strings.TrimSuffix(strings.TrimSuffix(t.Base, "text"), "blob") {
	case "tiny":
		return 0, 255
	case "":
		return 0, 65535
	case "medium":
		return 0, 1<<24 - 1
	}
	return 0, 1<<32 - 1
}

// texts is for characters: those that a charset does not have, and spaces at the
// end, are lost silently.
func (c *conversion) texts(from, to engine.Type) {
	column := c.expr
	if family(from) != "text" || from.JSON != to.JSON && to.JSON {
		c.expr = "CAST(" + column + " AS CHAR)"
	}
	if family(from) == "text" {
		c.expr = column
	}
	text := c.expr
	if from.Charset != to.Charset || family(from) != "text" {
		c.expr = "CONVERT(" + text + " USING " + to.Charset + ")"
		if to.Charset != "utf8mb4" {
			c.breaks(true, "CAST(CONVERT(%s USING utf8mb4) AS BINARY) <> CAST(CONVERT(%s USING utf8mb4) AS BINARY)", c.expr, text)
		}
	}
	fromChars, fromBytes := textLimit(from)
	chars, bytes := textLimit(to)
	switch {
	case chars > 0 && (family(from) != "text" || fromChars == 0 || fromChars > chars):
		c.breaks(true, "CHAR_LENGTH(%s) > %d", text, chars)
	case bytes > 0 && (family(from) != "text" || fromChars > 0 && 4*fromChars > bytes || fromBytes > bytes || from.Charset != to.Charset):
		c.breaks(true, "LENGTH(%s) > %d", c.expr, bytes)
	}
	if to.Base == "char" && from.Base != "char" {
		c.breaks(true, "CAST(RIGHT(%s, 1) AS BINARY) = X'20'", text)
	}
	if to.JSON && !from.JSON {
		c.breaks(false, "NOT JSON_VALID(%s)", column)
	}
}

// bytes is for binary strings: those of a fixed length are filled up silently.
func (c *conversion) bytes(from, to engine.Type) {
	_, limit := textLimit(to)
	_, had := textLimit(from)
	switch {
	case to.Base == "binary":
		c.breaks(true, "LENGTH(%s) <> %d", c.expr, limit)
	case had == 0 || had > limit:
		c.breaks(true, "LENGTH(%s) > %d", c.expr, limit)
	}
	if family(from) == "text" {
		c.expr = "CAST(" + c.expr + " AS BINARY)"
	}
}

// parsed is for numbers that are written as the server writes them.
func (c *conversion) parsed(to engine.Type) {
	column := c.expr
	fraction, scale := "", 0
	c.expr = "CAST(" + column + " AS SIGNED)"
	if to.Unsigned {
		c.expr = "CAST(" + column + " AS UNSIGNED)"
	}
	var low, high string
	if to.Base != "decimal" {
		low, high = limits(to)
	} else {
		scale = to.Scale
		if scale > 0 {
			fraction = fmt.Sprintf("([.][0-9]{1,%d})?", scale)
		}
		c.expr = fmt.Sprintf("CAST(%s AS DECIMAL(%d,%d))", column, to.Precision, scale)
		high = strings.Repeat("9", to.Precision-scale) + "." + strings.Repeat("9", scale)
		if scale == 0 {
			high = strings.Repeat("9", to.Precision)
		}
		if low = "-" + high; to.Unsigned {
			low = "0"
		}
	}
	c.breaks(true, "NOT %s REGEXP '^-?(0|[1-9][0-9]*)%s$'", column, fraction)
	c.breaks(true, "CAST(%s AS DECIMAL(65,%d)) NOT BETWEEN %s AND %s", column, scale, low, high)
}

// chosen is for the values of an enum, byte for byte.
func (c *conversion) chosen(from, to engine.Type) {
	text := c.expr
	if family(from) == "enum" {
		text = "CAST(" + c.expr + " AS CHAR)"
	}
	list := make([]string, len(to.Values))
	for i, v := range to.Values {
		list[i] = quoteBytes(v)
	}
	c.expr = "CONVERT(" + text + " USING " + to.Charset + ")"
	c.breaks(true, "CAST(CONVERT(%s USING utf8mb4) AS BINARY) NOT IN (%s)", text, strings.Join(list, ", "))
}

// members is for sets: their values go by text, in the order of the type. False
// when that order changes.
func (c *conversion) members(from, to engine.Type) bool {
	text, last := "CAST("+c.expr+" AS CHAR)", -1
	for _, v := range from.Values {
		i := slices.Index(to.Values, v)
		switch {
		case i < 0:
			c.breaks(true, "FIND_IN_SET(%s, %s) > 0", quoteText(v), text)
		case i < last:
			return false
		default:
			last = i
		}
	}
	c.expr = "CONVERT(" + text + " USING " + to.Charset + ")"
	return true
}

// fitted writes an expression of the user's so that the server has nothing to
// round when it stores it: then the copy can be compared with it.
func fitted(to engine.Type, result, expr string) string {
	result = strings.TrimPrefix(strings.ToUpper(result), "UNSIGNED ")
	number := strings.Contains(result, "INT") || result == "DECIMAL" || result == "DOUBLE" || result == "FLOAT" || result == "YEAR" || result == "NULL"
	switch {
	case family(to) == "int" && (result == "DECIMAL" || result == "DOUBLE" || result == "FLOAT"):
		return "ROUND(" + closed(expr) + ")"
	case family(to) == "int" && !number:
		return "ROUND(CAST(" + closed(expr) + " AS DECIMAL(65,10)))"
	case to.Base == "decimal" && number:
		return fmt.Sprintf("ROUND(%s, %d)", closed(expr), to.Scale)
	case to.Base == "decimal":
		return fmt.Sprintf("CAST(%s AS DECIMAL(65,%d))", closed(expr), to.Scale)
	case to.Base == "float":
		return "CAST(" + closed(expr) + " AS FLOAT)"
	case to.Base == "datetime" || to.Base == "timestamp":
		return fmt.Sprintf("CAST(%s AS DATETIME(%d))", closed(expr), to.Fraction)
	case to.Base == "time":
		return fmt.Sprintf("CAST(%s AS TIME(%d))", closed(expr), to.Fraction)
	case to.Base == "date":
		return "CAST(" + closed(expr) + " AS DATE)"
	case to.Base == "json":
		return "CAST(" + closed(expr) + " AS JSON)"
	case to.Base == "char":
		return "TRIM(TRAILING ' ' FROM CONVERT(" + closed(expr) + " USING " + to.Charset + "))"
	case to.Charset != "":
		return "CONVERT(" + closed(expr) + " USING " + to.Charset + ")"
	case family(to) == "bytes" && to.Base != "binary":
		return "CAST(" + closed(expr) + " AS BINARY)"
	}
	return expr
}
