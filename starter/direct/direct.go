// Package direct reads a ledger without Temporal and without a worker: for
// when neither is there, and somebody has the connection at hand.
//
// It promises to change nothing, not even to make a ledger where there is
// none. Connections are named as a worker's are; what a worker is not there to
// say, such as what runs at this moment, nobody can say.
package direct

import (
	"context"
	"os"
	"slices"
	"strings"

	"godwit/internal/connection"
	"godwit/internal/ledger"
	"godwit/internal/task"
)

// Reader reads the ledger of one connection.
type Reader struct {
	connections *connection.Registry
	store       *ledger.Store
}

// Open connects to the named connection, if it is known here: from a file of
// connections or from the environment, as a worker's are. It returns nil when
// it is not, and then a worker has to be asked.
func Open(ctx context.Context, file, name string) (*Reader, error) {
	connections, err := connection.Load(file, os.Environ())
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(connections.Names(), func(known string) bool { return strings.EqualFold(known, name) }) {
		connections.Close()
		return nil, nil
	}
	r := &Reader{connections: connections}
	if err := r.look(ctx, name); err != nil {
		connections.Close()
		return nil, err
	}
	return r, nil
}

func (r *Reader) look(ctx context.Context, name string) error {
	c, err := r.connections.Get(name)
	if err != nil {
		return err
	}
	db, err := ledger.Database(ctx, c)
	if err != nil {
		return err
	}
	r.store, err = ledger.Look(ctx, db)
	return err
}

// Close ends the connection.
func (r *Reader) Close() { r.connections.Close() }

// Status tells how a migration stands by its ledger.
func (r *Reader) Status(ctx context.Context, id string) (*task.Status, error) {
	return r.store.Migration(id).Status(ctx)
}

// Events returns a page of a migration's events.
func (r *Reader) Events(ctx context.Context, id string, after int64, limit int) (*task.EventsPage, error) {
	return r.store.Migration(id).Page(ctx, after, limit)
}
