package bench

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"

	"godwit/internal/sandbox"
	"godwit/internal/sandbox/sandboxtest"
)

// field is a database with a table that is changed in place.
type field struct {
	*rig
	server *sandbox.Server
	db     *sql.DB
}

// settings are those of a server that has some memory and commits lazily, so
// that the disk of the machine has less to say.
var settings = map[sandbox.Kind]map[string]string{
	sandbox.Postgres: {"shared_buffers": "1GB", "max_wal_size": "8GB", "synchronous_commit": "off", "autovacuum": "off"},
	sandbox.MariaDB:  {"innodb_buffer_pool_size": "1G", "innodb_flush_log_at_trx_commit": "2"},
	sandbox.MySQL:    {"innodb_buffer_pool_size": "1G", "innodb_flush_log_at_trx_commit": "2"},
}

func startField(b *testing.B, kind sandbox.Kind, more map[string]string) *field {
	f := &field{rig: &rig{}}
	all := maps.Clone(settings[kind])
	maps.Copy(all, more)
	f.server = sandboxtest.Start(b, kind, sandbox.Options{Durable: true, Databases: []string{"shop"}, Settings: all})
	var err error
	if kind == sandbox.Postgres {
		f.db, err = sql.Open("pgx", f.server.URL("shop")+"&search_path=public")
	} else {
		u, parsed := url.Parse(f.server.URL("shop"))
		require.NoError(b, parsed)
		password, _ := u.User.Password()
		c := mysql.NewConfig()
		c.User, c.Passwd, c.Net, c.Addr, c.DBName, c.InterpolateParams = u.User.Username(), password, "tcp", u.Host, "shop", true
		f.db, err = sql.Open("mysql", c.FormatDSN())
	}
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, f.db.Close()) })
	f.serve(b, "GODWIT_CONNECTION_SHOP="+f.server.URL("shop"))
	f.exec(b, "CREATE TABLE digits (d int NOT NULL)", "INSERT INTO digits VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)")
	return f
}

func (f *field) exec(b *testing.B, statements ...string) {
	for _, s := range statements {
		_, err := f.db.Exec(s)
		require.NoError(b, err, s)
	}
}

// fill makes the table anew, of rows of about 200 bytes.
func (f *field) fill(b *testing.B) {
	f.exec(b, "DROP TABLE IF EXISTS orders",
		`CREATE TABLE orders (id bigint NOT NULL PRIMARY KEY, customer_id int NOT NULL, status varchar(16) NOT NULL, total decimal(12,2) NOT NULL,
			created_at varchar(26) NOT NULL, note varchar(200) NOT NULL, sku char(12) NOT NULL, qty smallint NOT NULL, seen int NOT NULL, balance bigint NOT NULL)`,
		fmt.Sprintf(`INSERT INTO orders SELECT n, n %% 100000, 'shipped', n / 100, '2026-01-01 00:00:00.000000',
			'the quick brown fox jumps over the lazy dog and the five boxing wizards jump quickly over the sphinx of black quartz', 'SKU000000001', n %% 100, 0, n FROM (
			SELECT 1 + a.d + 10*b.d + 100*c.d + 1000*e.d + 10000*f.d + 100000*g.d + 1000000*h.d AS n FROM digits a, digits b, digits c, digits e, digits f, digits g, digits h
			WHERE h.d <= %[2]d) numbers WHERE n <= %[1]d ORDER BY n`, *benchRows, (*benchRows-1)/1_000_000),
		"CREATE INDEX orders_customer ON orders (customer_id)")
	if f.server.Kind == sandbox.Postgres {
		f.exec(b, "VACUUM ANALYZE orders", "CHECKPOINT")
	} else {
		f.exec(b, "ANALYZE TABLE orders")
	}
	var rows int
	require.NoError(b, f.db.QueryRow("SELECT count(*) FROM orders").Scan(&rows))
	require.Equal(b, *benchRows, rows, "what is measured is what is said")
}

// BenchmarkBackfill changes every row of a table: by one statement, by plain
// batches of 1000 rows in a loop, and by Godwit without and with the old
// values saved, each on a table made anew, round after round.
func BenchmarkBackfill(b *testing.B) {
	for _, kind := range sandbox.Kinds() {
		b.Run(string(kind), func(b *testing.B) {
			f := startField(b, kind, nil)
			for range b.N {
				f.compare(b)
			}
		})
	}
}

// way is one way to change all rows.
type way struct {
	name string
	run  func(b *testing.B) (took time.Duration, note string)
}

