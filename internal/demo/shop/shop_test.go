package shop_test

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"fmt"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"godwit/internal/demo/shop"
	"godwit/internal/sandbox"
	"godwit/internal/sandbox/sandboxtest"
)

const small = 5_000

func TestAShopHasTheRowsThatWereAskedForAndTheyBelongTogether(t *testing.T) {
	onBothEngines(t, func(t *testing.T, server *sandbox.Server) {
		db := open(t, server, "one")
		var told int64
		progress := make(chan int64, small)
		require.NoError(t, shop.Seed(t.Context(), db, shop.Options{Rows: small, Seed: 1, Progress: func(done, total int64) {
			require.EqualValues(t, small, total)
			progress <- done
		}}))
		close(progress)
		for done := range progress {
			told = max(told, done)
		}
		require.EqualValues(t, small, told)

		counts, err := shop.Counts(shop.Options{Rows: small, Seed: 1})
		require.NoError(t, err)
		var total int64
		for _, c := range counts {
			require.Positive(t, c.Rows, c.Table)
			require.EqualValues(t, fmt.Sprint(c.Rows), one(t, db, "SELECT count(*) FROM "+c.Table), c.Table)
			total += c.Rows
		}
		require.EqualValues(t, small, total)
		require.Equal(t, fmt.Sprint(len(counts)), one(t, db, "SELECT count(*) FROM information_schema.tables WHERE table_schema = 'one'"))

		for child, parent := range foreignKeys(t, db) {
			require.Equal(t, "0", one(t, db, fmt.Sprintf("SELECT count(*) FROM %s c LEFT JOIN %s p ON c.%s = p.%s WHERE c.%s IS NOT NULL AND p.%s IS NULL",
				child.table, parent.table, child.column, parent.column, child.column, parent.column)), "rows of %s without their %s", child, parent)
		}
		require.Equal(t, "0", one(t, db, "SELECT count(*) FROM orders o WHERE total <> (SELECT sum(quantity * unit_price) FROM order_items WHERE order_id = o.id)"))
		require.Equal(t, "0", one(t, db, "SELECT count(*) FROM order_items i JOIN products p ON p.id = i.product_id WHERE p.price <> i.unit_price"))
	})
}

func TestAShopHasWhatIsAptToGetLost(t *testing.T) {
	onBothEngines(t, func(t *testing.T, server *sandbox.Server) {
		db := open(t, server, "two")
		require.NoError(t, shop.Seed(t.Context(), db, shop.Options{Rows: small}))
		for _, condition := range []string{
			"customers WHERE name LIKE '%欧阳%'", "customers WHERE name LIKE '%𠮷%'", "customers WHERE hex(name) LIKE '%F09F91A9E2808DF09F91A9E2808D%'",
			"customers WHERE hex(substr(email, 1, 1)) < '61' AND email = lower(email)", "customers WHERE birthday < '1970-01-01'",
			"customers WHERE json_extract(preferences, '$.greeting') LIKE '%你好%'", "customers WHERE last_seen_at IS NULL",
			"products WHERE hex(description) LIKE '%0D0A%'", "products WHERE description LIKE '%\\t30 × 20%'", `products WHERE description LIKE '%\\\\N%'`,
			"products WHERE tags = ''", "products WHERE tags LIKE '%,%'", "products WHERE hex(thumbnail) LIKE '89504E470D0A1A0A00%'", "products WHERE length(image_sha256) = 32",
			"products WHERE binary sku = lower(sku)", "products WHERE binary sku <> lower(sku)",
			"warehouses WHERE transit > '100:00:00'", "warehouses WHERE open_days & 64 = 64", "warehouses WHERE longitude < 0",
			"sessions WHERE length(ip) = 4", "sessions WHERE length(ip) = 16", "orders WHERE shipped_at IS NULL", "orders WHERE microsecond(placed_at) % 10 <> 0",
			"stock_levels WHERE quantity < 0", "audit_log WHERE detail = ''", "audit_log WHERE detail IS NULL", "categories WHERE parent_id IS NOT NULL",
		} {
			require.NotEqual(t, "0", one(t, db, "SELECT count(*) FROM "+condition), condition)
		}
	})
}

