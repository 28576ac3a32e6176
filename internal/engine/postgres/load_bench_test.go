package postgres

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/engine"
)

const benchRows = 1_000_000

var benchTable = engine.Name{Schema: "public", Table: "wide"}

// benchColumns and benchRow are those of a table of about 200 bytes per row.
var benchColumns = []string{"id", "customer", "total", "created", "note"}

func createBenchTable(b *testing.B, s *Server) {
	execute(b, s, "DROP TABLE IF EXISTS public.wide",
		"CREATE TABLE public.wide (id bigint NOT NULL, customer int NOT NULL, total numeric(12,2) NOT NULL, created timestamp(6), note text)")
}

func appendBenchRow(to []byte, n int) []byte {
	to = strconv.AppendInt(to, int64(n), 10)
	to = append(to, '\t')
	to = strconv.AppendInt(to, int64(n%50_000), 10)
	to = append(to, "\t1234.56\t2024-03-31 12:34:56.789012\tthe quick brown bird flies over the lazy ocean for eleven days without landing, "+
		"eating or sleeping, and arrives where it wanted to be, 0123456789\n"...)
	return to
}

// benchReader makes the rows as they are read.
type benchReader struct {
	next, rows int
	left       []byte
	buffer     []byte
}

func (r *benchReader) Read(p []byte) (int, error) {
	if len(r.left) == 0 {
		if r.next == r.rows {
			return 0, io.EOF
		}
		r.buffer = r.buffer[:0]
		for len(r.buffer) < 64<<10 && r.next < r.rows {
			r.buffer = appendBenchRow(r.buffer, r.next)
			r.next++
		}
		r.left = r.buffer
	}
	n := copy(p, r.left)
	r.left = r.left[n:]
	return n, nil
}

func BenchmarkLoad(b *testing.B) {
	s := open(b)
	var bytes int64
	for b.Loop() {
		b.StopTimer()
		createBenchTable(b, s)
		b.StartTimer()
		tx, err := s.begin(b.Context())
		require.NoError(b, err)
		counted := &countingReader{Reader: &benchReader{rows: benchRows}}
		n, err := tx.Load(b.Context(), benchTable, benchColumns, counted)
		require.NoError(b, err)
		require.EqualValues(b, benchRows, n)
		require.NoError(b, tx.Commit(b.Context()))
		bytes = counted.n
	}
	b.SetBytes(bytes)
	reportClient(b)
}

type countingReader struct {
	io.Reader
	n int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n += int64(n)
	return n, err
}

// reportClient tells what the client's side has cost, which a busy machine does
// not change. Making the table and the rows is in it.
func reportClient(b *testing.B) {
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	b.ReportMetric(float64(memory.Sys)/(1<<20), "MiB-sys")
	var usage syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	b.ReportMetric(time.Duration(usage.Utime.Nano()+usage.Stime.Nano()).Seconds()/float64(b.N), "cpu-s/op")
}

// BenchmarkPsqlCopy loads the same rows with psql, for comparison.
func BenchmarkPsqlCopy(b *testing.B) {
	s := open(b)
	file := filepath.Join(b.TempDir(), "rows")
	f, err := os.Create(file)
	require.NoError(b, err)
	size, err := io.Copy(f, &benchReader{rows: benchRows})
	require.NoError(b, err)
	require.NoError(b, f.Close())
	b.SetBytes(size)
	for b.Loop() {
		b.StopTimer()
		createBenchTable(b, s)
		b.StartTimer()
		psql(b, s, fmt.Sprintf(`\copy public.wide from '%s'`, file))
	}
}

func psql(b *testing.B, s *Server, command string) {
	cmd := box.Client("-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", value[string](b, s, "SELECT current_database()"), "-c", command)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		var exit *exec.ExitError
		require.ErrorAs(b, err, &exit)
		b.Fatal(strings.TrimSpace(stderr.String()))
	}
}

func BenchmarkStream(b *testing.B) {
	s := open(b)
	createBenchTable(b, s)
	tx, err := s.begin(b.Context())
	require.NoError(b, err)
	size := &countingReader{Reader: &benchReader{rows: benchRows}}
	_, err = tx.Load(b.Context(), benchTable, benchColumns, size)
	require.NoError(b, err)
	require.NoError(b, tx.Commit(b.Context()))
	described, err := s.Table(b.Context(), benchTable)
	require.NoError(b, err)
	b.SetBytes(size.n)
	b.ReportAllocs()
	for b.Loop() {
		require.EqualValues(b, benchRows, readAll(b.Context(), b, s, described))
	}
}

func readAll(ctx context.Context, b *testing.B, s *Server, described *engine.Table) (rows int64) {
	stream, err := s.Stream(ctx, engine.Select{Table: described, Exprs: benchColumns})
	require.NoError(b, err)
	defer stream.Close()
	for {
		if _, err := stream.Next(); err == io.EOF {
			return rows
		} else if err != nil {
			b.Fatal(err)
		}
		rows++
	}
}

// BenchmarkPsqlCopyOut reads the same rows with psql, for comparison.
func BenchmarkPsqlCopyOut(b *testing.B) {
	s := open(b)
	createBenchTable(b, s)
	tx, err := s.begin(b.Context())
	require.NoError(b, err)
	_, err = tx.Load(b.Context(), benchTable, benchColumns, &benchReader{rows: benchRows})
	require.NoError(b, err)
	require.NoError(b, tx.Commit(b.Context()))
	for b.Loop() {
		psql(b, s, `\copy public.wide to '/dev/null'`)
	}
}
