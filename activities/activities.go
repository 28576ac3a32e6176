// Package activities is the thin layer between Temporal and the kinds of
// migration: one file per phase. It sends heartbeats, turns cancellation and
// a stopping worker into an orderly end, and classifies errors.
//
// It promises that every error it returns is a Temporal ApplicationError whose
// type is its task.Class, or a CanceledError, as the outermost error, and that
// no secret stands in it. What a phase does is left to the kind.
package activities

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"godwit/internal/connection"
	"godwit/internal/fault"
	"godwit/internal/kind"
	"godwit/internal/ledger"
	"godwit/internal/spec"
	"godwit/internal/task"
	"godwit/internal/throttle"
)

// Activities has one method per activity, named as in task. All of its
// exported methods are registered.
type Activities struct {
	connections *connection.Registry
	kinds       map[task.Kind]kind.Kind
	owner       string
	governors   governors

	mu      sync.Mutex
	ledgers map[string]*ledger.Store // by connection
}

// New returns the activities of a worker. The owner is its name in the audit
// trail.
func New(connections *connection.Registry, kinds map[task.Kind]kind.Kind, owner string) *Activities {
	return &Activities{connections: connections, kinds: kinds, owner: owner, ledgers: map[string]*ledger.Store{},
		governors: governors{watch: throttle.NewWatch(connections), byID: map[string]*governed{}}}
}

// store opens the ledger of a connection once. Nobody waits for a ledger that
// does not answer but those who need it: two may open the same one at once.
func (a *Activities) store(ctx context.Context, name string) (*ledger.Store, error) {
	a.mu.Lock()
	known := a.ledgers[name]
	a.mu.Unlock()
	if known != nil {
		return known, nil
	}
	c, err := a.connections.Get(name)
	if err != nil {
		return nil, err
	}
	db, err := ledger.Database(ctx, c)
	if err != nil {
		return nil, err
	}
	s, err := ledger.Open(ctx, db, a.owner)
	if err != nil {
		if fault.Of(err) == nil && kind.Classify(err).Class == task.Config {
			return nil, fault.New(task.Config, "the ledger on connection %s cannot be used: %w; %s", name, err, ledger.Privileges(c))
		}
		return nil, fmt.Errorf("ledger on connection %s: %w", name, err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ledgers[name] = s
	return s, nil
}

// forget makes the next activity open the ledger anew, which creates what is
// missing: somebody may have replaced the database.
func (a *Activities) forget(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.ledgers, name)
}

// open finds everything that an activity of a migration needs. The migration
// is nil when the ledger does not know it.
func (a *Activities) open(ctx context.Context, ref task.Ref) (kind.Kind, *kind.Run, *ledger.Migration, error) {
	k, err := a.kind(ref.Kind)
	if err != nil {
		return nil, nil, nil, err
	}
	store, err := a.store(ctx, ref.Ledger)
	if err != nil {
		return nil, nil, nil, err
	}
	run := &kind.Run{Ref: ref, Connections: a.connections, Ledger: store.Migration(ref.ID)}
	run.Ledger.Pipeline = ref.Pipeline
	m, err := run.Ledger.Load(ctx)
	if err != nil {
		a.forget(ref.Ledger)
		return nil, nil, nil, err
	}
	if m != nil && m.Planned() {
		if run.Spec, err = readSpec(m.Spec); err != nil {
			return nil, nil, nil, err
		}
	}
	return k, run, m, nil
}

func (a *Activities) kind(name task.Kind) (kind.Kind, error) {
	if k := a.kinds[name]; k != nil {
		return k, nil
	}
	return nil, fault.New(task.Config, "this worker cannot do migrations of kind %q: start a worker of a newer version", name)
}

func readSpec(text json.RawMessage) (*spec.Spec, error) {
	s := new(spec.Spec)
	if err := json.Unmarshal(text, s); err != nil {
		return nil, fault.New(task.Config, "cannot read the spec: %w", err)
	}
	return s, nil
}
