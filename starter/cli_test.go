package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/task"
)

// answer is what one call of the command left.
type answer struct {
	code       int
	out, notes string
}

// call runs one command line against the rig's server and task queue.
func (r *rig) call(args ...string) answer {
	r.t.Helper()
	return r.callWithin(context.Background(), args...)
}

func (r *rig) callWithin(ctx context.Context, args ...string) answer {
	var out, notes bytes.Buffer
	args = append(args, "--address", r.server.Address, "--namespace", "default", "--task-queue", r.queue)
	code := execute(ctx, args, strings.NewReader(""), &out, &notes)
	return answer{code: code, out: out.String(), notes: notes.String()}
}

// must runs a command line that has to succeed.
func (r *rig) must(args ...string) answer {
	r.t.Helper()
	a := r.call(args...)
	require.Equal(r.t, exitSuccess, a.code, "%v\n%s%s", args, a.out, a.notes)
	return a
}

// status reads a migration's status as a program would.
func (r *rig) status(id string) task.Status {
	r.t.Helper()
	var st task.Status
	require.NoError(r.t, json.Unmarshal([]byte(r.must("status", id, "-o", "json").out), &st))
	return st
}

// until waits for a migration to stand as wanted.
func (r *rig) until(id string, wanted func(task.Status) bool) task.Status {
	r.t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		st := r.status(id)
		if wanted(st) {
			return st
		}
		require.True(r.t, time.Now().Before(deadline), "it does not come about: %+v", st)
		time.Sleep(50 * time.Millisecond)
	}
}

// specFile writes a spec that gives up quickly, with further lines.
func specFile(t *testing.T, lines ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "copy.yaml")
	spec := append([]string{"kind: copy", "source: legacy", "target: warehouse", "tables: [shop.orders]", "retry: {rounds: 0, delay: 1s}"}, lines...)
	require.NoError(t, os.WriteFile(file, []byte(strings.Join(spec, "\n")+"\n"), 0o600))
	return file
}
