package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/task"
)

// Store is the ledger of one database, with all migrations in it.
type Store struct {
	db      engine.DB
	dialect dialect
	owner   string
}

// Open makes the ledger's tables where they are missing and upgrades them
// where they are old. The owner is the worker's name in the audit trail.
func Open(ctx context.Context, db engine.DB, owner string) (*Store, error) {
	s := &Store{db: db, dialect: newDialect(db.Dialect()), owner: owner}
	if err := s.ensureSchema(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// Look opens a ledger that is there, to read it only. Nothing is made or
// upgraded; no ledger, and one of another version, is a fault.
func Look(ctx context.Context, db engine.DB) (*Store, error) {
	s := &Store{db: db, dialect: newDialect(db.Dialect())}
	version, err := s.schemaVersion(ctx)
	switch {
	case err != nil:
		return nil, err
	case version == 0:
		return nil, fault.New(task.Config, "there is no ledger in this database: no migration has written to it")
	case version < len(upgrades):
		return nil, fault.New(task.Config, "the ledger in this database has version %d, which this Godwit (version %d) upgrades with its first migration: read it with SQL until then", version, len(upgrades))
	}
	return s, nil
}

// Migration returns the part of the ledger that belongs to one migration.
// Nothing is read or written yet.
func (s *Store) Migration(id string) *Ledger { return &Ledger{store: s, ID: id} }

// Ledger is one migration's part of a Store.
type Ledger struct {
	store *Store
	ID    string
	// Pipeline is the id of the pipeline that the migration is a step of, empty for
	// none. Start notes that.
	Pipeline string
	// generation is the one that this attempt knows: see Take.
	generation int64
}

// DB is the database that the ledger is in.
func (l *Ledger) DB() engine.DB { return l.store.db }

func (s *Store) exec(ctx context.Context, q engine.Querier, query string, args ...any) (int64, error) {
	return q.Exec(ctx, s.dialect.sql(query), args...)
}

// row reads the one row of a query; engine.ErrNoRows when there is none.
func (s *Store) row(ctx context.Context, q engine.Querier, query string, args []any, dest ...any) error {
	found := false
	err := s.each(ctx, q, query, args, func(rows engine.Rows) error {
		found = true
		return rows.Scan(dest...)
	})
	if err == nil && !found {
		return engine.ErrNoRows
	}
	return err
}

// each calls f for every row of a query.
func (s *Store) each(ctx context.Context, q engine.Querier, query string, args []any, f func(engine.Rows) error) error {
	rows, err := q.Query(ctx, s.dialect.sql(query), args...)
	if err != nil {
		return err
	}
	defer rows.Close() //nolint:errcheck // Err tells
	for rows.Next() {
		if err := f(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// transaction runs f in a transaction of the ledger's database.
func (s *Store) transaction(ctx context.Context, f func(tx engine.Tx) error) error {
	tx, err := s.db.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(context.WithoutCancel(ctx)) //nolint:errcheck // after Commit it does nothing
	if err := f(tx); err != nil {
		return err
	}
	return tx.Commit(ctx)
}

// encode makes the text of a JSON column, nil for nothing.
func encode(v any) (any, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("cannot write %T to the ledger: %w", v, err)
	}
	text := string(b)
	if text == "null" {
		return nil, nil
	}
	return text, nil
}

// encodeFailure is encode for an error, whose text may hold anything: what
// PostgreSQL's jsonb cannot hold is taken out.
func encodeFailure(f *task.Failure) (any, error) {
	if f == nil {
		return nil, nil
	}
	cleaned := *f
	cleaned.Message = clean(f.Message)
	return encode(&cleaned)
}

// clean takes out what PostgreSQL's text cannot hold.
func clean(text string) string {
	return strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", "\ufffd"), "\ufffd")
}

// decode reads a JSON column into v; a NULL leaves it as it is.
func decode(text *string, v any) error {
	if text == nil {
		return nil
	}
	if err := json.Unmarshal([]byte(*text), v); err != nil {
		return fmt.Errorf("the ledger holds %.100q, which is not a %T: %w", *text, v, err)
	}
	return nil
}

// isNoRows tells an empty result from a failure.
func isNoRows(err error) bool { return errors.Is(err, engine.ErrNoRows) }
