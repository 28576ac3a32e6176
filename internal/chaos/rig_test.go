package chaos

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"godwit/internal/sandbox"
)

// rig is a set of servers: Temporal, a source and a target.
type rig struct {
	temporal *temporalServer
	source   *sandbox.Server // MariaDB
	target   *sandbox.Server // PostgreSQL
}

// rigs are those that were started, to be stopped at the end.
var rigs struct {
	sync.Mutex
	all []*rig
}

// sturdy is the rig of all tests that do no harm to servers.
var sturdy = sync.OnceValues(func() (*rig, error) { return startRig(false) })

// fragile is the rig whose servers are killed: what was committed survives that.
var fragile = sync.OnceValues(func() (*rig, error) { return startRig(true) })

// fragileLock is held by the test that has the fragile rig.
var fragileLock sync.Mutex

// sturdyRig returns the rig that tests share at the same time.
func sturdyRig(t *testing.T) *rig {
	t.Helper()
	r, err := sturdy()
	require.NoError(t, err)
	return r
}

// fragileRig returns the rig that a test has for itself until it ends.
func fragileRig(t *testing.T) *rig {
	t.Helper()
	fragileLock.Lock()
	t.Cleanup(fragileLock.Unlock)
	r, err := fragile()
	require.NoError(t, err)
	r.mend(t)
	return r
}

// withOwnTemporal is the sturdy rig but for its Temporal server, which only this
// test has.
func withOwnTemporal(t *testing.T) *rig {
	t.Helper()
	shared := sturdyRig(t)
	own, err := startTemporal(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, own.stop()) })
	return &rig{temporal: own, source: shared.source, target: shared.target}
}

func startRig(durable bool) (r *rig, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	r = &rig{}
	rigs.Lock()
	rigs.all = append(rigs.all, r)
	rigs.Unlock()
	if r.temporal, err = startTemporal(ctx); err != nil {
		return nil, err
	}
	options := sandbox.Options{Durable: durable, Databases: []string{sourceDatabase, bigDatabase}, Settings: map[string]string{
		"max_connections": "500", "userstat": "ON", // reads are counted by table
	}}
	if r.source, err = sandbox.Start(ctx, sandbox.MariaDB, options); err != nil {
		return nil, err
	}
	options.Databases, options.Settings = nil, map[string]string{"max_connections": "500"}
	if r.target, err = sandbox.Start(ctx, sandbox.Postgres, options); err != nil {
		return nil, err
	}
	if err := seedShop(ctx, r.source, sourceDatabase, orderCount()); err != nil || durable {
		return r, err
	}
	return r, seedShop(ctx, r.source, bigDatabase, bigCount())
}

// mend starts what an earlier test has left dead.
func (r *rig) mend(t *testing.T) {
	t.Helper()
	if !r.temporal.process.Alive() {
		require.NoError(t, r.temporal.start(t.Context()))
	}
	require.NoError(t, r.source.Resume(t.Context()))
	require.NoError(t, r.target.Resume(t.Context()))
}

func stopRigs() error {
	rigs.Lock()
	defer rigs.Unlock()
	var errs []error
	for _, r := range rigs.all {
		if r.temporal != nil {
			errs = append(errs, r.temporal.stop())
		}
		for _, s := range []*sandbox.Server{r.source, r.target} {
			if s != nil {
				errs = append(errs, s.Stop())
			}
		}
	}
	return errors.Join(errs...)
}
