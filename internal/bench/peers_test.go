package bench

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func installed(program string) bool {
	_, err := exec.LookPath(program)
	return err == nil
}

// rawPipe is the floor: both command line clients and nothing between them,
// with no check of anything, into a table without keys.
func rawPipe(b *testing.B, r *rig) measured {
	r.onTarget(b, "DROP TABLE IF EXISTS public.pipe")
	r.onTarget(b, `CREATE TABLE public.pipe (id bigint NOT NULL, customer_id integer NOT NULL, status varchar(16) NOT NULL, total numeric(12,2) NOT NULL,
		created_at timestamp(6) NOT NULL, updated_at timestamp(6) NOT NULL, note varchar(200) NOT NULL, sku char(12) NOT NULL, qty smallint NOT NULL, flag smallint NOT NULL)`)
	read := r.mariadb.Client("--quick", "--batch", "--skip-column-names", "shop", "-e", "SELECT * FROM orders")
	write := r.postgres.Client("-q", "-d", "warehouse", "-c", `\copy public.pipe FROM STDIN`)
	pipe, err := read.StdoutPipe()
	require.NoError(b, err)
	write.Stdin = pipe
	began := time.Now()
	require.NoError(b, read.Start())
	require.NoError(b, write.Run())
	require.NoError(b, read.Wait())
	took := time.Since(began)
	return measured{load: took, total: took}
}

// pgloaderRow is the table's line of pgloader's summary: name, errors, rows, bytes, time.
var pgloaderRow = regexp.MustCompile(`(?m)^\s*\S*orders\s+(\d+)\s+(\d+)\s+\S+ \S+\s+([\d.]+)(m?s)`)

// pgloader copies with its defaults; its own summary says how long the rows took.
func pgloader(b *testing.B, r *rig) measured {
	r.onTarget(b, "DROP SCHEMA IF EXISTS shop CASCADE")
	command := fmt.Sprintf("LOAD DATABASE FROM %s INTO %s INCLUDING ONLY TABLE NAMES MATCHING 'orders';\n",
		r.mariadb.URL("shop"), strings.Replace(strings.TrimSuffix(r.postgres.URL("warehouse"), "?sslmode=disable"), "postgres://", "postgresql://", 1))
	file := filepath.Join(b.TempDir(), "shop.load")
	require.NoError(b, os.WriteFile(file, []byte(command), 0o600))
	began := time.Now()
	out, err := exec.Command("pgloader", "--no-ssl-cert-verification", file).CombinedOutput()
	took := time.Since(began)
	require.NoError(b, err, "%s", out)
	row := pgloaderRow.FindSubmatch(out)
	require.NotNil(b, row, "the summary has no line for the table: %s", out)
	require.Equal(b, strconv.Itoa(*benchRows), string(row[2]), "rows that pgloader has copied")
	load, err := time.ParseDuration(string(row[3]) + string(row[4]))
	require.NoError(b, err)
	return measured{load: load, total: took, note: "(with keys and indexes, no verification)"}
}
