package bench

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/sandbox"
	"godwit/internal/task"
)

// BenchmarkReindex rebuilds an index and makes another one, by turns with Godwit
// and by the server's own statements, on a table made anew.
func BenchmarkReindex(b *testing.B) {
	for _, kind := range sandbox.Kinds() {
		b.Run(string(kind), func(b *testing.B) {
			f := startField(b, kind, nil)
			for range b.N {
				f.compareBuilds(b)
			}
		})
	}
}

// build is one thing that is done about an index: the spec's line, and the
// server's own statements.
type build struct {
	name   string
	line   string
	native []string
}

func (f *field) builds() []build {
	if f.server.Kind == sandbox.Postgres {
		return []build{
			{"rebuild", "index: orders_customer", []string{"REINDEX INDEX CONCURRENTLY orders_customer"}},
			{"create", "create: CREATE INDEX orders_note ON orders (note, qty)", []string{"CREATE INDEX CONCURRENTLY orders_note ON orders (note, qty)"}},
		}
	}
	beside := ", ALGORITHM=INPLACE, LOCK=NONE"
	return []build{
		{"rebuild", "index: orders_customer", []string{"ALTER TABLE orders ADD INDEX orders_customer_2 (customer_id)" + beside,
			"ALTER TABLE orders DROP INDEX orders_customer, RENAME INDEX orders_customer_2 TO orders_customer" + beside}},
		{"create", "create: CREATE INDEX orders_note ON orders (note, qty)", []string{"ALTER TABLE orders ADD INDEX orders_note (note, qty)" + beside}},
	}
}

func (f *field) compareBuilds(b *testing.B) {
	for _, w := range f.builds() {
		native, steps, shards, whole := []float64{}, []float64{}, []float64{}, []float64{}
		for range *benchRounds {
			f.fill(b)
			began := time.Now()
			f.exec(b, w.native...)
			native = append(native, time.Since(began).Seconds())
			f.fill(b)
			began = time.Now()
			id := f.reindex(b, w.line)
			whole = append(whole, time.Since(began).Seconds())
			steps = append(steps, f.spent(b, id, "step done"))
			shards = append(shards, f.spent(b, id, "shard done"))
		}
		median := func(list []float64) float64 {
			slices.Sort(list)
			return list[len(list)/2]
		}
		base := median(native)
		b.Logf("%-8s %-7s %d rows, median of %d rounds: the server's statement %.2f s; godwit's %.2f s (%.3f of it), with all that is looked at before and after %.2f s (%.3f), from the command to its end %.2f s",
			f.server.Kind, w.name, *benchRows, *benchRounds, base, median(steps), median(steps)/base, median(shards), median(shards)/base, median(whole))
		b.ReportMetric(median(steps)/base, "×native-"+w.name)
		b.ReportMetric(median(shards)/base, "×native-"+w.name+"-attempt")
	}
	b.ReportMetric(0, "ns/op")
}

func (f *field) reindex(b *testing.B, line string) (id string) {
	file := filepath.Join(b.TempDir(), "reindex.yaml")
	text := fmt.Sprintf("kind: reindex\ndatabase: shop\ntable: orders\n%s\n", line)
	require.NoError(b, os.WriteFile(file, []byte(text), 0o600))
	return f.godwit(b, "run", file, "--wait")
}

// spent is the time, in seconds, that the ledger has of a migration's events in
// the transform.
func (f *field) spent(b *testing.B, id, what string) float64 {
	event := "godwit.event"
	if f.server.Kind != sandbox.Postgres {
		event = "_godwit_event"
	}
	var millis int64
	require.NoError(b, f.db.QueryRow("SELECT SUM(duration_ms) FROM "+event+" WHERE migration = '"+id+"' AND phase = 'transform' AND what = '"+what+"'").Scan(&millis))
	require.Positive(b, millis)
	return float64(millis) / 1000
}

// BenchmarkReindexProgress compares what `status` tells of the whole migration, and
// of the index that is built, with the part of its time that has passed.
func BenchmarkReindexProgress(b *testing.B) {
	for _, kind := range sandbox.Kinds() {
		b.Run(string(kind), func(b *testing.B) {
			more := map[string]string{}
			if kind == sandbox.MySQL {
				more["performance-schema-consumer-events-stages-current"] = "ON"
			}
			f := startField(b, kind, more)
			for range b.N {
				f.fill(b)
				for _, times := range []int{1, 2} { // a build of some seconds is told about too seldom
					f.exec(b, fmt.Sprintf("INSERT INTO orders SELECT id + %d, customer_id, status, total, created_at, note, sku, qty, seen, balance FROM orders", times**benchRows))
				}
				if kind == sandbox.Postgres {
					f.exec(b, "VACUUM ANALYZE orders", "CHECKPOINT")
				} else {
					f.exec(b, "ANALYZE TABLE orders")
				}
				f.compareProgress(b)
			}
		})
	}
}

// glance is what status told at a moment.
type glance struct {
	at             time.Time
	percent, index float64 // negative where nothing was told
}

func (f *field) compareProgress(b *testing.B) {
	file := filepath.Join(b.TempDir(), "reindex.yaml")
	text := "kind: reindex\ndatabase: shop\ntable: orders\ncreate: CREATE INDEX orders_wide ON orders (customer_id, note, id)\nverify: {mode: count}\n"
	require.NoError(b, os.WriteFile(file, []byte(text), 0o600))
	began := time.Now()
	id := f.godwit(b, "run", file)
	var glances []glance
	for {
		at := time.Now()
		out := f.output(b, "status", id, "-o", "json")
		var st task.Status
		require.NoError(b, json.Unmarshal(out, &st))
		if st.State.Final() {
			require.Equal(b, task.Success, st.State)
			break
		}
		g := glance{at: at, percent: st.Progress.Percent, index: -1}
		for _, beat := range st.Running {
			if beat.Shard > 0 && beat.Phase == task.Transform {
				g.index = beat.Percent
			}
		}
		glances = append(glances, g)
		time.Sleep(100 * time.Millisecond)
	}
	ended := time.Now()
	build := time.Duration(f.spent(b, id, "step done") * float64(time.Second))
	var worst, worstIndex float64
	var list strings.Builder
	for _, g := range glances {
		truth := 100 * g.at.Sub(began).Seconds() / ended.Sub(began).Seconds()
		worst = max(worst, math.Abs(truth-g.percent))
		if g.index >= 0 {
			// The build is all but the whole of it, and ends with it.
			within := 100 * (1 - ended.Sub(g.at).Seconds()/build.Seconds())
			worstIndex = max(worstIndex, math.Abs(min(100, max(0, within))-g.index))
		}
		fmt.Fprintf(&list, "%.0f:%.0f/%.0f ", truth, g.percent, g.index)
	}
	b.Logf("the part of the time that has passed: what status told / of the index: %s", list.String())
	b.Logf("%s: %d rows, a build of %.1f s: %d glances, off by %.0f points at the most, of the index %.0f", f.server.Kind, 4**benchRows, build.Seconds(), len(glances), worst, worstIndex)
	b.ReportMetric(worst, "points-off")
	b.ReportMetric(0, "ns/op")
}

// output is what a verb prints.
func (f *field) output(b *testing.B, args ...string) []byte {
	c := exec.Command(filepath.Join(f.bin, "godwit"), args...)
	c.Env = f.environ
	out, err := c.Output()
	require.NoError(b, err, "%s", out)
	return out
}
