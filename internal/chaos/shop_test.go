package chaos

import (
	"context"
	"fmt"

	"godwit/internal/sandbox"
)

// The databases that tests copy and none changes: the big one is for those that
// do a lot to one migration.
const (
	sourceDatabase = "shop"
	bigDatabase    = "mall"
)

// shopTables are those of the shop, with keys of each sort: a number, a text
// whose collation folds case, a composite one, none.
var shopTables = []string{"orders", "customers", "items", "journal"}

// orderCount is how many rows the biggest table of the shop has, and bigCount
// that of the mall.
func orderCount() int { return bigCount() / 3 }

func bigCount() int {
	if *rounds > 1 {
		return 1_000_000
	}
	return 300_000
}

// seedShop fills a database; every value follows from its row's number.
func seedShop(ctx context.Context, s *sandbox.Server, database string, orders int) error {
	statements := []string{`
CREATE TABLE orders (
	id bigint unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY,
	code varchar(20) CHARACTER SET ascii NOT NULL UNIQUE,
	customer varchar(12) NOT NULL,
	amount decimal(12,2) NOT NULL,
	region enum('eu','us','apac') NOT NULL,
	note varchar(200),
	paid tinyint(1) NOT NULL,
	made datetime(6) NOT NULL,
	seal varbinary(16),
	KEY (customer))`, `
CREATE TABLE customers (
	code varchar(12) NOT NULL PRIMARY KEY,
	name varchar(100) NOT NULL,
	born date) COLLATE utf8mb4_general_ci`, `
CREATE TABLE items (
	order_id bigint unsigned NOT NULL,
	line smallint NOT NULL,
	product binary(8) NOT NULL,
	price decimal(10,4),
	PRIMARY KEY (order_id, line),
	CONSTRAINT items_order FOREIGN KEY (order_id) REFERENCES orders (id))`, `
CREATE TABLE journal (at datetime(3) NOT NULL, text text)`,
		fmt.Sprintf(`
INSERT INTO orders SELECT seq * 3, CONCAT('A-', seq), CONCAT('c', seq MOD 20000), seq / 7, 1 + seq MOD 3,
	IF(seq MOD 11 = 0, NULL, CONCAT('Nr. ', seq, ' 訂單 🐦 ', REPEAT(CHAR(97 + seq MOD 26), seq MOD 120))),
	seq MOD 2, TIMESTAMPADD(MICROSECOND, seq * 1234567, '2001-02-03 04:05:06.000007'), IF(seq MOD 5 = 0, NULL, UNHEX(MD5(seq)))
	FROM seq_1_to_%d`, orders), `
INSERT INTO customers SELECT CONCAT(IF(seq MOD 2, 'c', 'C'), seq), CONCAT('Ünïcode ', seq), IF(seq MOD 9 = 0, NULL, DATE_ADD('1900-01-01', INTERVAL seq DAY))
	FROM seq_0_to_19999`, `
INSERT INTO items SELECT 3 * (1 + seq DIV 3), seq MOD 3, UNHEX(LPAD(HEX(seq * 4711), 16, '0')), IF(seq MOD 13 = 0, NULL, seq / 9) FROM seq_0_to_59999`, `
INSERT INTO journal SELECT TIMESTAMPADD(SECOND, seq MOD 1000, '2020-01-01'), CONCAT('entry ', seq MOD 500, '\n\t\\ ''"') FROM seq_1_to_5000`,
		`ANALYZE TABLE orders, customers, items, journal`}
	for _, statement := range statements {
		if err := s.Exec(ctx, database, statement); err != nil {
			return err
		}
	}
	return nil
}
