package codec

import (
	"encoding/hex"
	"regexp"
	"strings"

	"godwit/internal/engine"
)

var (
	currentTimestamp = regexp.MustCompile(`(?i)^(?:current_timestamp|now|localtimestamp|localtime)(?:\(([0-6]?)\))?$`)
	currentDate      = regexp.MustCompile(`(?i)^(?:curdate|current_date)(?:\(\))?$`)
	newUUID          = regexp.MustCompile(`(?i)^uuid\(\)$`)
	numericLiteral   = regexp.MustCompile(`^-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?$`)
	bitLiteral       = regexp.MustCompile(`^[01]+$`)
)

// columnDefault maps a default that has an exact counterpart, and notes one
// that has not.
func (m *mapping) columnDefault(src, dst *engine.Column) {
	if src.Default == nil {
		return
	}
	text := src.Default.Text
	if src.Default.Expression {
		if strings.EqualFold(text, "NULL") {
			return
		}
		if expression := m.expressionDefault(unparenthesised(text), dst); expression != "" {
			dst.Default = &engine.Default{Text: expression, Expression: true}
			return
		}
	}
	if !src.Default.Expression || numericLiteral.MatchString(text) {
		if literal, ok := literalDefault(src, dst); ok {
			dst.Default = &engine.Default{Text: literal}
			return
		}
	}
	if src.Type.Base == "binary" || src.Type.Base == "varbinary" {
		text = showBytes([]byte(text), 0)
	}
	m.note(src.Name, "the default %s is left out", text)
}

func unparenthesised(text string) string {
	inner, found := strings.CutPrefix(text, "(")
	if inner, closed := strings.CutSuffix(inner, ")"); found && closed {
		return inner
	}
	return text
}

// expressionDefault is for functions that PostgreSQL has as well.
func (m *mapping) expressionDefault(text string, dst *engine.Column) string {
	const uuidLength = 36
	uuid := ""
	switch {
	case dst.Type.Base == "timestamp" || dst.Type.Base == "timestamptz":
		if match := currentTimestamp.FindStringSubmatch(text); match != nil && match[1] != "" {
			return "CURRENT_TIMESTAMP(" + match[1] + ")"
		} else if match != nil {
			return "CURRENT_TIMESTAMP"
		}
	case dst.Type.Base == "date" && currentDate.MatchString(text):
		return "CURRENT_DATE"
	case dst.Type.Base == "uuid":
		uuid = "gen_random_uuid()"
	case holdsText(&dst.Type, uuidLength):
		uuid = "gen_random_uuid()::text"
	}
	if uuid == "" || !newUUID.MatchString(text) {
		return ""
	}
	m.note(dst.Name, "new values are random UUIDs (version 4), the source's are made from the time (version 1)")
	return uuid
}

// literalDefault is the value in the form that PostgreSQL reads, as the
// column's codec writes it.
func literalDefault(src, dst *engine.Column) (string, bool) {
	value := src.Default.Text
	switch dst.Type.Base {
	case "int2", "int4", "int8", "numeric", "float4", "float8":
		if !strings.ContainsAny(value, "eE") {
			value = string(appendNumber(nil, []byte(value)))
		}
		return value, numericLiteral.MatchString(value)
	case "bit":
		return bitDefault(value, int(dst.Type.Length))
	case "bytea":
		return `\x` + hex.EncodeToString([]byte(value)), true
	}
	name, size, _ := choose(&src.Type, &dst.Type)
	return carryOne(name, size, value)
}

// carryOne writes a value with a codec, without COPY's escaping, which a
// default does not have.
func carryOne(name string, size int, value string) (string, bool) {
	row := &Row{Columns: []Column{{Codec: name, Size: size}}}
	if err := row.Bind(); err != nil {
		return "", false
	}
	line, err := row.Append(nil, [][]byte{[]byte(value)})
	return copyUnescape.Replace(strings.TrimSuffix(string(line), "\n")), err == nil
}

var copyUnescape = strings.NewReplacer(`\\`, `\`, `\t`, "\t", `\n`, "\n", `\r`, "\r")

// bitDefault fills the digits of b'1' up to the column's width.
func bitDefault(digits string, width int) (string, bool) {
	if !bitLiteral.MatchString(digits) {
		return "", false
	}
	digits = strings.TrimLeft(digits, "0")
	if len(digits) > width {
		return "", false
	}
	return strings.Repeat("0", width-len(digits)) + digits, true
}