func (f *field) compare(b *testing.B) {
	ways := []way{{"one statement", f.oneStatement}, {"plain batches", f.batches},
		{"godwit, nothing saved", func(b *testing.B) (time.Duration, string) { return f.backfill(b, "none") }},
		{"godwit", func(b *testing.B) (time.Duration, string) { return f.backfill(b, "rows") }}}
	took := map[string][]float64{}
	latency := map[string][]time.Duration{}
	notes := map[string]string{}
	for range *benchRounds {
		for _, w := range ways {
			f.fill(b)
			t, note := w.run(b)
			took[w.name], notes[w.name] = append(took[w.name], t.Seconds()), note
			f.check(b)
		}
	}
	// Writers take their part of the machine, but not while one statement makes
	// them wait: what they feel is measured in a round of its own.
	for _, w := range ways {
		f.fill(b)
		stop := f.write(b)
		w.run(b)
		latency[w.name] = stop()
		f.check(b)
	}
	median := func(name string) float64 {
		slices.Sort(took[name])
		return took[name][len(took[name])/2]
	}
	base := median("one statement")
	for _, w := range ways {
		p99, longest := percentiles(latency[w.name])
		b.Logf("%-8s %-22s %6.2f s  %.2f of one statement  writer p99 %s, longest %s  %s", f.server.Kind, w.name, median(w.name), median(w.name)/base, p99, longest, notes[w.name])
	}
	b.ReportMetric(median("godwit, nothing saved")/base, "×statement-plain")
	b.ReportMetric(median("godwit")/base, "×statement-saved")
	b.ReportMetric(0, "ns/op")
}

func (f *field) oneStatement(b *testing.B) (time.Duration, string) {
	began := time.Now()
	f.exec(b, "UPDATE orders SET balance = balance * 100")
	return time.Since(began), ""
}

func (f *field) batches(b *testing.B) (time.Duration, string) {
	began := time.Now()
	for low := 0; low < *benchRows; low += 1000 {
		f.exec(b, fmt.Sprintf("UPDATE orders SET balance = balance * 100 WHERE id > %d AND id <= %d", low, low+1000))
	}
	return time.Since(began), ""
}

// backfill runs a backfill and reads its times from the ledger.
func (f *field) backfill(b *testing.B, backup string) (time.Duration, string) {
	id := f.godwit(b, "backfill", "--database", "shop", "--table", "orders", "--set", "balance=balance * 100", "--backup", backup, "--keep-old", "0s", "--wait")
	event, shard := "godwit.event", "godwit.shard"
	if f.server.Kind != sandbox.Postgres {
		event, shard = "_godwit_event", "_godwit_shard"
	}
	ask := func(query string) (at time.Time) {
		require.NoError(b, f.db.QueryRow(query).Scan(timeOf{&at}))
		return at
	}
	where := " FROM " + event + " WHERE migration = '" + id + "'"
	began := ask("SELECT min(at)" + where + " AND what = 'transform started'")
	loaded := ask("SELECT max(at)" + where + " AND what = 'shard done' AND phase = 'transform'")
	first, last := ask("SELECT min(at)"+where), ask("SELECT max(at)"+where)
	longest, chunks := f.chunks(b, shard, id)
	return loaded.Sub(began), fmt.Sprintf("(from preflight to the end %.2f s; %d chunks, the longest %.0f ms; %d events of history)", last.Sub(first).Seconds(), chunks, 1000*longest, f.history(b, id))
}

// write changes single rows beside it until it is stopped, 500 times a second
// at the most, and returns how long each took.
func (f *field) write(b *testing.B) (stop func() []time.Duration) {
	ctx, cancel := context.WithCancel(context.Background())
	var mu sync.Mutex
	var all []time.Duration
	var writers sync.WaitGroup
	for range 4 {
		writers.Go(func() {
			ticker := time.NewTicker(8 * time.Millisecond)
			defer ticker.Stop()
			for ctx.Err() == nil {
				<-ticker.C
				began := time.Now()
				_, err := f.db.Exec(fmt.Sprintf("UPDATE orders SET seen = seen + 1 WHERE id = %d", 1+rand.IntN(*benchRows)))
				if err != nil {
					b.Errorf("a writer beside it failed: %v", err)
					return
				}
				mu.Lock()
				all = append(all, time.Since(began))
				mu.Unlock()
			}
		})
	}
	return func() []time.Duration {
		cancel()
		writers.Wait()
		return all
	}
}

// check makes sure that every row was changed once.
func (f *field) check(b *testing.B) {
	var wrong int
	require.NoError(b, f.db.QueryRow("SELECT count(*) FROM orders WHERE balance <> id * 100").Scan(&wrong))
	require.Zero(b, wrong)
}

func percentiles(all []time.Duration) (p99, longest time.Duration) {
	slices.Sort(all)
	if len(all) == 0 {
		return 0, 0
	}
	return all[len(all)*99/100].Round(100 * time.Microsecond), all[len(all)-1].Round(time.Millisecond)
}
