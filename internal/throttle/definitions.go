package throttle

import (
	"context"
	"fmt"
	"time"

	"github.com/dustin/go-humanize"

	"godwit/internal/connection"
	"godwit/internal/spec"
)

// question is everything that the guards of one migration look at.
type question struct {
	watch   *Watch
	limits  spec.Throttle
	written string   // the connection that is written
	read    []string // those that are only read
	first   func(ctx context.Context, reading string, now int64) (int64, error)
	commit  probe
	// early guards hold from their low watermark on: for what cannot be held once
	// it has begun.
	early bool
}

// Databases are the connections of a migration: the one that is written, as
// its ledger is there, and those that are only read.
func Databases(s *spec.Spec, written string) (read []string) {
	if s.Copy != nil && s.Copy.Source != written {
		read = append(read, s.Copy.Source)
	}
	return read
}

// definitions are the guards that the limits ask for.
func (q *question) definitions() []definition {
	found := q.replication()
	found = append(found, q.load()...)
	found = append(found, q.logs()...)
	found = append(found, q.own()...)
	for i := range found {
		found[i].mark.low, found[i].early = q.limits.Low(), q.early
	}
	return found
}

// replication watches lag.
func (q *question) replication() (found []definition) {
	if q.limits.MaxLag == 0 {
		return nil
	}
	define := func(name string, p probe) {
		found = append(found, definition{key: "max_lag", name: "max_lag " + name, mark: duration(q.limits.MaxLag), show: seconds, probe: p})
	}
	for _, name := range q.limits.Replicas {
		define(name, q.watch.lag(name))
	}
	if q.watch.engine(q.written) == connection.PostgresEngine {
		define("of "+q.written, q.watch.standbys(q.written))
	}
	return found
}

// load watches what the servers are doing, on all databases of the migration.
func (q *question) load() (found []definition) {
	for _, name := range append([]string{q.written}, q.read...) {
		if most := q.limits.MaxActive; most > 0 {
			found = append(found, definition{key: "max_active", name: "max_active " + name, mark: watermark{high: float64(most)}, show: count,
				probe: q.watch.number(name, "active", func(ctx context.Context, s server) (int64, error) { return s.Active(ctx) })})
		}
		if most := q.limits.MaxIOWaits; most > 0 {
			found = append(found, definition{key: "max_io_waits", name: "max_io_waits " + name, mark: watermark{high: float64(most)}, show: count,
				probe: q.watch.number(name, "I/O waits", func(ctx context.Context, s server) (int64, error) { return s.IOWaits(ctx) })})
		}
		if most := q.limits.MaxTransactionAge; most > 0 {
			found = append(found, definition{key: "max_transaction_age", name: "max_transaction_age " + name, mark: duration(most), show: seconds, probe: q.watch.oldest(name)})
		}
	}
	if most := q.limits.MaxCommitLatency; most > 0 {
		found = append(found, definition{key: "max_commit_latency", name: "max_commit_latency " + q.written, mark: duration(most), show: seconds, probe: q.commit})
	}
	return found
}

// logs watches what the writing leaves behind.
func (q *question) logs() (found []definition) {
	if budget := q.limits.MaxLogGrowth; budget != nil {
		found = append(found, definition{key: "max_log_growth", name: "max_log_growth " + q.written, mark: watermark{high: float64(budget.Bytes)}, show: bytes,
			stop: reaction(budget.Then), probe: q.watch.growth(q.written, q.first)})
	}
	if most := q.limits.MaxArchiveQueue; most > 0 {
		found = append(found, definition{key: "max_archive_queue", name: "max_archive_queue " + q.written, mark: watermark{high: float64(most)}, show: count,
			probe: q.watch.archive(q.written)})
	}
	if disk := q.limits.MinFreeDisk; disk != nil {
		d := definition{key: "min_free_disk", mark: watermark{high: float64(disk.Bytes), below: true}, show: bytes, stop: reaction(disk.Then)}
		switch {
		case disk.Path != "":
			d.name, d.source, d.probe = "min_free_disk "+disk.Path, disk.Path, freeAt(disk.Path)
		case disk.Query != "":
			d.name, d.source, d.probe = "min_free_disk "+q.written, disk.Query, q.watch.query(q.written, disk.Query)
		default:
			d.name, d.source, d.probe = "min_free_disk "+place(disk.URL), disk.URL, freeBytes(disk.URL)
		}
		found = append(found, d)
	}
	return found
}

// own watches what the user asks for himself.
func (q *question) own() (found []definition) {
	if query := q.limits.Query; query != nil {
		on := query.Connection
		if on == "" {
			on = q.written
		}
		found = append(found, definition{key: "query", name: "query on " + on, source: query.SQL, mark: watermark{high: float64(query.Max)}, show: count,
			probe: q.watch.query(on, query.SQL)})
	}
	if address := q.limits.HTTP; address != "" {
		found = append(found, definition{key: "http", name: "http " + place(address), source: address, show: answered, rule: "200 means go", probe: allowed(address)})
	}
	return found
}

func duration(d spec.Duration) watermark { return watermark{high: d.Std().Seconds()} }

// seconds shows a lag or an age.
func seconds(value float64) string {
	d := time.Duration(value * float64(time.Second))
	switch {
	case d < time.Second:
		return d.Round(100 * time.Microsecond).String()
	case d < time.Minute:
		return d.Round(10 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// count shows a number.
func count(value float64) string { return fmt.Sprintf("%g", value) }

// bytes shows a size.
func bytes(value float64) string { return humanize.IBytes(uint64(max(0, value))) }

// answered shows the status of an endpoint that is asked whether to go.
func answered(status float64) string {
	if status == 0 {
		return "200"
	}
	return fmt.Sprintf("%.0f", status)
}
