package shop

import (
	"fmt"
	"strings"
	"time"
)

var (
	domains = []string{"example.com", "example.org", "example.net", "mail.example"}
	tiers   = []string{"basic", "basic", "basic", "silver", "silver", "gold", "platinum"}
)

func (s *shop) writeCustomer(l *lines, id int64) {
	l.begin(id)
	from := pick(l.chance, cultures)
	given, family := pick(l.chance, from.given), pick(l.chance, from.family)
	native := given.native + from.join + family.native
	if from.familyFirst {
		native = family.native + from.join + given.native
	}
	if l.one(15) {
		native += " " + pick(l.chance, emoji)
	}
	email := fmt.Sprintf("%s.%s.%d@%s", given.ascii, family.ascii, id, pick(l.chance, domains))
	if l.one(20) {
		email = strings.ToUpper(email[:1]) + email[1:]
	}
	joined := l.moment(id, s.customers)
	l.number(id).text(email).text(native).text(pick(l.chance, tiers))
	if l.one(5) {
		l.null()
	} else {
		l.time(time.Date(1925+l.IntN(82), 1, 1+l.IntN(366), 0, 0, 0, 0, time.UTC), time.DateOnly)
	}
	if l.one(3) {
		l.null()
	} else {
		l.text(fmt.Sprintf("%s %09d", from.phone, l.IntN(1e9)))
	}
	l.number(int64(l.IntN(2))).cents(int64(l.IntN(40)) * 12_550).text(l.preferences(from.language))
	l.time(joined, seconds)
	if l.one(4) {
		l.null()
	} else {
		l.time(joined.Add(time.Duration(l.Int64N(int64(today.Sub(joined))+1))), millis)
	}
	l.end()
}

// preferences is a document that MySQL, which writes it anew, and MariaDB, which keeps it, agree on.
func (l *lines) preferences(language string) string {
	if l.one(10) {
		return "{}"
	}
	return fmt.Sprintf(`{"theme": %q, "language": %q, "newsletter": {"weekly": %t, "topics": ["%s", "%s"]}, "greeting": "你好 %s", "font_scale": %d.5, "last_gift": null}`,
		[]string{"light", "dark"}[l.IntN(2)], language, l.one(2), departments[l.IntN(len(departments))].slug, pick(l.chance, adjectives), pick(l.chance, emoji), 1+l.IntN(3))
}

func (s *shop) writeSession(l *lines, row int64) {
	l.begin(row)
	id, ip := l.block(16), l.block(16)
	if l.one(2) {
		ip = ip[:4]
	}
	l.bytes(id)
	if l.one(3) {
		l.null()
	} else {
		l.number(1 + l.Int64N(s.customers))
	}
	l.bytes(ip).text(pick(l.chance, agents))
	if l.one(2) {
		l.null()
	} else {
		l.text(fmt.Sprintf(`{"items": [{"product": %d, "quantity": %d}], "coupon": null}`, 1+l.Int64N(s.products), 1+l.IntN(5)))
	}
	if l.one(50) {
		l.null()
	} else {
		l.time(today.Add(time.Duration(l.Int64N(int64(30*24*time.Hour)))), millis)
	}
	l.end()
}

// block is so many random bytes.
func (l *lines) block(size int) []byte {
	b := make([]byte, size)
	for i := range b {
		b[i] = byte(l.Uint32())
	}
	return b
}

func (s *shop) writeAudit(l *lines, row int64) {
	l.begin(row)
	l.time(l.moment(row, s.audits), micros)
	if l.one(4) {
		l.text("system")
	} else {
		l.text(fmt.Sprintf("customer:%d", 1+l.Int64N(s.customers)))
	}
	l.text(pick(l.chance, actions)).text(pick(l.chance, entities))
	if l.one(10) {
		l.null().null()
	} else {
		l.number(1+l.Int64N(s.orders)).real(l.ExpFloat64()*20, 64)
	}
	switch l.IntN(6) {
	case 0:
		l.text(pick(l.chance, sentences))
	case 1:
		l.text("")
	default:
		l.null()
	}
	l.end()
}
