package codec

import (
	"regexp"
	"strings"

	"godwit/internal/engine"
	"godwit/internal/engine/postgres"
)

func (m *mapping) checks() {
	for _, check := range m.src.Checks {
		expression, ok := portableCheck(check.Expression, m.src)
		if !ok {
			m.note("", "check %s is left out: %s is of the source's dialect", check.Name, check.Expression)
			continue
		}
		m.dst.Checks = append(m.dst.Checks, engine.Check{Name: m.uniqueName(check.Name), Expression: expression})
	}
}

// portableCheck writes a check in PostgreSQL's dialect when it means the same
// in both beyond doubt: comparisons of integer and decimal columns with each
// other and with numbers, joined by AND, OR and NOT. Text is compared by
// collations and functions differ, so they are not.
func portableCheck(expression string, table *engine.Table) (string, bool) {
	p := &checkParser{table: table, tokens: checkTokens(expression)}
	out, ok := p.or()
	return out, ok && len(p.tokens) == 0
}

var checkToken = regexp.MustCompile("^\\s*(`(?:[^`]|``)+`|[0-9]+(?:\\.[0-9]+)?|[A-Za-z_]+|<=|>=|<>|!=|[-=<>(),])")

// checkTokens splits an expression; what is no token becomes one that nothing
// accepts.
func checkTokens(expression string) []string {
	var tokens []string
	for rest := strings.TrimSpace(expression); rest != ""; {
		match := checkToken.FindStringSubmatch(rest)
		if match == nil {
			return append(tokens, rest)
		}
		tokens = append(tokens, match[1])
		rest = strings.TrimSpace(rest[len(match[0]):])
	}
	return tokens
}

type checkParser struct {
	table  *engine.Table
	tokens []string
}

// take takes the next token if it is one of these, which are in upper case.
func (p *checkParser) take(wanted ...string) (string, bool) {
	if len(p.tokens) > 0 {
		for _, w := range wanted {
			if strings.EqualFold(p.tokens[0], w) {
				p.tokens = p.tokens[1:]
				return w, true
			}
		}
	}
	return "", false
}

func (p *checkParser) or() (string, bool) { return p.joined("OR", p.and) }

func (p *checkParser) and() (string, bool) { return p.joined("AND", p.not) }

func (p *checkParser) joined(word string, part func() (string, bool)) (string, bool) {
	out, ok := part()
	for ok {
		if _, more := p.take(word); !more {
			break
		}
		var next string
		next, ok = part()
		out = "(" + out + " " + word + " " + next + ")"
	}
	return out, ok
}

func (p *checkParser) not() (string, bool) {
	if _, negated := p.take("NOT"); negated {
		out, ok := p.not()
		return "(NOT " + out + ")", ok
	}
	before := p.tokens
	if out, ok := p.comparison(); ok {
		return out, true
	}
	p.tokens = before
	if _, open := p.take("("); !open {
		return "", false
	}
	out, ok := p.or()
	_, closed := p.take(")")
	return out, ok && closed
}

func (p *checkParser) comparison() (string, bool) {
	left, ok := p.operand()
	if !ok {
		return "", false
	}
	if _, is := p.take("IS"); is {
		not := p.optionalNot()
		_, ok := p.take("NULL")
		return "(" + left + " IS " + not + "NULL)", ok
	}
	if operator, found := p.take("=", "<>", "!=", "<=", ">=", "<", ">"); found {
		right, ok := p.operand()
		return "(" + left + " " + operator + " " + right + ")", ok
	}
	not := p.optionalNot()
	if _, between := p.take("BETWEEN"); between {
		low, ok := p.operand()
		_, and := p.take("AND")
		high, okHigh := p.operand()
		return "(" + left + " " + not + "BETWEEN " + low + " AND " + high + ")", ok && and && okHigh
	}
	if _, in := p.take("IN"); in {
		list, ok := p.list()
		return "(" + left + " " + not + "IN (" + list + "))", ok
	}
	return "", false
}

func (p *checkParser) optionalNot() string {
	if _, not := p.take("NOT"); not {
		return "NOT "
	}
	return ""
}

func (p *checkParser) list() (string, bool) {
	if _, open := p.take("("); !open {
		return "", false
	}
	var items []string
	for {
		item, ok := p.operand()
		if !ok {
			return "", false
		}
		items = append(items, item)
		if _, more := p.take(","); more {
			continue
		}
		_, closed := p.take(")")
		return strings.Join(items, ", "), closed
	}
}

// operand is a number or a column of an exact numeric type.
func (p *checkParser) operand() (string, bool) {
	if _, open := p.take("("); open {
		out, ok := p.operand()
		_, closed := p.take(")")
		return out, ok && closed
	}
	if _, negative := p.take("-"); negative {
		out, ok := p.operand()
		return "(-" + out + ")", ok
	}
	if len(p.tokens) == 0 {
		return "", false
	}
	token := p.tokens[0]
	p.tokens = p.tokens[1:]
	if token[0] >= '0' && token[0] <= '9' {
		return token, true
	}
	if token[0] != '`' {
		return "", false
	}
	name := strings.ReplaceAll(token[1:len(token)-1], "``", "`")
	c := p.table.Column(name)
	if c == nil || integerDigits(&c.Type) == 0 && c.Type.Base != "decimal" {
		return "", false
	}
	return postgres.Quote(name), true
}
