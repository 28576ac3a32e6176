package shop

import (
	"fmt"
	"math"
	"strings"
)

// stockedIn is how many warehouses have a product.
const stockedIn = 3

// categoryCount is the departments' and their shelves'.
func categoryCount() int {
	count := len(departments)
	for _, d := range departments {
		count += len(d.shelves)
	}
	return count
}

func (s *shop) writeCategory(l *lines, id int64) {
	l.begin(id)
	if id <= int64(len(departments)) {
		d := departments[id-1]
		l.number(id).null().text(d.name).text(d.slug).end()
		return
	}
	nth := int(id) - len(departments) - 1
	parent := nth % len(departments)
	d := departments[parent]
	shelf := d.shelves[nth/len(departments)]
	slug := strings.ToLower(strings.ReplaceAll(shelf, " & ", "-and-"))
	l.number(id).number(int64(parent + 1)).text(shelf).text(d.slug + "/" + slug).end()
}

// sku is a product's number for people. The shop ignores its case, and its people make use of that.
func sku(product int64) string {
	text := fmt.Sprintf("%s-%06d", strings.ToUpper(departments[product%int64(len(departments))].slug[:3]), product)
	if product%7 == 0 {
		return strings.ToLower(text)
	}
	return text
}

// price is a product's, in cents.
func (s *shop) price(product int64) int64 {
	return 95 + int64(mix(s.seed^mix(uint64(product)))%400)*50
}

func (s *shop) writeProduct(l *lines, id int64) {
	l.begin(id)
	department := int(id) % len(departments)
	category := int64(len(departments) + 1 + department + len(departments)*l.IntN(len(departments[department].shelves)))
	title := pick(l.chance, adjectives) + " " + pick(l.chance, departments[department].things)
	if l.one(30) {
		title += " " + pick(l.chance, emoji)
	}
	l.number(id).text(sku(id)).number(category).text(title)
	if l.one(12) {
		l.null()
	} else {
		l.text(l.description())
	}
	l.cents(s.price(id))
	if l.one(8) {
		l.null()
	} else {
		l.real(math.Round(l.ExpFloat64()*4000)/1000+0.005, 32)
	}
	l.text(l.tags())
	if l.one(15) {
		l.null()
	} else {
		l.number(int64(1990 + l.IntN(35)))
	}
	l.number(min(1, int64(l.IntN(12))))
	if l.one(4) {
		l.null().null()
	} else {
		l.bytes(l.block(32)).bytes(append([]byte("\x89PNG\r\n\x1a\n\x00"), l.block(40+l.IntN(160))...))
	}
	l.end()
}

func (l *lines) description() string {
	parts := make([]string, 1+l.IntN(4))
	for i := range parts {
		parts[i] = pick(l.chance, sentences)
	}
	return strings.Join(parts, " ")
}

func (l *lines) tags() string {
	var chosen []string
	for _, tag := range []string{"new", "sale", "organic", "fragile", "bulky", "gift"} {
		if l.one(5) {
			chosen = append(chosen, tag)
		}
	}
	return strings.Join(chosen, ",")
}

func (s *shop) writeWarehouse(l *lines, row int64) {
	p := places[row-1]
	l.text(p.code).text(p.name).real(p.latitude, 64).real(p.longitude, 64).text(p.opens).text(p.closes).text(p.transit).number(int64(p.days)).end()
}

// writeStock writes the stocks of a product, in different warehouses.
func (s *shop) writeStock(l *lines, product int64) {
	l.begin(product)
	first := l.IntN(len(places))
	for i := range stockedIn {
		l.text(places[(first+5*i)%len(places)].code).text(sku(product)).number(int64(l.IntN(500) - 20))
		if l.one(6) {
			l.null().null().end()
			continue
		}
		l.text(fmt.Sprintf("%c%02d-%d", 'A'+rune(l.IntN(26)), l.IntN(100), l.IntN(10)))
		l.time(l.moment(1+l.Int64N(s.products), s.products), "2006-01-02").end()
	}
}

func (s *shop) writeRate(l *lines, row int64) {
	l.begin(row)
	day, currency := (row-1)/int64(len(currencies)), currencies[(row-1)%int64(len(currencies))]
	rate := currency.rate * (1 + l.NormFloat64()/100)
	l.time(today.AddDate(0, 0, -int(day)), "2006-01-02").text(currency.code).text(fmt.Sprintf("%.10f", rate)).end()
}
