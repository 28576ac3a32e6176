package chaos

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
)

// arrived fails the test unless each table has arrived whole: as many rows, and
// each of them the same, every column. It asks both servers through their own
// clients, in its own SQL, and compares the texts.
func (s *stage) arrived(tables ...string) {
	s.t.Helper()
	for _, table := range tables {
		source, target := s.bothSides(table)
		require.Equal(s.t, s.sourceCount(table), int64(len(source)), "the oracle itself read all rows of %s", table)
		require.NotEmpty(s.t, source, "an oracle that compares nothing finds no difference: %s", table)
		if difference := firstDifference(source, target); difference != "" {
			require.Fail(s.t, "the oracle found a difference", "table %s, %d rows on the source, %d on the target: %s", table, len(source), len(target), difference)
		}
	}
}

// bothSides reads a table on both sides, as one text for each row, sorted.
func (s *stage) bothSides(table string) (source, target []string) {
	s.t.Helper()
	columns := s.columns(table)
	var theirs, ours []string
	for _, c := range columns {
		name, there, here := c.oracle()
		require.NotEmpty(s.t, name, "the oracle knows no type %s", c.kind)
		theirs = append(theirs, fmt.Sprintf("COALESCE(%s, '~')", there))
		ours = append(ours, fmt.Sprintf("COALESCE(%s, '~')", here))
	}
	from := s.source.Client("--batch", "--skip-column-names", "--raw", "--quick", "--init-command=SET time_zone = '+00:00'", s.from,
		"-e", fmt.Sprintf("SELECT CONCAT_WS('|', %s) FROM `%s`", strings.Join(theirs, ", "), table))
	to := s.target.Client("--no-align", "--tuples-only", "--dbname", s.name,
		"-c", fmt.Sprintf("COPY (SELECT concat_ws('|', %s) FROM public.%s) TO STDOUT", strings.Join(ours, ", "), pgx.Identifier{table}.Sanitize()))
	var both errgroup.Group
	both.Go(func() (err error) { source, err = lines(from, columns); return err })
	both.Go(func() (err error) { target, err = lines(to, columns); return err })
	require.NoError(s.t, both.Wait(), table)
	return source, target
}

// lines are what a client prints, sorted; nothing is left out unnoticed.
func lines(cmd *exec.Cmd, columns []column) ([]string, error) {
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	var found []string
	reader := bufio.NewReaderSize(out, 1<<20)
	for {
		line, err := reader.ReadString('\n')
		if err == io.EOF && line == "" {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("a line without an end: %w", err)
		}
		found = append(found, normal(strings.TrimSuffix(line, "\n"), columns))
	}
	if err := cmd.Wait(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, errs.String())
	}
	slices.Sort(found)
	return found, nil
}

// firstDifference is the first row that only one side has.
func firstDifference(source, target []string) string {
	for i := range max(len(source), len(target)) {
		switch {
		case i >= len(target):
			return "missing on the target: " + source[i]
		case i >= len(source):
			return "extra on the target: " + target[i]
		case source[i] != target[i]:
			return fmt.Sprintf("source %s, target %s", source[i], target[i])
		}
	}
	return ""
}

// sourceCount counts a table's rows on the source.
func (s *stage) sourceCount(table string) int64 {
	s.t.Helper()
	n, err := strconv.ParseInt(s.askSource(fmt.Sprintf("SELECT COUNT(*) FROM `%s`", table)), 10, 64)
	require.NoError(s.t, err)
	return n
}

// askSource asks the source database for one value, as text.
func (s *stage) askSource(query string) string {
	s.t.Helper()
	out, err := s.source.Client("--batch", "--skip-column-names", "--raw", s.from, "-e", query).CombinedOutput()
	require.NoError(s.t, err, "%s", out)
	return strings.TrimSuffix(string(out), "\n")
}
