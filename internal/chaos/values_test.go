package chaos

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

// column is one of the source's, as its server describes it.
type column struct{ name, kind, full string }

// columns are those of a source table, in their order.
func (s *stage) columns(table string) []column {
	s.t.Helper()
	var found []column
	for line := range strings.SplitSeq(s.askSource(fmt.Sprintf(`SELECT column_name, data_type, column_type FROM information_schema.columns
		WHERE table_schema = '%s' AND table_name = '%s' ORDER BY ordinal_position`, s.from, table)), "\n") {
		fields := strings.Split(line, "\t")
		found = append(found, column{fields[0], fields[1], fields[2]})
	}
	if !strings.Contains(s.askSource("SELECT VERSION()"), "MariaDB") {
		return found
	}
	// MariaDB's JSON is a text that is checked.
	checked := s.askSource(fmt.Sprintf(`SELECT check_clause FROM information_schema.check_constraints
		WHERE constraint_schema = '%s' AND table_name = '%s'`, s.from, table))
	for i := range found {
		if strings.Contains(checked, "json_valid(`"+found[i].name+"`)") {
			found[i].kind = "json"
		}
	}
	return found
}

// oracle is how a column's values are written as text that is the same on both
// sides exactly when the values are: first its sort, then the source's SQL, then
// PostgreSQL's. Texts are compared byte by byte, as hexadecimal UTF-8.
func (c column) oracle() (sort, source, target string) {
	there, here := "`"+c.name+"`", pgx.Identifier{c.name}.Sanitize()
	switch c.kind {
	case "tinyint", "smallint", "mediumint", "int", "bigint":
		return "number", fmt.Sprintf("CAST(%s + 0 AS CHAR)", there), here + "::text"
	case "year":
		return "number", fmt.Sprintf("CAST(%s + 0 AS CHAR)", there), here + "::text"
	case "decimal":
		return "number", fmt.Sprintf("CAST(%s AS CHAR)", there), here + "::text"
	case "float": // is shown with six digits; as a double it has all
		return "float", fmt.Sprintf("CONCAT(CAST(%s AS DOUBLE))", there), here + "::float8::text"
	case "double":
		return "float", fmt.Sprintf("CONCAT(%s)", there), here + "::text"
	case "char", "varchar", "tinytext", "text", "mediumtext", "longtext", "enum":
		return "text", fmt.Sprintf("HEX(CONVERT(%s USING utf8mb4))", there), fmt.Sprintf("upper(encode(convert_to(%s::text, 'UTF8'), 'hex'))", here)
	case "set":
		return "text", fmt.Sprintf("HEX(CONVERT(%s USING utf8mb4))", there), fmt.Sprintf("upper(encode(convert_to(array_to_string(%s, ','), 'UTF8'), 'hex'))", here)
	case "json":
		return "json", fmt.Sprintf("HEX(CONVERT(%s USING utf8mb4))", there), fmt.Sprintf("upper(encode(convert_to(%s::text, 'UTF8'), 'hex'))", here)
	case "binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob":
		return "bytes", fmt.Sprintf("HEX(%s)", there), fmt.Sprintf("upper(encode(%s, 'hex'))", here)
	case "bit":
		return "bits", fmt.Sprintf("LPAD(BIN(%s + 0), %s, '0')", there, strings.Trim(c.full, "bit()")), here + "::text"
	case "date":
		return "time", fmt.Sprintf("CAST(%s AS CHAR)", there), fmt.Sprintf("to_char(%s, 'YYYY-MM-DD')", here)
	case "datetime":
		return "time", fmt.Sprintf("DATE_FORMAT(%s, '%%Y-%%m-%%d %%H:%%i:%%s.%%f')", there), fmt.Sprintf("to_char(%s, 'YYYY-MM-DD HH24:MI:SS.US')", here)
	case "timestamp":
		return "time", fmt.Sprintf("DATE_FORMAT(%s, '%%Y-%%m-%%d %%H:%%i:%%s.%%f')", there), fmt.Sprintf("to_char(%s AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US')", here)
	case "time":
		e := fmt.Sprintf("extract(epoch FROM %s)", here)
		return "time", fmt.Sprintf("CAST(CAST(%s AS DECIMAL(20,6)) AS CHAR)", there), fmt.Sprintf(
			"(sign(%[1]s) * (floor(abs(%[1]s) / 3600) * 10000 + floor(mod(abs(%[1]s), 3600) / 60) * 100 + mod(abs(%[1]s), 60)))::numeric(20,6)::text", e)
	case "uuid", "inet6", "inet4":
		if c.kind == "uuid" {
			return "text", fmt.Sprintf("CAST(%s AS CHAR)", there), here + "::text"
		}
		return "text", fmt.Sprintf("CAST(%s AS CHAR)", there), fmt.Sprintf("host(%s)", here)
	}
	return "", "", ""
}

// normal writes a line's floats and JSON in one way: each server has its own
// for the same number and for the space between members.
func normal(line string, columns []column) string {
	var fields []string
	for i, c := range columns {
		sort, _, _ := c.oracle()
		if sort != "float" && sort != "json" {
			continue
		}
		if fields == nil {
			fields = strings.Split(line, "|")
		}
		if fields[i] == "~" {
			continue
		}
		if sort == "float" {
			f, err := strconv.ParseFloat(fields[i], 64)
			fields[i] = fmt.Sprintf("%x %v", f, err)
			continue
		}
		fields[i] = canonicalJSON(fields[i])
	}
	if fields == nil {
		return line
	}
	return strings.Join(fields, "|")
}

func canonicalJSON(text string) string {
	raw, err := hex.DecodeString(text)
	if err != nil {
		return "no hex: " + text
	}
	decoder := json.NewDecoder(strings.NewReader(string(raw)))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return fmt.Sprintf("no JSON: %s: %v", raw, err)
	}
	out, err := json.Marshal(value)
	return fmt.Sprintf("%s %v", out, err)
}
