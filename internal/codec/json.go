package codec

import (
	"bytes"
	"slices"
	"sync"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	errJSON       = problem("it is not valid JSON")
	errJSONDeep   = problem("its JSON is nested deeper than 1,000 levels")
	errJSONNUL    = problem(`it contains \u0000, which PostgreSQL's jsonb cannot hold`)
	errSurrogate  = problem("it contains half of a surrogate pair, which PostgreSQL's jsonb cannot hold")
	errJSONNumber = problem("it contains a number outside of the range of PostgreSQL's numeric, which jsonb keeps numbers in")
)

// Limits of PostgreSQL's numeric.
const (
	maxIntegerDigits  = 131072
	maxFractionDigits = 16383
	maxDepth          = 1000
)

// appendJSONB writes a document for a jsonb column.
func appendJSONB(dst, raw []byte, _ int) ([]byte, error) {
	return appendDocument(dst, raw, true)
}

// appendJSON writes a document for a json column, which keeps the text.
func appendJSON(dst, raw []byte, _ int) ([]byte, error) {
	return appendDocument(dst, raw, false)
}

func appendDocument(dst, raw []byte, jsonb bool) ([]byte, error) {
	p := jsonParsers.Get().(*jsonParser)
	why := p.parse(raw, jsonb, false)
	p.release()
	if why != "" {
		return dst, why
	}
	return appendText(dst, raw)
}

// canonJSON appends a document in the form that it has when two documents
// that jsonb holds equal are the same: keys sorted, of repeated keys the last,
// strings unescaped, numbers by value. Each string has its length in front.
func canonJSON(dst, raw []byte, _ int) ([]byte, error) {
	p := jsonParsers.Get().(*jsonParser)
	defer p.release()
	if why := p.parse(raw, false, true); why != "" {
		return appendForeign(dst, raw), nil
	}
	return append(dst, p.out...), nil
}

var jsonParsers = sync.Pool{New: func() any { return new(jsonParser) }}

// jsonParser checks a document and, when canon is set, writes its canonical
// form to out.
type jsonParser struct {
	in     []byte
	at     int
	depth  int
	strict bool // what jsonb refuses is a problem
	canon  bool
	out    []byte
	// members of the objects that are being read, innermost last.
	members []member
	scratch []byte
}

// member is where a key and its value stand in out.
type member struct{ key, value, end int }

// release gives the parser back, without buffers that one huge document made.
func (p *jsonParser) release() {
	const keep = 1 << 20
	p.in = nil
	if cap(p.out) > keep || cap(p.scratch) > keep {
		p.out, p.scratch = nil, nil
	}
	jsonParsers.Put(p)
}

func (p *jsonParser) parse(raw []byte, strict, canon bool) problem {
	*p = jsonParser{in: raw, strict: strict, canon: canon, out: p.out[:0], members: p.members[:0], scratch: p.scratch[:0]}
	if why := p.value(); why != "" {
		return why
	}
	if p.skip(); p.at != len(p.in) {
		return errJSON
	}
	return ""
}

