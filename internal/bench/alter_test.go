package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/sandbox"
)

// BenchmarkAlter makes an indexed int a bigint, under an application that updates
// 500 rows a second: with Godwit, with the server's own ALTER TABLE, and with
// the peers that are installed, each on a table made anew.
func BenchmarkAlter(b *testing.B) {
	for _, kind := range sandbox.Kinds() {
		b.Run(string(kind), func(b *testing.B) {
			more := map[string]string{}
			if kind == sandbox.MariaDB {
				more = map[string]string{"log_bin": "binlog", "binlog_format": "ROW"} // as some peers need it
			}
			f := startField(b, kind, more)
			for range b.N {
				f.compareAlters(b)
			}
		})
	}
}

// alterer is one way to alter the table; it returns how long that took.
type alterer struct {
	name string
	run  func(b *testing.B) (took time.Duration, note string)
}

// altered is what a run of it came to.
type altered struct {
	took time.Duration
	note string
	felt felt
}

func (f *field) compareAlters(b *testing.B) {
	ways := []alterer{
		{"godwit", func(b *testing.B) (time.Duration, string) { return f.alter(b) }},
		{"godwit, throttle: none", func(b *testing.B) (time.Duration, string) { return f.alter(b, "throttle: none") }},
		{"godwit, and verify: none", func(b *testing.B) (time.Duration, string) {
			return f.alter(b, "throttle: none", "verify: {mode: none}")
		}},
		{"the server's ALTER TABLE", f.native},
	}
	if f.server.Kind != sandbox.Postgres {
		ways = append(ways, alterer{"godwit, as plan advises", f.alterAsAdvised})
	}
	ways = append(ways, f.peers(b)...)
	results := map[string][]altered{}
	for range *benchRounds {
		for _, w := range ways {
			f.fill(b)
			p := f.beat()
			time.Sleep(time.Second)
			var r altered
			r.took, r.note = w.run(b)
			time.Sleep(time.Second)
			r.felt = p.stop(b)
			results[w.name] = append(results[w.name], r)
		}
	}
	median := func(name string) float64 {
		runs := results[name]
		slices.SortFunc(runs, func(x, y altered) int { return int(x.took - y.took) })
		return runs[len(runs)/2].took.Seconds()
	}
	mine := median("godwit")
	b.Logf("%s: %d rows, median of %d rounds, the worst of what the application felt", f.server.Kind, *benchRows, *benchRounds)
	for _, w := range ways {
		took, worst := median(w.name), worstOf(results[w.name])
		if took == 0 {
			b.Logf("%-26s %s", w.name, results[w.name][0].note)
			continue
		}
		b.Logf("%-26s %6.2f s  %5.2f of godwit's  p50 %5.1f  p99 %6.1f  longest %6.0f ms  %3.0f/s  %d failed %s  %s", w.name, took, took/mine,
			ms(worst.p50), ms(worst.p99), ms(worst.longest), worst.rate, worst.failed, firstOf(worst.failures), results[w.name][0].note)
		if w.name != "godwit" {
			b.ReportMetric(took/mine, "×"+strings.ReplaceAll(w.name, " ", "-"))
		}
	}
	b.ReportMetric(mine, "s-godwit")
	b.ReportMetric(0, "ns/op")
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// worstOf is the worst of each that was felt in several runs.
func worstOf(runs []altered) felt {
	worst := runs[0].felt
	for _, r := range runs[1:] {
		worst.p50, worst.p99, worst.longest = max(worst.p50, r.felt.p50), max(worst.p99, r.felt.p99), max(worst.longest, r.felt.longest)
		worst.rate = min(worst.rate, r.felt.rate)
		if r.felt.failed > worst.failed {
			worst.failed, worst.failures = r.felt.failed, r.felt.failures
		}
	}
	return worst
}

// firstOf is one of the errors.
func firstOf(failures map[string]int) string {
	for text := range failures {
		return "(" + text + ")"
	}
	return ""
}

// action is the change, in the server's words.
func (f *field) action() string {
	if f.server.Kind == sandbox.Postgres {
		return "ALTER customer_id TYPE bigint"
	}
	return "MODIFY customer_id bigint NOT NULL"
}

func (f *field) native(b *testing.B) (time.Duration, string) {
	statement := "ALTER TABLE orders " + f.action()
	if f.server.Kind != sandbox.Postgres {
		statement += ", ALGORITHM=COPY"
	}
	began := time.Now()
	f.exec(b, statement)
	return time.Since(began), "(blocks)"
}

// alterAsAdvised does it on a server with the settings that the plan of such a
// copy asks for, and sets them back.
func (f *field) alterAsAdvised(b *testing.B) (time.Duration, string) {
	settings := []string{"innodb_log_file_size"}
	if f.server.Kind == sandbox.MySQL {
		settings = []string{"innodb_redo_log_capacity", "innodb_log_writer_threads"}
	}
	values := map[string]string{"innodb_log_writer_threads": "ON"}
	for _, name := range settings {
		var before string
		require.NoError(b, f.db.QueryRow("SELECT @@GLOBAL."+name).Scan(&before))
		value, found := values[name]
		if !found {
			value = "1073741824"
		}
		f.exec(b, "SET GLOBAL "+name+" = "+value)
		defer f.exec(b, "SET GLOBAL "+name+" = "+before)
	}
	return f.alter(b)
}

// alter makes an online copy and reads its times from the ledger: from the
// first thing that is done to the moment in which the new table is in use.
func (f *field) alter(b *testing.B, lines ...string) (time.Duration, string) {
	file := filepath.Join(b.TempDir(), "ddl.yaml")
	text := fmt.Sprintf("kind: ddl\ndatabase: shop\ntable: orders\nalter: %q\nstrategy: shadow\nkeep_old: 0s\n%s\n", f.action(), strings.Join(lines, "\n"))
	require.NoError(b, os.WriteFile(file, []byte(text), 0o600))
	began := time.Now()
	id := f.godwit(b, "run", file, "--wait")
	whole := time.Since(began)
	event := "godwit.event"
	if f.server.Kind != sandbox.Postgres {
		event = "_godwit_event"
	}
	at := func(aggregate, what string) (at time.Time) {
		require.NoError(b, f.db.QueryRow("SELECT "+aggregate+"(at) FROM "+event+" WHERE migration = '"+id+"' AND "+what).Scan(timeOf{&at}), what)
		return at
	}
	first, cut := at("min", "'' = ''"), at("max", "what = 'swapped'")
	verify := time.Duration(0)
	if !strings.Contains(text, "verify:") {
		verify = at("max", "what = 'comparison finished'").Sub(at("min", "what = 'verify started'"))
	}
	copied := at("max", "what = 'shard done' AND phase = 'transform'").Sub(at("min", "what = 'transform started'"))
	cutover := cut.Sub(at("min", "what = 'cutover started'"))
	return cut.Sub(first), fmt.Sprintf("(copy and indexes %.2f s, verification %.2f s, cut-over %.2f s; %.2f s from the command to its end)",
		copied.Seconds(), verify.Seconds(), cutover.Seconds(), whole.Seconds())
}
