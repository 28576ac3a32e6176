package shop

import "time"

// The shop's life. Every order, session and change lies in it.
var (
	opened = time.Date(2019, time.March, 1, 8, 0, 0, 0, time.UTC)
	today  = time.Date(2024, time.November, 29, 12, 0, 0, 0, time.UTC)
)

// moment is the time of the row-th of rows events that are spread evenly, give or take a little.
func (c *chance) moment(row, rows int64) time.Time {
	step := int64(today.Sub(opened)) / rows
	return opened.Add(time.Duration((row-1)*step + c.Int64N(step))).Truncate(time.Microsecond)
}

// tables are all of the shop's, the biggest first, so that they are loaded side by side to the end.
func (s *shop) tables() []table {
	return []table{
		{name: "order_items", columns: "(order_id, line_no, product_id, quantity, unit_price, gift_note)",
			rows: s.items, units: s.orders, pieces: 2, write: s.writeItems},
		{name: "orders", columns: "(id, customer_id, status, total, placed_at, shipped_at, coupon, note)",
			rows: s.orders, units: s.orders, pieces: 1, write: s.writeOrder},
		{name: "audit_log", columns: "(at, actor, action, entity, entity_id, took_ms, detail)",
			rows: s.audits, units: s.audits, pieces: 1, write: s.writeAudit},
		{name: "customers", columns: "(id, email, name, tier, birthday, phone, newsletter, credit_limit, preferences, created_at, last_seen_at)",
			rows: s.customers, units: s.customers, pieces: 1, write: s.writeCustomer},
		{name: "stock_levels", columns: "(warehouse_code, sku, quantity, shelf, counted_on)",
			rows: s.stocks, units: s.products, pieces: 1, write: s.writeStock},
		{name: "products", columns: "(id, sku, category_id, name, description, price, weight_kg, tags, introduced, active, @sha256, @thumbnail) " +
			"SET image_sha256 = UNHEX(@sha256), thumbnail = UNHEX(@thumbnail)",
			rows: s.products, units: s.products, pieces: 1, write: s.writeProduct},
		{name: "sessions", columns: "(@id, customer_id, @ip, user_agent, basket, expires_at) SET id = UNHEX(@id), ip = UNHEX(@ip)",
			rows: s.sessions, units: s.sessions, pieces: 1, write: s.writeSession},
		{name: "exchange_rates", columns: "(day, currency, rate)",
			rows: s.rates, units: s.rates, pieces: 1, write: s.writeRate},
		{name: "categories", columns: "(id, parent_id, name, slug)",
			rows: int64(categoryCount()), units: int64(categoryCount()), pieces: 1, write: s.writeCategory},
		{name: "warehouses", columns: "(code, name, latitude, longitude, opens, closes, transit, @days) SET open_days = CAST(@days AS UNSIGNED)",
			rows: int64(len(places)), units: int64(len(places)), pieces: 1, write: s.writeWarehouse},
	}
}
