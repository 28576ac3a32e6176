package bench

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"godwit/internal/process"
	"godwit/internal/sandbox"
	"godwit/internal/sandbox/sandboxtest"
)

// rig is everything that a migration needs, on this machine.
type rig struct {
	mariadb, postgres *sandbox.Server
	bin               string
	environ           []string
	worker            *process.Process
	temporal          client.Client
}

func startRig(b *testing.B) *rig {
	r := &rig{}
	r.mariadb = sandboxtest.Start(b, sandbox.MariaDB, sandbox.Options{Durable: true, Databases: []string{"shop"},
		Settings: map[string]string{"innodb_buffer_pool_size": "1G", "innodb_flush_log_at_trx_commit": "2"}})
	r.postgres = sandboxtest.Start(b, sandbox.Postgres, sandbox.Options{Durable: true, Databases: []string{"warehouse"},
		Settings: map[string]string{"shared_buffers": "1GB", "max_wal_size": "8GB", "synchronous_commit": "off"}})
	require.NoError(b, r.mariadb.Exec(context.Background(), "shop", seed(*benchRows)))
	r.serve(b, "GODWIT_CONNECTION_LEGACY="+r.mariadb.URL("shop"), "GODWIT_CONNECTION_WAREHOUSE="+r.postgres.URL("warehouse"))
	return r
}

// serve starts Temporal and a worker that knows these connections.
func (r *rig) serve(b *testing.B, connections ...string) {
	var err error
	r.bin, err = filepath.Abs("../../bin")
	require.NoError(b, err)
	address := freeAddress(b)
	r.environ = append(append(os.Environ(), "TEMPORAL_ADDRESS="+address), connections...)
	_, port, err := net.SplitHostPort(address)
	require.NoError(b, err)
	r.start(b, "godwit-devserver", "--headless", "--port", port, "--db-filename", filepath.Join(b.TempDir(), "temporal.db"))
	require.Eventually(b, func() bool {
		r.temporal, err = client.Dial(client.Options{HostPort: address})
		return err == nil
	}, time.Minute, 200*time.Millisecond)
	b.Cleanup(r.temporal.Close)
	r.worker = r.start(b, "godwit-worker")
}

// seed makes a table of rows of about 200 bytes.
func seed(rows int) string {
	return fmt.Sprintf(`CREATE TABLE orders (id bigint NOT NULL PRIMARY KEY AUTO_INCREMENT, customer_id int NOT NULL, status varchar(16) NOT NULL, total decimal(12,2) NOT NULL,
		created_at datetime(6) NOT NULL, updated_at datetime(6) NOT NULL, note varchar(200) NOT NULL, sku char(12) NOT NULL, qty smallint NOT NULL, flag smallint NOT NULL,
		KEY (customer_id)) CHARACTER SET utf8mb4;
	INSERT INTO orders SELECT seq, 1 + floor(rand(1) * 100000), elt(1 + floor(rand(2) * 4), 'new', 'paid', 'shipped', 'cancelled'), round(rand(3) * 10000, 2),
		'2020-01-01' + INTERVAL floor(rand(4) * 100000000) SECOND, '2023-01-01' + INTERVAL floor(rand(5) * 50000000) SECOND,
		concat(md5(seq), md5(seq + 1), md5(seq + 2)), concat('SKU', lpad(seq %% 100000, 9, '0')), seq %% 100, seq %% 2 FROM seq_1_to_%d;
	ANALYZE TABLE orders;`, rows)
}

func freeAddress(b *testing.B) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(b, err)
	defer l.Close() //nolint:errcheck // only the number was wanted
	return l.Addr().String()
}

func (r *rig) start(b *testing.B, program string, args ...string) *process.Process {
	c := exec.Command(filepath.Join(r.bin, program), args...)
	c.Env, c.Stderr = r.environ, os.Stderr
	if program == "godwit-worker" {
		c.Args = append(c.Args, "--log-level", "warn")
	}
	p, err := process.Start(c, syscall.SIGKILL)
	require.NoError(b, err, "run `make build` first")
	b.Cleanup(func() { require.NoError(b, p.Stop(syscall.SIGTERM, 40*time.Second)) })
	return p
}

// godwit runs the CLI and returns the first line that it prints: the id.
func (r *rig) godwit(b *testing.B, args ...string) string {
	c := exec.Command(filepath.Join(r.bin, "godwit"), args...)
	c.Env = r.environ
	out, err := c.Output()
	require.NoError(b, err, "%s", out)
	id, _, _ := strings.Cut(string(out), "\n")
	return id
}

// history is how many events a migration has.
func (r *rig) history(b *testing.B, id string) int64 {
	d, err := r.temporal.DescribeWorkflow(context.Background(), id, "")
	require.NoError(b, err)
	return d.RawResponse.GetWorkflowExecutionInfo().GetHistoryLength()
}

// workerPeak is the most memory that the worker has had, in bytes.
func (r *rig) workerPeak(b *testing.B) int64 {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(r.worker.PID), "status"))
	require.NoError(b, err)
	for line := range strings.Lines(string(text)) {
		if rest, found := strings.CutPrefix(line, "VmHWM:"); found {
			kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			require.NoError(b, err)
			return kib << 10
		}
	}
	b.Fatal("the worker's peak of memory is not known")
	return 0
}
