package postgres

import (
	"context"
	"fmt"
	"slices"

	"godwit/internal/engine"
)

// wholes are the bounds of whole numbers.
var wholes = map[string][2]string{"int2": {"-32768", "32767"}, "int4": {"-2147483648", "2147483647"}, "int8": {"-9223372036854775808", "9223372036854775807"}}

// wholeDigits is how many digits whole numbers have at the most.
var wholeDigits = map[string]int{"int2": 5, "int4": 10, "int8": 19}

// lossy writes the condition of values of a column that are not the same as
// values of another type; empty when all are. Not known: for lack of a rule.
func lossy(from, into engine.Type, x string) (condition string, known bool) {
	bounds, whole := wholes[into.Base]
	_, wasWhole := wholes[from.Base]
	switch {
	case whole && wasWhole:
		if wholeDigits[from.Base] <= wholeDigits[into.Base] {
			return "", true
		}
		return x + " NOT BETWEEN " + bounds[0] + " AND " + bounds[1], true
	case whole && (from.Base == "numeric" || from.Base == "float4" || from.Base == "float8"):
		return "(" + x + " NOT BETWEEN " + bounds[0] + " AND " + bounds[1] + " OR trunc(" + x + ") <> " + x + ")", true
	case into.Base == "numeric" && into.Precision == 0 && (wasWhole || from.Base == "numeric"):
		return "", true
	case into.Base == "numeric" && (wasWhole || from.Base == "numeric"):
		room := into.Precision - into.Scale
		if wasWhole && room >= wholeDigits[from.Base] || from.Precision > 0 && from.Scale <= into.Scale && from.Precision-from.Scale <= room {
			return "", true
		}
		return fmt.Sprintf("(%s = 'NaN' OR abs(%s) >= 1e%d::numeric OR round(%s, %d) <> %s)", numeric(x), numeric(x), room, numeric(x), into.Scale, numeric(x)), true
	case (into.Base == "varchar" || into.Base == "text") && (from.Base == "varchar" || from.Base == "text" || from.Base == "bpchar" && (into.Length == 0 || from.Length > 0)):
		if into.Length == 0 || from.Length > 0 && from.Length <= into.Length {
			return "", true
		}
		return fmt.Sprintf("char_length(%s) > %d", x, into.Length), true
	case into.Base == "bpchar" && (from.Base == "varchar" || from.Base == "text"):
		return fmt.Sprintf("(char_length(%s) > %d OR rtrim(%s, ' ') <> %s)", x, into.Length, x, x), true
	case into.Base == "bpchar" && from.Base == "bpchar":
		return fmt.Sprintf("char_length(%s) > %d", x, into.Length), from.Length > 0
	case into.Base == "varchar" && into.Length > 0:
		return fmt.Sprintf("char_length(%s::text) > %d", x, into.Length), true
	case into.Base == "text" || into.Base == "varchar":
		return "", true
	case into.Base == from.Base && into.Fraction >= from.Fraction && from.Fraction >= 0:
		return "", true
	case into.Base == "jsonb" && from.Base == "json":
		return "", true // what a json says, and not how it is written
	case into.Base == "float8" && (from.Base == "float4" || from.Base == "int2" || from.Base == "int4"), into.Base == "timestamp" && from.Base == "date", into.Base == "float4" && from.Base == "int2":
		return "", true
	case into.Base == "float8" && from.Base == "int8":
		return x + " NOT BETWEEN -9007199254740992 AND 9007199254740992", true
	case into.Base == "float4" && wasWhole:
		return x + " NOT BETWEEN -16777216 AND 16777216", true
	case into.Base == "float8" && from.Base == "numeric":
		return fromNumeric(x, "float8", "1e-300", "1.7e308"), true
	case into.Base == "float4" && from.Base == "numeric":
		return fromNumeric(x, "float4", "1.2e-38", "3.4e38"), true
	case into.Base == "float4" && from.Base == "float8":
		return fmt.Sprintf("CASE WHEN %s IN ('NaN', 'Infinity', '-Infinity', 0) THEN FALSE WHEN abs(%s) NOT BETWEEN 1.2e-38 AND 3.4e38 THEN TRUE ELSE %s::float4::float8 <> %s END", x, x, x, x), true
	}
	return "", false
}

func numeric(x string) string { return x + "::numeric" }

// fromNumeric writes the condition of numbers that are others as floating point
// ones; those that the server would refuse are among them.
func fromNumeric(x, base, least, most string) string {
	return fmt.Sprintf("CASE WHEN %s IN ('NaN', 0) THEN FALSE WHEN abs(%s) NOT BETWEEN %s AND %s THEN TRUE ELSE %s::%s::numeric <> %s END", x, x, least, most, x, base, x)
}

// lost writes the condition of values of a column that are not the same as values
// of another type; empty when all are. Where there is no rule, a value is made one
// of the other type and back again; where there is no way back, nothing is known.
func (c *clone) lost(ctx context.Context, from *engine.Column, into engine.Type) (condition string, known bool, err error) {
	if from.Type.Full == into.Full {
		return "", true, nil
	}
	x := Quote(from.Name)
	if condition, known := lossy(from.Type, into, x); known {
		return condition, true, nil
	}
	back := func(value string) string {
		return "CAST(CAST(" + value + " AS " + into.Full + ") AS " + from.Type.Full + `)::text COLLATE "C"`
	}
	refusal, err := c.refuses(ctx, "SELECT "+back("CAST(NULL AS "+from.Type.Full+")"))
	if refusal != nil {
		return "", false, nil
	}
	return back(x) + " IS DISTINCT FROM " + x + `::text COLLATE "C"`, true, err
}

// texting are the types that take texts.
var texting = []string{"text", "varchar", "bpchar", "name", "char"}

// quiet reports whether the server may change a value without an error when it
// makes one of another type of it.
func quiet(from, into engine.Type) bool {
	_, whole := wholes[into.Base]
	_, wasWhole := wholes[from.Base]
	switch {
	case slices.Contains(texting, into.Base):
		return slices.Contains(texting, from.Base) // blanks at the end
	case wasWhole && (whole || into.Base == "numeric"):
		return false // it is out of range, or as it was
	case whole && from.Base == "numeric":
		return from.Precision == 0 || from.Scale > 0
	}
	return true
}

// exactly writes a value so that one that would be changed quietly is an error:
// of a text that is no value of the type, in which the server shows the value.
func exactly(from *engine.Column, into engine.Type, lost, expr string) string {
	if lost == "" || !quiet(from.Type, into) {
		return expr
	}
	complaint := QuoteLiteral(from.Name+" would be changed: ") + " || " + Quote(from.Name) + "::text"
	if !slices.Contains(texting, into.Base) {
		return "CASE WHEN " + lost + " THEN CAST(" + complaint + " AS " + into.Full + ") ELSE CAST(" + expr + " AS " + into.Full + ") END"
	}
	if into.Length > 0 { // of more than blanks the server says itself that it is too long
		lost = fmt.Sprintf("%s AND char_length(rtrim(%s::text, ' ')) <= %d", lost, Quote(from.Name), into.Length)
	}
	return "CASE WHEN " + lost + " THEN CAST(CAST(" + complaint + " AS integer) AS text) ELSE CAST(" + expr + " AS text) END"
}