// skip goes past white space and returns the byte after it, 0 at the end.
func (p *jsonParser) skip() byte {
	for ; p.at < len(p.in); p.at++ {
		switch c := p.in[p.at]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

func (p *jsonParser) emit(b ...byte) {
	if p.canon {
		p.out = append(p.out, b...)
	}
}

func (p *jsonParser) value() problem {
	switch c := p.skip(); c {
	case '{', '[':
		return p.nested(c)
	case '"':
		return p.str()
	case 't':
		return p.word("true")
	case 'f':
		return p.word("false")
	case 'n':
		return p.word("null")
	default:
		return p.number()
	}
}

func (p *jsonParser) nested(opening byte) (why problem) {
	if p.depth++; p.depth > maxDepth {
		return errJSONDeep
	}
	p.at++
	if opening == '{' {
		why = p.object()
	} else {
		why = p.array()
	}
	p.depth--
	return why
}

func (p *jsonParser) word(word string) problem {
	if !bytes.HasPrefix(p.in[p.at:], []byte(word)) {
		return errJSON
	}
	p.at += len(word)
	p.emit(word[0])
	return ""
}

// array is written as [ values ]: no value starts with the closing bracket.
func (p *jsonParser) array() problem {
	p.emit('[')
	if p.skip() == ']' {
		p.at++
		p.emit(']')
		return ""
	}
	for {
		if why := p.value(); why != "" {
			return why
		}
		c := p.skip()
		p.at++
		switch c {
		case ',':
		case ']':
			p.emit(']')
			return ""
		default:
			return errJSON
		}
	}
}

// object is written as { key value key value … }, sorted by key.
func (p *jsonParser) object() problem {
	p.emit('{')
	outer := len(p.members)
	if p.skip() == '}' {
		p.at++
		p.emit('}')
		return ""
	}
	for {
		if why := p.member(); why != "" {
			return why
		}
		c := p.skip()
		p.at++
		switch c {
		case ',':
		case '}':
			p.sort(p.members[outer:])
			p.members = p.members[:outer]
			p.emit('}')
			return ""
		default:
			return errJSON
		}
	}
}

// member reads a key and its value.
func (p *jsonParser) member() problem {
	m := member{key: len(p.out)}
	if p.skip() != '"' {
		return errJSON
	}
	if why := p.str(); why != "" {
		return why
	}
	if p.skip() != ':' {
		return errJSON
	}
	p.at++
	m.value = len(p.out)
	if why := p.value(); why != "" {
		return why
	}
	m.end = len(p.out)
	if p.canon {
		p.members = append(p.members, m)
	}
	return ""
}

// sort puts the members of the object that out ends with in the order of
// their keys. Servers that keep JSON in a form of their own send them in this
// order already: shorter keys first.
func (p *jsonParser) sort(members []member) {
	compare := func(a, b member) int {
		if d := (a.value - a.key) - (b.value - b.key); d != 0 {
			return d
		}
		return bytes.Compare(p.out[a.key:a.value], p.out[b.key:b.value])
	}
	sorted := true
	for i := 1; i < len(members) && sorted; i++ {
		sorted = compare(members[i-1], members[i]) < 0
	}
	if sorted {
		return
	}
	from := members[0].key
	slices.SortStableFunc(members, compare)
	p.scratch = p.scratch[:0]
	for i, m := range members {
		if i+1 < len(members) && compare(m, members[i+1]) == 0 {
			continue
		}
		p.scratch = append(p.scratch, p.out[m.key:m.end]...)
	}
	p.out = append(p.out[:from], p.scratch...)
}

// str reads a string and writes it as " length bytes.
func (p *jsonParser) str() problem {
	p.at++
	p.emit('"', 0, 0, 0, 0)
	start := len(p.out)
	for from := p.at; p.at < len(p.in); {
		switch c := p.in[p.at]; {
		case c == '"':
			p.emit(p.in[from:p.at]...)
			p.at++
			p.putLength(start)
			return ""
		case c == '\\':
			p.emit(p.in[from:p.at]...)
			if why := p.escape(); why != "" {
				return why
			}
			from = p.at
		case c < ' ':
			return errJSON
		default:
			p.at++
		}
	}
	return errJSON
}

func (p *jsonParser) putLength(start int) {
	if p.canon {
		n := len(p.out) - start
		copy(p.out[start-4:], []byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
	}
}

// escape reads one escape of a string.
func (p *jsonParser) escape() problem {
	if p.at+1 >= len(p.in) {
		return errJSON
	}
	c := p.in[p.at+1]
	if c == 'u' {
		return p.unicode()
	}
	meaning := jsonEscapes[c]
	if meaning == 0 {
		return errJSON
	}
	p.at += 2
	p.emit(meaning)
	return ""
}

var jsonEscapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// unicode reads a \u with its four digits, or two of them that are a surrogate pair.
func (p *jsonParser) unicode() problem {
	unit, ok := p.codeUnit()
	if !ok {
		return errJSON
	}
	p.at += 6
	if unit == 0 && p.strict {
		return errJSONNUL
	}
	if utf16.IsSurrogate(unit) {
		low, ok := p.codeUnit()
		if whole := utf16.DecodeRune(unit, low); ok && whole != utf8.RuneError {
			p.at += 6
			unit = whole
		} else if p.strict {
			return errSurrogate
		} else {
			p.emit(0xE0|byte(unit>>12), 0x80|byte(unit>>6)&0x3F, 0x80|byte(unit)&0x3F)
			return ""
		}
	}
	if p.canon {
		p.out = utf8.AppendRune(p.out, unit)
	}
	return ""
}

// codeUnit reads the \u and its four digits at p.at without going past them.
func (p *jsonParser) codeUnit() (rune, bool) {
	if p.at+6 > len(p.in) || p.in[p.at] != '\\' || p.in[p.at+1] != 'u' {
		return 0, false
	}
	var unit rune
	for _, c := range p.in[p.at+2 : p.at+6] {
		switch {
		case c >= '0' && c <= '9':
			unit = unit<<4 | rune(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			unit = unit<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return unit, true
}
