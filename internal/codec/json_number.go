package codec

import (
	"bytes"
	"strconv"
)

// maxExponent is far outside of what numeric takes, and far inside of an int.
const maxExponent = 1_000_000_000

// number reads a number and writes it as # sign digits e exponent ; with
// neither leading nor trailing zeros in the digits, so that equal numbers are
// written alike however long they are. Zero is #0; without a sign: jsonb has
// only one.
func (p *jsonParser) number() problem {
	negative := p.take('-')
	whole := p.digits()
	if len(whole) == 0 || len(whole) > 1 && whole[0] == '0' {
		return errJSON
	}
	var fraction []byte
	if p.take('.') {
		if fraction = p.digits(); len(fraction) == 0 {
			return errJSON
		}
	}
	exponent := 0
	if p.take('e') || p.take('E') {
		sign := 1
		if p.take('-') {
			sign = -1
		} else {
			p.take('+')
		}
		digits := p.digits()
		if len(digits) == 0 {
			return errJSON
		}
		n, err := strconv.Atoi(view(digits))
		if (err != nil || n > maxExponent) && (p.strict || p.canon) {
			return errJSONNumber
		}
		exponent = sign * n
	}
	if why := p.checkRange(whole, fraction, exponent); why != "" {
		return why
	}
	if p.canon {
		p.emitNumber(negative, whole, fraction, exponent)
	}
	return ""
}

func (p *jsonParser) take(c byte) bool {
	if p.at < len(p.in) && p.in[p.at] == c {
		p.at++
		return true
	}
	return false
}

func (p *jsonParser) digits() []byte {
	from := p.at
	for p.at < len(p.in) && p.in[p.at] >= '0' && p.in[p.at] <= '9' {
		p.at++
	}
	return p.in[from:p.at]
}

func (p *jsonParser) checkRange(whole, fraction []byte, exponent int) problem {
	if !p.strict {
		return ""
	}
	if len(fraction)-exponent > maxFractionDigits {
		return errJSONNumber
	}
	leading := len(whole) // digits in front of the point that count
	if whole[0] == '0' {
		zeros := len(fraction) - len(bytes.TrimLeft(fraction, "0"))
		if zeros == len(fraction) {
			return ""
		}
		leading = -zeros
	}
	if leading+exponent > maxIntegerDigits {
		return errJSONNumber
	}
	return ""
}

func (p *jsonParser) emitNumber(negative bool, whole, fraction []byte, exponent int) {
	exponent -= len(fraction)
	if whole[0] == '0' {
		whole, fraction = nil, bytes.TrimLeft(fraction, "0")
	}
	p.out = append(p.out, '#')
	if negative {
		p.out = append(p.out, '-')
	}
	start := len(p.out)
	p.out = append(append(p.out, whole...), fraction...)
	digits := bytes.TrimRight(p.out[start:], "0")
	if len(digits) == 0 {
		p.out = append(bytes.TrimSuffix(p.out[:start], []byte("-")), '0', ';')
		return
	}
	exponent += len(p.out) - start - len(digits)
	p.out = append(p.out[:start+len(digits)], 'e')
	p.out = append(strconv.AppendInt(p.out, int64(exponent), 10), ';')
}
