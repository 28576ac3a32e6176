package shop

import "time"

// itemsOf is how many items an order has: one to four.
func (s *shop) itemsOf(order int64) int64 { return 1 + int64(mix(s.seed+mix(uint64(order)))%4) }

// item is a line of an order.
type item struct{ product, quantity, price int64 }

// item is made from its place alone, so that an order knows its total without its items having been written.
func (s *shop) item(order, line int64) item {
	dice := mix(mix(s.seed) ^ uint64(order<<3|line))
	product := 1 + int64(dice>>16%uint64(s.products))
	return item{product: product, quantity: 1 + int64(dice&0xffff)%5*int64(dice&1), price: s.price(product)}
}

func (s *shop) writeItems(l *lines, order int64) {
	l.begin(order)
	for line := int64(1); line <= s.itemsOf(order); line++ {
		it := s.item(order, line)
		l.number(order).number(line).number(it.product).number(it.quantity).cents(it.price)
		if l.one(30) {
			l.text("生日快乐! " + pick(l.chance, emoji))
		} else {
			l.null()
		}
		l.end()
	}
}

func (s *shop) writeOrder(l *lines, id int64) {
	l.begin(id)
	var total int64
	for line := int64(1); line <= s.itemsOf(id); line++ {
		it := s.item(id, line)
		total += it.quantity * it.price
	}
	placed := l.moment(id, s.orders)
	status := l.status(placed)
	l.number(id).number(1+l.Int64N(s.customers)).text(status).cents(total).time(placed, micros)
	if status == "paid" || status == "packed" {
		l.null()
	} else {
		l.time(placed.Add(time.Hour+time.Duration(l.Int64N(int64(72*time.Hour)))), micros)
	}
	if l.one(9) {
		l.text(pick(l.chance, []string{"WELCOME10", "春节2024", "SOMMER", "FREE-SHIP"}))
	} else {
		l.null()
	}
	if l.one(15) {
		l.text(pick(l.chance, notes))
	} else {
		l.null()
	}
	l.end()
}

// status is that of an order of so long ago.
func (l *lines) status(placed time.Time) string {
	switch age := today.Sub(placed); {
	case age < 24*time.Hour:
		return "paid"
	case age < 72*time.Hour:
		return "packed"
	case age < 7*24*time.Hour:
		return "shipped"
	case l.one(25):
		return "returned"
	}
	return "delivered"
}
