package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"godwit/internal/sandbox"
)

// stage is what one test has for itself on a rig: a target database, a task
// queue and workers, and, if it wants to change it, a source database.
type stage struct {
	*rig
	t     *testing.T
	name  string        // of the target database and the task queue
	from  string        // the source's database
	db    *pgxpool.Pool // our own way into the target database
	extra []string      // further environment of workers
	count int           // migrations started
}

// stages counts them, so that each has its own name.
var stages atomic.Int64

// newStage makes a stage that copies the shop.
func newStage(t *testing.T, r *rig) *stage {
	t.Helper()
	top, _, _ := strings.Cut(t.Name(), "/")
	top = strings.TrimPrefix(strings.ToLower(top), "test")
	s := &stage{rig: r, t: t, name: fmt.Sprintf("%s_%d", top[:min(len(top), 40)], stages.Add(1)), from: sourceDatabase}
	require.NoError(t, r.target.Exec(t.Context(), "", fmt.Sprintf("CREATE DATABASE %q", s.name)))
	var err error
	s.db, err = pgxpool.New(t.Context(), r.target.URL(s.name))
	require.NoError(t, err)
	t.Cleanup(s.db.Close)
	return s
}

// ownSource gives the stage a source database of its own, filled by the statements.
func (s *stage) ownSource(statements string) *stage {
	s.t.Helper()
	s.from = s.name
	require.NoError(s.t, s.source.Exec(s.t.Context(), "", "CREATE DATABASE "+s.from))
	s.onSource(statements)
	return s
}

func (s *stage) onSource(statements string) {
	s.t.Helper()
	require.NoError(s.t, s.source.Exec(s.t.Context(), s.from, statements))
}

func (s *stage) onTarget(statements string) {
	s.t.Helper()
	require.NoError(s.t, s.target.Exec(s.t.Context(), s.name, statements))
}

// environ is the environment of the programs under test: nothing of the
// machine's own settings for Temporal or Godwit.
func (s *stage) environ() []string {
	var environ []string
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "TEMPORAL_") && !strings.HasPrefix(entry, "GODWIT_") {
			environ = append(environ, entry)
		}
	}
	return append(environ, "TEMPORAL_ADDRESS="+s.temporal.address(), "TEMPORAL_CONFIG_FILE="+filepath.Join(shelf, "none.toml"), "GODWIT_TASK_QUEUE="+s.name)
}

// worker starts a worker that knows the connections legacy and warehouse.
func (s *stage) worker(triggers ...string) *worker {
	s.t.Helper()
	return startWorker(s.t, s.workerEnviron(), triggers...)
}

func (s *stage) workerEnviron() []string {
	environ := append(s.environ(), "GODWIT_CONNECTION_LEGACY="+s.source.URL(s.from), "GODWIT_CONNECTION_WAREHOUSE="+s.target.URL(s.name))
	return append(environ, s.extra...)
}

// answer is what a command printed and how it ended.
type answer struct {
	code     int
	out, err string
}

// godwit runs the CLI.
func (s *stage) godwit(args ...string) answer {
	s.t.Helper()
	return s.godwitIn(s.environ(), args...)
}

func (s *stage) godwitIn(environ []string, args ...string) answer {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, binaries.godwit, args...)
	cmd.Env = environ
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		require.NoError(s.t, err)
	}
	a := answer{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
	s.hasNoSecret(a.out + a.err)
	return a
}

// hasNoSecret fails the test when a text has a password of the servers in it.
func (s *stage) hasNoSecret(text string) {
	s.t.Helper()
	for _, server := range []*sandbox.Server{s.source, s.target} {
		if strings.Contains(text, server.Password()) {
			require.Fail(s.t, "a password is shown", "%s", strings.ReplaceAll(text, server.Password(), "<<<PASSWORD>>>"))
		}
	}
}

// must runs the CLI and wants it to succeed.
func (s *stage) must(args ...string) answer {
	s.t.Helper()
	a := s.godwit(args...)
	require.Zero(s.t, a.code, "godwit %s: %s", strings.Join(args, " "), a.err)
	return a
}

// read decodes what a verb prints with -o json.
func (s *stage) read(into any, args ...string) {
	s.t.Helper()
	require.NoError(s.t, json.Unmarshal([]byte(s.must(append(args, "-o", "json")...).out), into))
}

// spec writes a copy's spec file; the lines are what it has besides its connections.
func (s *stage) spec(lines ...string) string {
	s.t.Helper()
	file := filepath.Join(s.t.TempDir(), "copy.yaml")
	text := "kind: copy\nsource: legacy\ntarget: warehouse\n" + strings.Join(lines, "\n") + "\n"
	require.NoError(s.t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

// await waits until something has come about. It looks often at first and then
// ever less, since all who wait share the servers.
func await(t *testing.T, limit time.Duration, what string, come func() bool) {
	t.Helper()
	pause := 20 * time.Millisecond
	for deadline := time.Now().Add(limit); !come(); time.Sleep(pause) {
		if time.Now().After(deadline) {
			require.Fail(t, "waited in vain for "+what, "for %s", limit)
		}
		pause = min(pause*5/4, 300*time.Millisecond)
	}
}

func pid(n int) string { return strconv.Itoa(n) }
