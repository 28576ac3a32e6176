package kind

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

	"godwit/internal/connection"
	"godwit/internal/engine"
)

// Site is the database that a migration changes in place, with its connection.
type Site struct {
	Database
	Conn *connection.Connection
}

// OpenSite opens the database of a named connection.
func OpenSite(ctx context.Context, run *Run, name string) (Site, error) {
	c, err := run.Connections.Get(name)
	if err != nil {
		return Site{}, err
	}
	db, err := OpenDatabase(ctx, c)
	return Site{Database: db, Conn: c}, err
}

// Qualify gives a table's name the schema that it has by default: on MySQL and
// MariaDB the connection's database, on PostgreSQL public.
func (s Site) Qualify(text string) engine.Name {
	name := engine.ParseName(text)
	if name.Schema != "" {
		return name
	}
	name.Schema = "public"
	if s.Conn.Engine == connection.MySQLEngine {
		name.Schema = s.Conn.Database()
	}
	return name
}

// Transaction runs f in a transaction of the database.
func (s Site) Transaction(ctx context.Context, f func(tx engine.Tx) error) error {
	tx, err := s.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(context.WithoutCancel(ctx)) //nolint:errcheck // after Commit it does nothing
	if err := f(tx); err != nil {
		return err
	}
	return tx.Commit(ctx)
}

// Hash shortens a text to what tells it from others: for fingerprints and names.
func Hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}
