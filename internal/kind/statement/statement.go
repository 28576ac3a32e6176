// Package statement is the kind of migration that runs an SQL statement once, or
// several in one transaction, or asks a query whose answer has to be the expected
// one.
//
// It promises that the statement and the line in the ledger that says so are one
// transaction, guarded by the shard's epoch: whatever is killed, it has happened
// once, or not at all. Where a server commits a statement by itself (a change of a
// definition on MySQL and MariaDB), it is noted before that it begins; when its
// outcome is not known afterwards and no query tells it, an operator is asked
// instead of running it twice. An undo is run once, in the same way.
//
// A procedure, and what is executed dynamically, may commit on MySQL and MariaDB, and
// fail half-way: it is treated as if it did.
//
// It leaves to others what a statement does, and how long it takes: a big UPDATE
// belongs into a backfill. What a statement does outside of its transaction (a
// table of another engine than InnoDB) is its own.
package statement

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"

	"godwit/internal/connection"
	"godwit/internal/engine"
	"godwit/internal/fault"
	"godwit/internal/kind"
	"godwit/internal/task"
)

// Statement implements kind.Kind.
type Statement struct{ version string }

// New returns the kind; the version is noted in the ledger.
func New(version string) *Statement { return &Statement{version: version} }

var _ kind.Kind = (*Statement)(nil)

func open(ctx context.Context, run *kind.Run) (kind.Site, error) {
	return kind.OpenSite(ctx, run, run.Spec.SQL.Database)
}

// item is the plan, as it stands in the ledger.
type item struct {
	Statements []string `json:"statements,omitempty"`
	Query      string   `json:"query,omitempty"`
	Expect     string   `json:"expect,omitempty"`
	Undo       []string `json:"undo,omitempty"`
	// Alone and UndoAlone say that the server commits the statement by itself.
	Alone     bool `json:"alone,omitempty"`
	UndoAlone bool `json:"undo_alone,omitempty"`
	// UndoAsked is the run that has ended with saying that the outcome of the undo is
	// not known.
	UndoAsked string `json:"undo_asked,omitempty"`

	state itemState
}

const (
	itemNo  = 1 // of the one item
	shardNo = 1 // of the one shard
	undoNo  = 1 // of the one backup
)

// itemState says how far it has come with what is not the shard's.
type itemState string

const (
	itemPlanned itemState = "planned"
	itemReady   itemState = "ready"   // the undo is noted
	itemUndoing itemState = "undoing" // an undo was begun that commits by itself
	itemUndone  itemState = "undone"
	itemFinal   itemState = "final" // there is no way back any more
)

// committed are the words that begin statements which MySQL and MariaDB commit by
// themselves; opaque ones are those of whose work only some may be committed.
var (
	committed = regexp.MustCompile(asides + `(alter|create|drop|truncate|rename|grant|revoke|analyze|optimize|repair|check\s+table|checksum|` +
		`lock|unlock|flush|reset|change|cache|load\s+index|install|uninstall|set\s+password|set\s+statement|start|stop|purge|import|call|execute)\b`)
	opaque = regexp.MustCompile(asides + `(set\s+statement\b.*?\bfor\s+)?(call|execute)\b`)
)

const asides = `(?is)^(\s|/\*.*?\*/|--[^\n]*\n|#[^\n]*\n)*`

// half says of a statement that has failed that part of it may have been committed.
func half(text string, err error) error {
	return fault.New(task.Human, "%q has failed, and may have committed a part of its work before: look in the database. A retry runs it again: %w", text, err)
}

// commitsAlone reports whether the server commits one of the statements by itself. It
// has to be the only one then.
func commitsAlone(c *connection.Connection, field string, statements []string) (bool, error) {
	if c.Engine != connection.MySQLEngine {
		return false, nil
	}
	for _, text := range statements {
		if !committed.MatchString(text) {
			continue
		}
		if len(statements) > 1 {
			if opaque.MatchString(text) {
				return false, fault.New(task.Config, "%s: on this server %q may commit, so it cannot be in one transaction with others: make a step of it; what is prepared and executed is written out, or put into a procedure", field, text)
			}
			return false, fault.New(task.Config, "%s: this server commits %q by itself, so it cannot be in one transaction with others: make a step of each", field, text)
		}
		return true, nil
	}
	return false, nil
}

// load reads the plan back from the ledger; nil when there is none.
func load(ctx context.Context, run *kind.Run) (*item, error) {
	rows, err := run.Ledger.Items(ctx)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	it := &item{state: itemState(rows[0].State)}
	if err := json.Unmarshal(rows[0].Definition, it); err != nil {
		return nil, fmt.Errorf("the plan in the ledger cannot be read: %w", err)
	}
	return it, nil
}

// planned is load where there has to be a plan.
func planned(ctx context.Context, run *kind.Run) (*item, error) {
	it, err := load(ctx, run)
	if err == nil && it == nil {
		err = fault.New(task.Internal, "the ledger has no plan of migration %s", run.Ref.ID)
	}
	return it, err
}

func (it *item) setState(ctx context.Context, run *kind.Run, q engine.Querier, to itemState) error {
	if it.state == to {
		return nil
	}
	if err := run.Ledger.SetItemState(ctx, q, itemNo, string(it.state), string(to)); err != nil {
		return err
	}
	it.state = to
	return nil
}

// askedIn notes which run asks about the undo; empty for none.
func (it *item) askedIn(ctx context.Context, run *kind.Run, db kind.Site, id string) error {
	it.UndoAsked = id
	definition, err := json.Marshal(it)
	if err != nil {
		return err
	}
	return db.Transaction(ctx, func(tx engine.Tx) error { return run.Ledger.Replan(ctx, tx, itemNo, definition) })
}

// Tend has nothing to do.
func (s *Statement) Tend(context.Context, *kind.Run) (task.TendResult, error) {
	return task.TendResult{}, nil
}

// ready prepares a session: the waits for locks are bounded, and names without a
// schema are the user's.
func ready(ctx context.Context, run *kind.Run, db kind.Site, session engine.Session) error {
	limit := run.Spec.SQL.LockTimeout.Std().Seconds()
	schema := ""
	if db.Conn.Engine == connection.PostgresEngine {
		schema = "public"
	}
	for _, setting := range append(db.Impatient(limit, limit), db.In(schema)...) {
		if _, err := session.Exec(ctx, setting); err != nil {
			return err
		}
	}
	return nil
}
