package bench

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/sandbox"
)

// program is the path of a peer: what the variable GODWIT_BENCH_… says, or what
// is found in PATH; empty when it is not there.
func program(b *testing.B, variable, name string) string {
	if path := os.Getenv("GODWIT_BENCH_" + variable); path != "" {
		return path
	}
	path, err := exec.LookPath(name)
	if err != nil {
		b.Logf("%s is not installed (GODWIT_BENCH_%s may say where it is): it is left out", name, variable)
		return ""
	}
	return path
}

const unverified = "(no verification)"

// peers are those that are installed and know the server.
func (f *field) peers(b *testing.B) (ways []alterer) {
	add := func(name, variable, file, note string, args ...string) {
		if path := program(b, variable, file); path != "" {
			ways = append(ways, alterer{name, func(b *testing.B) (time.Duration, string) { return f.runs(b, note, path, args...) }})
		}
	}
	if f.server.Kind == sandbox.Postgres {
		if program(b, "PG_REPACK", "pg_repack") != "" {
			ways = append(ways, alterer{"pg_repack", f.repack})
		}
		return ways
	}
	port, account := strconv.Itoa(f.server.Port), f.account(b)
	add("pt-online-schema-change", "PT_OSC", "pt-online-schema-change", unverified, "--execute", "--recursion-method", "none", "--no-version-check", "--no-check-replication-filters",
		"--alter", f.action(), "F="+account+",D=shop,t=orders")
	ghost := []string{"--execute", "--allow-on-master", "--ok-to-drop-table", "--initially-drop-old-table", "--initially-drop-ghost-table", "--conf", account,
		"--host", "127.0.0.1", "--port", port, "--database", "shop", "--table", "orders", "--alter", f.action(), "--serve-socket-file", filepath.Join(b.TempDir(), "gh-ost.sock")}
	if f.server.Kind == sandbox.MariaDB {
		add("gh-ost", "GH_OST", "gh-ost", unverified, append(ghost, "--skip-metadata-lock-check")...)
		return ways // spirit does not know MariaDB
	}
	add("gh-ost", "GH_OST", "gh-ost", unverified, ghost...)
	spirit := []string{"migrate", "--host", "127.0.0.1:" + port, "--username", f.server.User(), "--conf", account, "--database", "shop", "--table", "orders", "--alter", f.action()}
	add("spirit, unbuffered", "SPIRIT", "spirit", "(with its verification)", append(spirit, "--unbuffered")...)
	// Its rows are counted from the statistics, which the server's own form of EXPLAIN hides from it.
	if path := program(b, "PT_OSC", "pt-online-schema-change"); path != "" {
		ways = append(ways, alterer{"pt-osc, EXPLAIN as it was", func(b *testing.B) (time.Duration, string) {
			f.exec(b, "SET GLOBAL explain_format = 'TRADITIONAL'")
			defer f.exec(b, "SET GLOBAL explain_format = DEFAULT")
			return f.runs(b, unverified, path, "--execute", "--recursion-method", "none", "--no-version-check", "--no-check-replication-filters", "--alter", f.action(), "F="+account+",D=shop,t=orders")
		}})
	}
	return ways
}

// account writes the file by which a peer gets in: its password is on no command line.
func (f *field) account(b *testing.B) string {
	file := filepath.Join(b.TempDir(), "account.cnf")
	text := fmt.Sprintf("[client]\nuser=%s\npassword=%s\nhost=127.0.0.1\nport=%d\n", f.server.User(), f.server.Password(), f.server.Port)
	require.NoError(b, os.WriteFile(file, []byte(text), 0o600))
	return file
}

// runs runs a program to its end. One that fails takes no time, and says why.
func (f *field) runs(b *testing.B, note, path string, args ...string) (time.Duration, string) {
	cmd := exec.Command(path, args...)
	cmd.Dir = b.TempDir()
	began := time.Now()
	out, err := cmd.CombinedOutput()
	took := time.Since(began)
	if err != nil {
		return 0, "FAILED: " + err.Error() + ": " + string(out[max(0, len(out)-300):])
	}
	var kind string
	require.NoError(b, f.db.QueryRow("SELECT data_type FROM information_schema.columns WHERE table_name = 'orders' AND column_name = 'customer_id'").Scan(&kind))
	require.Equal(b, "bigint", kind)
	return took, note
}

// repack writes the table anew as it is: to give a column another type is not
// what it is made for.
func (f *field) repack(b *testing.B) (time.Duration, string) {
	f.exec(b, "CREATE EXTENSION IF NOT EXISTS pg_repack")
	cmd := exec.Command(program(b, "PG_REPACK", "pg_repack"), "--no-order", "--table", "public.orders", "--dbname", "shop", "--host", "127.0.0.1",
		"--port", strconv.Itoa(f.server.Port), "--username", f.server.User())
	cmd.Env = append(os.Environ(), "PGPASSWORD="+f.server.Password())
	began := time.Now()
	out, err := cmd.CombinedOutput()
	if err != nil {
		return 0, "FAILED: " + err.Error() + ": " + string(out[max(0, len(out)-300):])
	}
	return time.Since(began), "(the same types, no verification)"
}
