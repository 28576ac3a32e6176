package engine

import (
	"regexp"
	"slices"
	"strings"
)

// Repeatable reports whether the expressions and the condition say the same
// when they are evaluated again for a row that is locked: they are made of
// columns, literals, operators and functions that are known to depend on their
// arguments alone, and none sees what another one has assigned before it. What
// is not understood is not repeatable.
func (r *Rewrite) Repeatable(d Dialect) bool {
	if r.From.Table != "" {
		return false
	}
	for i, a := range r.Set {
		if !pure(d, a.Expr) {
			return false
		}
		if d != MySQLDialect {
			continue
		}
		// The server assigns from left to right.
		for _, before := range r.Set[:i] {
			if regexp.MustCompile(`(?i)(^|[^\pL\pN_$])` + regexp.QuoteMeta(before.Column) + `($|[^\pL\pN_$])`).MatchString(a.Expr) {
				return false
			}
		}
	}
	return r.Where == "" || pure(d, r.Where)
}

var (
	escapedText  = regexp.MustCompile("(?s)'(?:[^'\\\\]|\\\\.|'')*'|\"(?:[^\"\\\\]|\\\\.|\"\")*\"|`(?:[^`]|``)*`")
	standardText = regexp.MustCompile("(?s)'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"")
	quotedCall   = regexp.MustCompile(`''\s*\(`) // the name of a function
	wordText     = regexp.MustCompile(`[\pL_$][\pL\pN_$]*`)
)

// pure reports whether an expression's value depends on the row alone.
func pure(d Dialect, expr string) bool {
	quoted, strange := standardText, "@#;`\\$"
	if d == MySQLDialect {
		quoted, strange = escapedText, "@#;"
	}
	if d != MySQLDialect && strings.Contains(strings.ToLower(expr), "e'") {
		return false // perhaps a string in which a backslash escapes a quote
	}
	text := quoted.ReplaceAllString(expr, "''")
	if strings.ContainsAny(text, strange) || strings.Contains(text, "--") || strings.Contains(text, "/*") || strings.Contains(text, ":=") {
		return false
	}
	if quotedCall.MatchString(text) {
		return false
	}
	for _, at := range wordText.FindAllStringIndex(text, -1) {
		name := strings.ToLower(text[at[0]:at[1]])
		called := strings.HasPrefix(strings.TrimLeft(text[at[1]:], " \t\r\n"), "(")
		qualified := at[0] > 0 && text[at[0]-1] == '.'
		switch {
		case slices.Contains(impureWords, name):
			return false
		case called && (qualified || !slices.Contains(pureFunctions, name) && !slices.Contains(beforeParentheses, name)):
			return false
		}
	}
	return true
}

// impureWords read something else than the row, without parentheses, or stand
// for a query.
var impureWords = []string{
	"select", "values", "table", "with", "match", "current_timestamp", "current_date", "current_time", "localtime", "localtimestamp",
	"utc_date", "utc_time", "utc_timestamp", "current_user", "current_role", "nextval", "lastval", "previous", "next",
}

// beforeParentheses are words, not functions, that parentheses may follow.
var beforeParentheses = []string{
	"and", "or", "not", "xor", "in", "when", "then", "else", "case", "is", "like", "between", "div", "mod", "as", "interval", "from", "for", "using", "binary", "rlike", "regexp",
	"char", "varchar", "decimal", "numeric", "bpchar", "timestamp", "timestamptz", "bit", "varbit", "datetime", "time", "signed", "unsigned", "nchar", "float", "double",
}

// pureFunctions depend on their arguments alone, within a session, on every
// engine that has them.
var pureFunctions = []string{
	"abs", "ceil", "ceiling", "floor", "round", "truncate", "sign", "sqrt", "pow", "power", "exp", "ln", "log", "log2", "log10", "greatest", "least", "crc32", "conv",
	"concat", "concat_ws", "lower", "lcase", "upper", "ucase", "trim", "ltrim", "rtrim", "left", "right", "substr", "substring", "substring_index", "mid", "replace", "repeat",
	"reverse", "lpad", "rpad", "length", "char_length", "character_length", "octet_length", "bit_length", "locate", "position", "instr", "insert", "elt", "field", "find_in_set",
	"ascii", "ord", "hex", "unhex", "bin", "oct", "format", "quote", "strcmp", "soundex", "to_base64", "from_base64", "md5", "sha1", "sha2",
	"coalesce", "ifnull", "nullif", "if", "isnull", "cast", "convert",
	"date", "year", "month", "day", "dayofmonth", "dayofweek", "dayofyear", "week", "weekday", "yearweek", "quarter", "hour", "minute", "second", "microsecond",
	"date_add", "date_sub", "adddate", "subdate", "addtime", "subtime", "datediff", "timediff", "timestampdiff", "timestampadd", "last_day", "makedate", "maketime",
	"to_days", "from_days", "time_to_sec", "sec_to_time", "to_seconds", "str_to_date", "date_format", "time_format", "extract",
	"json_extract", "json_unquote", "json_set", "json_insert", "json_replace", "json_remove", "json_object", "json_array", "json_length", "json_valid", "json_contains",
	"json_contains_path", "json_type", "json_keys", "json_quote", "json_value",
	"btrim", "initcap", "split_part", "starts_with", "strpos", "translate", "to_char", "to_date", "to_timestamp", "to_number", "date_trunc", "date_part", "make_date",
	"encode", "decode", "jsonb_set", "jsonb_build_object", "jsonb_build_array", "jsonb_extract_path", "jsonb_extract_path_text", "jsonb_typeof", "jsonb_array_length", "to_jsonb",
	"trunc", "div", "width_bucket", "array_length", "cardinality",
	"regexp_replace", "regexp_substr", "regexp_like", "regexp_instr", "bit_count", "inet_aton", "inet_ntoa", "inet6_aton", "inet6_ntoa",
}
