package bench

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

var (
	benchRows   = flag.Int("bench.rows", 1_000_000, "rows of about 200 bytes in the table that is copied")
	benchRounds = flag.Int("bench.rounds", 3, "how often each of them runs, in turn")
)

// contender is one way to copy the table.
type contender struct {
	name string
	run  func(b *testing.B, r *rig) measured
}

// measured is what one run took.
type measured struct {
	load  time.Duration // rows read and written, without keys and indexes
	total time.Duration // all that the contender does
	note  string
}

// BenchmarkCopy copies one table from MariaDB to PostgreSQL with a raw pipe of
// the two command line clients, with Godwit, and with pgloader where it is
// installed. Each runs in turn, round after round.
func BenchmarkCopy(b *testing.B) {
	r := startRig(b)
	contenders := []contender{{"raw pipe", rawPipe}, {"godwit", godwit}}
	if installed("pgloader") {
		contenders = append(contenders, contender{"pgloader", pgloader})
	}
	for range b.N {
		results := map[string][]measured{}
		for range *benchRounds {
			for _, c := range contenders {
				results[c.name] = append(results[c.name], c.run(b, r))
			}
		}
		report(b, r, contenders, results)
	}
}

func report(b *testing.B, r *rig, contenders []contender, results map[string][]measured) {
	median := func(name string, of func(measured) time.Duration) float64 {
		var all []float64
		for _, m := range results[name] {
			all = append(all, of(m).Seconds())
		}
		slices.Sort(all)
		return all[len(all)/2]
	}
	load := func(m measured) time.Duration { return m.load }
	total := func(m measured) time.Duration { return m.total }
	mine := median("godwit", load)
	b.Logf("%d rows, median of %d rounds", *benchRows, *benchRounds)
	for _, c := range contenders {
		runs := results[c.name]
		b.Logf("%-9s  load %6.2f s (%.2f of godwit's)  %4.0f k rows/s  in all %6.2f s  %s", c.name, median(c.name, load), median(c.name, load)/mine,
			float64(*benchRows)/median(c.name, load)/1000, median(c.name, total), runs[len(runs)-1].note)
	}
	b.ReportMetric(mine/median("raw pipe", load), "×pipe")
	if len(results["pgloader"]) > 0 {
		b.ReportMetric(median("pgloader", load)/mine, "×faster-than-pgloader")
	}
	b.ReportMetric(float64(r.workerPeak(b))/(1<<20), "MiB-worker-peak")
	b.ReportMetric(0, "ns/op")
}

// godwit runs a copy through its binaries and reads the times from the ledger.
func godwit(b *testing.B, r *rig) measured {
	r.onTarget(b, "DROP SCHEMA IF EXISTS shop CASCADE")
	id := r.godwit(b, "copy", "--source", "legacy", "--target", "warehouse", "--table", "shop.orders", "--wait")
	conn := r.target(b)
	defer conn.Close(context.Background()) //nolint:errcheck // the benchmark ends
	var m measured
	var loaded, verified float64
	err := conn.QueryRow(context.Background(), `SELECT
		extract(epoch FROM max(at) FILTER (WHERE what = 'shard done' AND phase = 'transform') - min(at) FILTER (WHERE what = 'transform started'))::float8,
		extract(epoch FROM max(at) FILTER (WHERE what = 'comparison finished') - min(at) FILTER (WHERE what = 'verify started'))::float8
		FROM godwit.event WHERE migration = $1`, id).Scan(&loaded, &verified)
	require.NoError(b, err)
	var total float64
	err = conn.QueryRow(context.Background(), `SELECT extract(epoch FROM max(at) - min(at))::float8 FROM godwit.event WHERE migration = $1`, id).Scan(&total)
	require.NoError(b, err)
	m.load, m.total = seconds(loaded), seconds(total)
	m.note = fmt.Sprintf("(with keys, indexes and a verification of %.2f s; %d events of history)", verified, r.history(b, id))
	return m
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func (r *rig) target(b *testing.B) *pgx.Conn {
	conn, err := pgx.Connect(context.Background(), r.postgres.URL("warehouse"))
	require.NoError(b, err)
	return conn
}

func (r *rig) onTarget(b *testing.B, sql string) {
	conn := r.target(b)
	defer conn.Close(context.Background()) //nolint:errcheck // the benchmark ends
	_, err := conn.Exec(context.Background(), sql)
	require.NoError(b, err)
}