func TestTheSameSeedMakesTheSameRowsAndAnotherDoesNot(t *testing.T) {
	first := map[string]string{}
	onBothEngines(t, func(t *testing.T, server *sandbox.Server) {
		for database, options := range map[string]shop.Options{"seed_7": {Rows: small, Seed: 7}, "seed_8": {Rows: small, Seed: 8}} {
			db := open(t, server, database)
			require.NoError(t, shop.Seed(t.Context(), db, options))
			counts, err := shop.Counts(options)
			require.NoError(t, err)
			for _, c := range counts {
				content := digest(t, db, c.Table)
				key := database + "." + c.Table
				if expected, known := first[key]; known {
					require.Equal(t, expected, content, "%s on %s", key, server.Kind)
				}
				first[key] = content
			}
		}
	})
	for _, table := range []string{"customers", "products", "orders", "order_items", "sessions", "audit_log", "stock_levels", "exchange_rates"} {
		require.NotEqual(t, first["seed_7."+table], first["seed_8."+table], table)
	}
}

func TestAShopThatIsTooSmallOrThereAlreadyIsAnError(t *testing.T) {
	server := sandboxtest.Start(t, sandbox.MariaDB, sandbox.Options{})
	db := open(t, server, "three")
	require.ErrorContains(t, shop.Seed(t.Context(), db, shop.Options{Rows: 10}), "it has 1000 at the least")
	require.NoError(t, shop.Seed(t.Context(), db, shop.Options{Rows: shop.MinRows}))
	require.ErrorContains(t, shop.Seed(t.Context(), db, shop.Options{Rows: shop.MinRows}), "already exists")
}

func TestSeedingEndsWithItsContext(t *testing.T) {
	server := sandboxtest.Start(t, sandbox.MariaDB, sandbox.Options{})
	db := open(t, server, "four")
	ctx, cancel := context.WithCancel(t.Context())
	err := shop.Seed(ctx, db, shop.Options{Progress: func(done, _ int64) {
		if done > 10_000 {
			cancel()
		}
	}})
	require.ErrorIs(t, err, context.Canceled)
}

func onBothEngines(t *testing.T, scenario func(t *testing.T, server *sandbox.Server)) {
	for _, kind := range []sandbox.Kind{sandbox.MariaDB, sandbox.MySQL} {
		t.Run(string(kind), func(t *testing.T) { scenario(t, sandboxtest.Start(t, kind, sandbox.Options{})) })
	}
}

func open(t testing.TB, server *sandbox.Server, database string) *sql.DB {
	t.Helper()
	require.NoError(t, server.Exec(t.Context(), "", "CREATE DATABASE "+database))
	config := mysql.NewConfig()
	config.User, config.Passwd, config.Net, config.Addr, config.DBName = server.User(), server.Password(), "tcp", server.Addr(), database
	connector, err := mysql.NewConnector(config)
	require.NoError(t, err)
	db := sql.OpenDB(connector)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

func one(t *testing.T, db *sql.DB, query string) (value string) {
	t.Helper()
	require.NoError(t, db.QueryRowContext(t.Context(), query).Scan(&value), query)
	return value
}

type reference struct{ table, column string }

// foreignKeys are those of one column, which all are.
func foreignKeys(t *testing.T, db *sql.DB) map[reference]reference {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "SELECT table_name, column_name, referenced_table_name, referenced_column_name "+
		"FROM information_schema.key_column_usage WHERE table_schema = DATABASE() AND referenced_table_name IS NOT NULL")
	require.NoError(t, err)
	defer rows.Close()
	found := map[reference]reference{}
	for rows.Next() {
		var from, to reference
		require.NoError(t, rows.Scan(&from.table, &from.column, &to.table, &to.column))
		found[from] = to
	}
	require.NoError(t, rows.Err())
	require.Len(t, found, 8)
	return found
}

// digest is of a table's rows, each as the text that both engines make of it. Documents are compared by a value in them:
// MySQL writes them anew.
func digest(t *testing.T, db *sql.DB, table string) string {
	t.Helper()
	columns := "*"
	if table == "customers" {
		columns = "id, email, name, tier, birthday, phone, newsletter, credit_limit, json_extract(preferences, '$.greeting'), unix_timestamp(created_at), last_seen_at"
	}
	if table == "sessions" {
		columns = "id, customer_id, ip, user_agent, json_extract(basket, '$.items[0].product'), unix_timestamp(expires_at)"
	}
	rows, err := db.QueryContext(t.Context(), "SELECT "+columns+" FROM "+table+" ORDER BY 1, 2, 3")
	require.NoError(t, err)
	defer rows.Close()
	names, err := rows.Columns()
	require.NoError(t, err)
	values, places := make([]sql.RawBytes, len(names)), make([]any, len(names))
	for i := range values {
		places[i] = &values[i]
	}
	hash := sha256.New()
	for rows.Next() {
		require.NoError(t, rows.Scan(places...))
		for _, value := range values {
			fmt.Fprintf(hash, "%t %d %s,", value == nil, len(value), value)
		}
	}
	require.NoError(t, rows.Err())
	return fmt.Sprintf("%x", hash.Sum(nil))
}
